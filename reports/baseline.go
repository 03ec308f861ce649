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

// A Baseline is a list of known fails and warns, each with the reason why it
// is tolerated. It excuses and never hides: an excused outcome is reported as
// what it is, and an entry that is no longer needed fails the run.
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
// check and reason, and optionally revision and transport. An unknown key, a
// key that is missing or empty, a revision or transport that does not exist,
// and an entry given twice are errors that name file and line.
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
		return nil, fmt.Errorf("line %d: not a list of entries with check and reason", yamldoc.Line(root))
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
		return e, yamldoc.Plain(err)
	}
	e.line = line
	if e.Check == "" {
		return e, fmt.Errorf("line %d: an entry without check", line)
	}
	if strings.TrimSpace(e.Reason) == "" {
		return e, fmt.Errorf("line %d: the entry for %s gives no reason", line, e.Check)
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

// Selected returns the entries whose check is selected; for a run that --only
// or --skip narrowed, so that an entry for a check left out is not taken for
// one that matches nothing.
func (b *Baseline) Selected(selected func(check string) bool) *Baseline {
	return &Baseline{entries: slices.DeleteFunc(slices.Clone(b.entries), func(e baselineEntry) bool { return !selected(e.Check) })}
}

// Checks returns the checks that the entries name, each once, so that the
// caller can refuse a name that is no check before a target is started.
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
// the entries that do not hold, one violation an entry, in the order of the
// file. It replaces what an earlier Apply set.
//
// An entry stands for each outcome of its check at its revision on its
// transport; without revision or transport, for each at every one. Place by
// place:
//
//   - fail or warn: excused, Baselined is the reason of the first such entry;
//   - pass: the entry is stale there, though it may be needed elsewhere: narrow
//     or remove it;
//   - not-applicable: the entry has nothing to excuse there;
//   - not-observed, not-run, broken: no verdict, so nothing is known of the
//     entry there.
//
// An entry that has nothing to excuse anywhere, and one that no outcome
// matches, is a violation too. Set aside are entries for a revision that the
// run was not asked for or a transport that it did not use, so that one file
// serves several runs, and all entries of a run that has no outcome.
func (b *Baseline) Apply(run *Run) {
	run.Baseline = nil
	for i := range run.Outcomes {
		run.Outcomes[i].Baselined = ""
	}
	if len(run.Outcomes) == 0 {
		return
	}
	for _, e := range b.entries {
		if e.aside(run) {
			continue
		}
		if problem := e.apply(run); problem != "" {
			run.Baseline = append(run.Baseline, BaselineViolation{Check: e.Check, Revision: e.Revision, Transport: e.Transport, Reason: e.Reason, Problem: problem, Line: e.line})
		}
	}
}

// aside tells whether the run has no say on the entry.
func (e baselineEntry) aside(run *Run) bool {
	asked := func(r RevisionRun) bool { return string(r.Revision) == e.Revision }
	there := func(o Outcome) bool { return string(o.Revision) == e.Revision }
	if e.Revision != "" && !slices.ContainsFunc(run.Revisions, asked) && !slices.ContainsFunc(run.Outcomes, there) {
		return true
	}
	used := func(o Outcome) bool { return o.Transport == e.Transport }
	return e.Transport != "" && !slices.ContainsFunc(run.Outcomes, used)
}

// apply marks what the entry excuses and returns what is wrong with it, or "".
func (e baselineEntry) apply(run *Run) string {
	matched, excused, open := 0, 0, 0
	var passes []Outcome
	for i := range run.Outcomes {
		o := &run.Outcomes[i]
		if o.ID != e.Check || e.Revision != "" && string(o.Revision) != e.Revision || e.Transport != "" && o.Transport != e.Transport {
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
			open++
		}
	}
	switch {
	case matched == 0:
		return "no check of this name had a verdict in this run"
	case len(passes) > 0 && excused > 0:
		return fmt.Sprintf("the check passes now at %s; narrow the entry to where it still fails", places(passes))
	case len(passes) > 0:
		return fmt.Sprintf("the check passes now at %s; remove the entry", places(passes))
	case excused == 0 && open == 0:
		return "the check does not apply to this target; remove the entry"
	}
	return ""
}

// WriteBaseline writes a baseline that excuses every fail of the run, each
// entry with what happened as the reason, for a person to replace by why it is
// tolerated.
func WriteBaseline(w io.Writer, run *Run) error {
	var entries []baselineEntry
	for _, o := range run.Outcomes {
		if o.Verdict == Fail {
			entries = append(entries, baselineEntry{Check: o.ID, Revision: string(o.Revision), Transport: o.Transport, Reason: "not judged yet: " + oneLine(o.Detail, 300)})
		}
	}
	var buf bytes.Buffer
	buf.WriteString("# Known failures. Write why each is tolerated; an entry whose check passes fails the run.\n")
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
