// Package reports holds the result of a run and writes it as text, JSON, JUnit
// XML and HTML. A reporter computes everything it shows from a Run alone.
//
// A Run is the whole result. An Outcome is the verdict of one check at one
// revision over one transport. A Finding is a bug that the fuzzer found. A
// Baseline lists the failures that the user tolerates. ExitCode maps a Run to
// the exit code of the command.
package reports

import (
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Verdict is the result of a check.
type Verdict string

// The verdicts, in the order in which reports show them.
const (
	Fail          Verdict = "fail"           // a MUST is broken
	Warn          Verdict = "warn"           // a SHOULD is broken, or a Robust check failed
	Broken        Verdict = "broken"         // an error of mcpcheck itself
	NotRun        Verdict = "not-run"        // a prerequisite failed, or the run ended early
	Pass          Verdict = "pass"           // positive evidence that the target kept the rule
	NotObserved   Verdict = "not-observed"   // the situation that the rule is about never came up
	NotApplicable Verdict = "not-applicable" // capability not declared, or not of this transport or revision
)

// Verdicts returns all verdicts in the order in which reports show them.
func Verdicts() []Verdict {
	return []Verdict{Fail, Warn, Broken, NotRun, Pass, NotObserved, NotApplicable}
}

// The values of Run.Ended.
const (
	Complete    = "complete"
	Interrupted = "interrupted"
	Deadline    = "deadline"
)

// A Run is one run of mcpcheck against one target: format 1 of the JSON
// report. Later versions add fields and change none.
type Run struct {
	Format    int               `json:"format"` // 1
	Tool      Tool              `json:"tool"`
	Started   time.Time         `json:"started"`
	MS        float64           `json:"ms"`
	Ended     string            `json:"ended"`
	Exit      int               `json:"exit"`
	Options   map[string]any    `json:"options,omitempty"`
	Seed      uint64            `json:"seed"`
	Target    Target            `json:"target"`
	Revisions []RevisionRun     `json:"revisions"`
	Totals    map[Verdict]int   `json:"totals"`
	Outcomes  []Outcome         `json:"outcomes"`
	Findings  []Finding         `json:"findings,omitempty"`
	Baseline  []BaselineProblem `json:"baseline,omitempty"`
	Plans     int               `json:"plans,omitempty"` // distinct plans that the fuzzer executed
	Harness   *Harness          `json:"harness,omitempty"`
	Notes     []string          `json:"notes,omitempty"` // remarks on the run as a whole
}

// Tool is the name and version of this program.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Harness is the resources that this program used, without the target.
type Harness struct {
	CPUMS     float64 `json:"cpu_ms"`     // user and system time of this process
	PeakBytes int64   `json:"peak_bytes"` // largest resident set
}

// Target is the server or client under test.
type Target struct {
	Argv    []string `json:"argv,omitempty"`
	URL     string   `json:"url,omitempty"`
	Role    string   `json:"role"` // server or client
	Name    string   `json:"name,omitempty"`
	Version string   `json:"version,omitempty"`
	Starts  int      `json:"starts"` // of a target at a URL, the connections to it
}

// hasURL reports whether the target serves at a URL. Such a target is not
// started for each connection.
func (t Target) hasURL() bool { return t.URL != "" }

// command is the URL of the target or else its command line.
func (t Target) command() string {
	if t.hasURL() {
		return t.URL
	}
	return strings.Join(t.Argv, " ")
}

// RevisionRun reports whether the target speaks a revision, and if not, why.
type RevisionRun struct {
	Revision spec.Revision `json:"revision"`
	Spoken   bool          `json:"spoken"`
	Why      string        `json:"why,omitempty"`
}

// An Outcome is the verdict of one check at one revision over one transport.
type Outcome struct {
	ID        string        `json:"id"`
	Area      string        `json:"area"`
	Says      string        `json:"says"`
	Level     spec.Level    `json:"level"`
	Revision  spec.Revision `json:"revision"`
	Transport string        `json:"transport"` // stdio, http or sse
	Verdict   Verdict       `json:"verdict"`
	Detail    string        `json:"detail,omitempty"`   // one sentence: what happened
	Expected  string        `json:"expected,omitempty"` // what the rule requires
	Got       string        `json:"got,omitempty"`      // what the target sent instead
	Notes     []string      `json:"notes,omitempty"`
	Cause     string        `json:"cause,omitempty"` // why the verdict is not-run
	Hint      string        `json:"hint,omitempty"`  // what would lead to a verdict
	Rules     []Rule        `json:"rules,omitempty"`
	Spec      *Clause       `json:"spec,omitempty"`     // of a Robust check that has no rule: the related section
	Official  []string      `json:"official,omitempty"` // equal checks of the public conformance suite: scenario:check
	Where     string        `json:"where,omitempty"`    // file:line of the check's body
	MS        float64       `json:"ms"`
	Frames    []wire.Frame  `json:"frames,omitempty"`
	Baselined string        `json:"baselined,omitempty"` // reason that the baseline gives for this fail or warn
	Known     string        `json:"known,omitempty"`     // that the deviation is known of the SDK of the target
	Rerun     string        `json:"rerun,omitempty"`     // command that runs this check alone
}

// A Rule is a row of the ledger at the outcome's revision.
type Rule struct {
	ID      string `json:"id"`
	Says    string `json:"says"`
	Section string `json:"section"`
	URL     string `json:"url"`
}

// A Clause is a section of the specification at the outcome's revision.
type Clause struct {
	Section string `json:"section"`
	URL     string `json:"url"`
}

// A Finding is a bug that the fuzzer found.
type Finding struct {
	Oracle     string        `json:"oracle"`
	Signature  string        `json:"signature"`
	Says       string        `json:"says"`
	Revision   spec.Revision `json:"revision"`
	Transport  string        `json:"transport"`
	Seed       uint64        `json:"seed"`
	Reproduced string        `json:"reproduced"` // "3/3", or "flaky 1/3"
	Frames     []wire.Frame  `json:"frames,omitempty"`
	Case       string        `json:"case,omitempty"` // the case file
	Replay     string        `json:"replay,omitempty"`
}

// A BaselineProblem is a baseline entry that is wrong: the check that it
// excuses passes now, or no outcome of the run matches it.
type BaselineProblem struct {
	Check     string `json:"check"`
	Revision  string `json:"revision,omitempty"`
	Transport string `json:"transport,omitempty"`
	Reason    string `json:"reason"`
	Problem   string `json:"problem"`
	Line      int    `json:"line,omitempty"` // of the entry in the baseline file, from 1
}

// Count computes the totals from the outcomes.
func (r *Run) Count() {
	r.Totals = make(map[Verdict]int)
	for _, v := range Verdicts() {
		r.Totals[v] = 0
	}
	for _, o := range r.Outcomes {
		r.Totals[o.Verdict]++
	}
}
