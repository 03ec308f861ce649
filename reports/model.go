// Package reports holds the model of a run and writes it: text, JSON, JUnit
// and HTML. Everything that a report shows is computed from the model alone.
package reports

import (
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Verdict is what a check came to.
type Verdict string

// The verdicts, in the order in which they are shown.
const (
	Fail          Verdict = "fail"           // a MUST is broken
	Warn          Verdict = "warn"           // a SHOULD is broken, or a ROBUST check failed
	Broken        Verdict = "broken"         // our own bug
	NotRun        Verdict = "not-run"        // a prerequisite failed, or the run was interrupted
	Pass          Verdict = "pass"           // positive evidence that the rule was kept
	NotObserved   Verdict = "not-observed"   // nothing gave the rule a subject
	NotApplicable Verdict = "not-applicable" // capability not declared, or not of this transport or revision
)

// Verdicts returns all verdicts in the order in which they are shown.
func Verdicts() []Verdict {
	return []Verdict{Fail, Warn, Broken, NotRun, Pass, NotObserved, NotApplicable}
}

// How a run ended.
const (
	Complete    = "complete"
	Interrupted = "interrupted"
	Deadline    = "deadline"
)

// A Run is one run of mcpcheck against one target: format 1 of the JSON
// report. Fields are added, never changed.
type Run struct {
	Format    int                 `json:"format"` // 1
	Tool      Tool                `json:"tool"`
	Started   time.Time           `json:"started"`
	MS        float64             `json:"ms"`
	Ended     string              `json:"ended"`
	Exit      int                 `json:"exit"`
	Options   map[string]any      `json:"options,omitempty"`
	Seed      uint64              `json:"seed"`
	Target    Target              `json:"target"`
	Revisions []RevisionRun       `json:"revisions"`
	Totals    map[Verdict]int     `json:"totals"`
	Outcomes  []Outcome           `json:"outcomes"`
	Findings  []Finding           `json:"findings,omitempty"`
	Baseline  []BaselineViolation `json:"baseline,omitempty"` // entries that are stale or match nothing
	Plans     int                 `json:"plans,omitempty"`    // distinct plans that the fuzzer executed
	Harness   *Harness            `json:"harness,omitempty"`
	Notes     []string            `json:"notes,omitempty"` // what a reader must know of the run as a whole
}

// Tool names this program.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Harness is what the run cost this program, without the target.
type Harness struct {
	CPUMS     float64 `json:"cpu_ms"`     // user and system time of this process
	PeakBytes int64   `json:"peak_bytes"` // largest resident set
}

// Target is what was judged.
type Target struct {
	Argv    []string `json:"argv,omitempty"`
	URL     string   `json:"url,omitempty"`
	Role    string   `json:"role"` // server or client
	Name    string   `json:"name,omitempty"`
	Version string   `json:"version,omitempty"`
	Starts  int      `json:"starts"`
}

// RevisionRun tells whether the target spoke a revision, and why not.
type RevisionRun struct {
	Revision spec.Revision `json:"revision"`
	Spoken   bool          `json:"spoken"`
	Why      string        `json:"why,omitempty"`
}

// An Outcome is the verdict of one check at one revision on one transport.
type Outcome struct {
	ID        string        `json:"id"`
	Area      string        `json:"area"`
	Says      string        `json:"says"`
	Level     spec.Level    `json:"level"`
	Revision  spec.Revision `json:"revision"`
	Transport string        `json:"transport"` // stdio, http or sse
	Verdict   Verdict       `json:"verdict"`
	Detail    string        `json:"detail,omitempty"`   // one sentence: what happened
	Expected  string        `json:"expected,omitempty"` // what the rule asks for
	Got       string        `json:"got,omitempty"`      // what came
	Notes     []string      `json:"notes,omitempty"`
	Cause     string        `json:"cause,omitempty"` // what made it not-run
	Hint      string        `json:"hint,omitempty"`  // what would make it run
	Rules     []Rule        `json:"rules,omitempty"`
	Official  []string      `json:"official,omitempty"` // scenario:check of the public conformance suite that judge the same
	Where     string        `json:"where,omitempty"`    // file:line of the check's body
	MS        float64       `json:"ms"`
	Frames    []wire.Frame  `json:"frames,omitempty"`
	Baselined string        `json:"baselined,omitempty"` // reason given in the baseline for this fail or warn
	Rerun     string        `json:"rerun,omitempty"`     // command that runs this check alone
}

// A Rule is a row of the ledger at the outcome's revision.
type Rule struct {
	ID      string `json:"id"`
	Says    string `json:"says"`
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

// A BaselineViolation is a baseline entry that does not hold: the check it
// excuses passes now, or nothing in the run matches it.
type BaselineViolation struct {
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
