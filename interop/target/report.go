package target

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A Report is what is read of mcpcheck's JSON report.
type Report struct {
	Revisions []struct {
		Revision string `json:"revision"`
		Spoken   bool   `json:"spoken"`
	} `json:"revisions"`
	Outcomes []Outcome `json:"outcomes"`

	Exit int    `json:"-"` // the exit code of mcpcheck
	Log  string `json:"-"` // what mcpcheck wrote to stderr
}

// An Outcome is the verdict of one check at one revision.
type Outcome struct {
	ID        string `json:"id"`
	Says      string `json:"says,omitempty"`
	Level     string `json:"level,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Transport string `json:"transport,omitempty"`
	Verdict   string `json:"verdict"`
	Detail    string `json:"detail,omitempty"`
	Hint      string `json:"hint,omitempty"`
	Rerun     string `json:"rerun,omitempty"`
	Rules     []struct {
		ID  string `json:"id"`
		URL string `json:"url"`
	} `json:"rules,omitempty"`
	Frames []json.RawMessage `json:"frames,omitempty"`
}

// IsViolation reports whether the verdict is fail or warn.
func (o Outcome) IsViolation() bool { return o.Verdict == "fail" || o.Verdict == "warn" }

// Spoken returns the revisions that the target spoke.
func (r *Report) Spoken() []string {
	var out []string
	for _, rev := range r.Revisions {
		if rev.Spoken {
			out = append(out, rev.Revision)
		}
	}
	return out
}

// Transports returns the transports that the outcomes are of.
func (r *Report) Transports() []string {
	over := map[string]bool{}
	for _, o := range r.Outcomes {
		over[o.Transport] = true
	}
	return slices.Sorted(maps.Keys(over))
}

// A Subject is what has one verdict in a run.
type Subject struct{ ID, Revision, Transport string }

func (s Subject) String() string { return fmt.Sprintf("%s at %s on %s", s.ID, s.Revision, s.Transport) }

func compareSubjects(a, b Subject) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Transport, b.Transport))
}

// Subject returns what the outcome is the verdict of.
func (o Outcome) Subject() Subject { return Subject{o.ID, o.Revision, o.Transport} }

// BySubject returns the outcomes by subject: of several outcomes of one subject
// the most severe, and of equal verdicts that of the strictest level.
func BySubject(outcomes []Outcome) map[Subject]Outcome {
	out := make(map[Subject]Outcome, len(outcomes))
	for _, o := range outcomes {
		s := o.Subject()
		if known, ok := out[s]; !ok || compareSeverity(o, known) > 0 {
			out[s] = o
		}
	}
	return out
}

func compareSeverity(a, b Outcome) int {
	verdicts := []string{"not-applicable", "not-observed", "pass", "not-run", "warn", "fail", "broken"}
	levels := []string{"ROBUST", "SHOULD", "MUST"}
	return cmp.Or(
		cmp.Compare(slices.Index(verdicts, a.Verdict), slices.Index(verdicts, b.Verdict)),
		cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)))
}

// Differing returns the subjects, sorted, that have not the same value in all
// runs. A run without the subject has the value of the zero Outcome.
func Differing(value func(Outcome) string, runs ...map[Subject]Outcome) []Subject {
	differ := map[Subject]bool{}
	for _, run := range runs {
		for s := range run {
			for _, other := range runs {
				if value(run[s]) != value(other[s]) {
					differ[s] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(differ), compareSubjects)
}
