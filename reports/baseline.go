package reports

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/yamldoc"
)

// A Baseline is a list of known fails and warns, each with the reason why it is
// tolerated. It excuses outcomes and hides none: reports show an excused outcome
// with its verdict, and an entry that is no longer needed fails the run.
type Baseline struct {
	entries []baselineEntry
}

// A baselineEntry is one item of the YAML list.
type baselineEntry struct {
	Check     string `yaml:"check"`
	Revision  string `yaml:"revision,omitempty"`  // "" for all
	Transport string `yaml:"transport,omitempty"` // stdio, http or sse; "" for all
	Reason    string `yaml:"reason"`
	line      int
}

// LoadBaseline reads a baseline file: a YAML list of entries with the keys
// check and reason, and optionally revision and transport. Unknown keys, missing
// or empty keys, revisions and transports that do not exist, and repeated
// entries are errors. The error names the file and the line.
func LoadBaseline(path string) (*Baseline, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	b, err := parseBaseline(text)
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", path, err)
	}
	return b, nil
}

func parseBaseline(text []byte) (*Baseline, error) {
	root, err := yamldoc.Parse(text, "a baseline is one list")
	if err != nil {
		return nil, err
	}
	b := &Baseline{}
	if root == nil {
		return b, nil
	}
	list, ok := root.(*ast.SequenceNode)
	if !ok {
		return nil, fmt.Errorf("line %d: expected a list of entries with check and reason", yamldoc.Line(root))
	}
	for _, node := range list.Values {
		e, err := parseEntry(node)
		if err != nil {
			return nil, err
		}
		for _, other := range b.entries {
			if other.Check == e.Check && other.Revision == e.Revision && other.Transport == e.Transport {
				return nil, fmt.Errorf("line %d: repeats the entry of line %d", e.line, other.line)
			}
		}
		b.entries = append(b.entries, e)
	}
	return b, nil
}

func parseEntry(node ast.Node) (baselineEntry, error) {
	var e baselineEntry
	line := yamldoc.Line(node)
	if err := yaml.NodeToValue(node, &e, yaml.DisallowUnknownField()); err != nil {
		return e, yamldoc.OneLine(err)
	}
	e.line = line
	if e.Check == "" {
		return e, fmt.Errorf("line %d: the entry has no check", line)
	}
	// One line, as reports show it: a YAML writer may lose white space at ends of lines.
	if e.Reason = strings.Join(strings.Fields(e.Reason), " "); e.Reason == "" {
		return e, fmt.Errorf("line %d: the entry for %s has no reason", line, oneLine(e.Check, idLimit))
	}
	if e.Revision != "" {
		if _, err := spec.ParseRevision(e.Revision); err != nil {
			return e, fmt.Errorf("line %d: %w", line, err)
		}
	}
	switch e.Transport {
	case "", "stdio", "http", "sse":
	default:
		return e, fmt.Errorf("line %d: unknown transport %q (known: stdio, http, sse)", line, e.Transport)
	}
	return e, nil
}

// Selected returns the entries whose check is selected. A run that --only or
// --skip narrows uses it, so that an entry for a check left out does not count
// as one that matches nothing.
func (b *Baseline) Selected(selected func(check string) bool) *Baseline {
	isLeftOut := func(e baselineEntry) bool { return !selected(e.Check) }
	return &Baseline{entries: slices.DeleteFunc(slices.Clone(b.entries), isLeftOut)}
}

// Checks returns the checks that the entries name, each once. The caller can
// reject a name that is no check before it starts a target.
func (b *Baseline) Checks() []string {
	var ids []string
	for _, e := range b.entries {
		if !slices.Contains(ids, e.Check) {
			ids = append(ids, e.Check)
		}
	}
	return ids
}

// Apply marks the outcomes that the baseline excuses and sets run.Baseline to
// the problems of its entries, at most one an entry, in the order of the file.
// It replaces the result of an earlier Apply.
//
// An entry applies to the outcomes of its check at its revision and transport;
// without revision or transport, to those at all of them. The verdict of each
// outcome decides:
//
//   - fail or warn: it is excused; Baselined is the reason of the first entry
//     that applies;
//   - pass: the entry is stale at this revision and transport, though another
//     may need it: the user narrows or removes it;
//   - not-applicable: the entry excuses nothing here;
//   - not-observed, not-run, broken: no verdict on the target, so that the entry
//     may still be needed.
//
// An entry that excuses nothing anywhere, and one that no outcome matches, is a
// problem too. Entries for a revision that the run did not include or a
// transport that it did not use are ignored, so that one file serves several
// runs. So are all entries of a run that has no outcome.
func (b *Baseline) Apply(run *Run) {
	run.Baseline = nil
	for i := range run.Outcomes {
		run.Outcomes[i].Baselined = ""
	}
	if len(run.Outcomes) == 0 {
		return
	}
	for _, e := range b.entries {
		if e.isOutside(run) {
			continue
		}
		if text := e.apply(run); text != "" {
			run.Baseline = append(run.Baseline, BaselineProblem{
				Check: e.Check, Revision: e.Revision, Transport: e.Transport,
				Reason: e.Reason, Problem: text, Line: e.line,
			})
		}
	}
}

// isOutside reports whether the run did not cover the revision or the transport
// of the entry, so that it says nothing about the entry.
func (e baselineEntry) isOutside(run *Run) bool {
	requested := func(r RevisionRun) bool { return string(r.Revision) == e.Revision }
	judged := func(o Outcome) bool { return string(o.Revision) == e.Revision }
	if e.Revision != "" && !slices.ContainsFunc(run.Revisions, requested) &&
		!slices.ContainsFunc(run.Outcomes, judged) {
		return true
	}
	used := func(o Outcome) bool { return o.Transport == e.Transport }
	return e.Transport != "" && !slices.ContainsFunc(run.Outcomes, used)
}

// matches reports whether the entry applies to the outcome.
func (e baselineEntry) matches(o Outcome) bool {
	return o.ID == e.Check &&
		(e.Revision == "" || string(o.Revision) == e.Revision) &&
		(e.Transport == "" || o.Transport == e.Transport)
}

// apply marks the outcomes that the entry excuses. It returns what is wrong with
// the entry, or "".
func (e baselineEntry) apply(run *Run) string {
	matched, excused, undecided := 0, 0, 0
	var passes []Outcome
	for i := range run.Outcomes {
		o := &run.Outcomes[i]
		if !e.matches(*o) {
			continue
		}
		matched++
		switch o.Verdict {
		case Fail, Warn:
			excused++
			if o.Baselined == "" {
				o.Baselined = e.Reason
			}
		case Pass:
			passes = append(passes, *o)
		case NotObserved, NotRun, Broken:
			undecided++
		}
	}
	switch {
	case matched == 0:
		return "this run has no outcome of the check; correct or remove the entry"
	case len(passes) > 0 && excused > 0:
		return fmt.Sprintf("the check passes now at %s; narrow the entry to where it still fails", placesText(passes))
	case len(passes) > 0:
		return fmt.Sprintf("the check passes now at %s; remove the entry", placesText(passes))
	case excused == 0 && undecided == 0:
		return "the check does not apply to this target; remove the entry"
	}
	return ""
}

// entry names the entry as the reader finds it in the file.
func (p BaselineProblem) entry() string {
	s := p.Check
	if p.Revision != "" {
		s += " " + p.Revision
	}
	if p.Transport != "" {
		s += " " + p.Transport
	}
	if p.Line > 0 {
		s += fmt.Sprintf(" (line %d)", p.Line)
	}
	return s
}

// WriteBaseline writes a baseline that excuses the outcomes of the run with these
// verdicts. An outcome that is excused already keeps the reason. The reason of another
// entry is what happened; the user replaces it by why that is tolerated.
func WriteBaseline(w io.Writer, run *Run, verdicts ...Verdict) error {
	var entries []baselineEntry
	for _, o := range run.Outcomes {
		if o.isExcused() || slices.Contains(verdicts, o.Verdict) {
			entries = append(entries, baselineEntry{
				Check: o.ID, Revision: string(o.Revision), Transport: o.Transport,
				Reason: firstNonEmpty(o.Baselined, "not explained yet: "+oneLine(o.Detail, 300)),
			})
		}
	}
	var buf bytes.Buffer
	buf.WriteString("# Known failures. Replace each reason by why you tolerate the failure.\n" +
		"# An entry whose check passes fails the run.\n")
	if len(entries) > 0 {
		text, err := yaml.Marshal(entries)
		if err != nil {
			return fmt.Errorf("write baseline: %w", err)
		}
		buf.Write(text)
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	return nil
}
