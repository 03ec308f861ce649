package main

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

// A line is one verdict of a recording. Two ids are of no check: the verdict of
// idExit is the exit code, and that of idSpoken says yes or no for a revision.
type line struct {
	Target string `json:"target"`
	target.Outcome
}

const (
	idExit   = "exit"
	idSpoken = "spoken"
)

// linesOf returns the lines of a report on a target: the verdicts at revisions
// that it speaks, with the detail of those that are no ordinary ones.
func linesOf(name string, r *target.Report, root string) []line {
	exit := target.Outcome{ID: idExit, Verdict: strconv.Itoa(r.Exit)}
	if r.Exit > 1 {
		exit.Detail = normalize(strings.TrimSpace(r.Log), root)
	}
	out := []line{{name, exit}}
	for _, rev := range r.Revisions {
		verdict := "no"
		if rev.Spoken {
			verdict = "yes"
		}
		out = append(out, line{name, target.Outcome{ID: idSpoken, Revision: rev.Revision, Verdict: verdict}})
	}
	spoken := r.Spoken()
	for _, o := range r.Outcomes {
		if !slices.Contains(spoken, o.Revision) {
			continue // no check runs there
		}
		o.Says, o.Rules, o.Frames = "", nil, nil
		switch o.Verdict {
		case "fail", "warn", "not-run", "broken":
			o.Detail = normalize(o.Detail, root)
		default:
			o.Detail = ""
		}
		out = append(out, line{name, o})
	}
	return out
}

// varying matches what differs from run to run: identifiers and numbers. It
// matches dates and the error codes of JSON-RPC as well, so that they are not
// taken for such numbers.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\d|-32\d{3}\b` +
	`|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9a-fA-F]{16,}\b|\d+(?:\.\d+)?`)

var constant = regexp.MustCompile(`^(?:\d{4}-\d\d-\d\d|-32\d{3})$`)

// normalize replaces what differs from run to run in a detail.
func normalize(detail, root string) string {
	if build, err := filepath.EvalSymlinks(filepath.Join(root, "interop", "build")); err == nil {
		detail = strings.ReplaceAll(detail, build, "{root}/interop/build")
	}
	detail = strings.ReplaceAll(detail, root, "{root}")
	return varying.ReplaceAllStringFunc(detail, func(found string) string {
		switch {
		case constant.MatchString(found):
			return found
		case len(found) >= 16:
			return "ID"
		}
		return "N"
	})
}

// write writes the lines of all targets, sorted.
func write(path string, targets [][]line) error {
	lines := slices.Concat(targets...)
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Transport, b.Transport))
	})
	return target.WriteLines(path, lines)
}

// A recording holds the verdicts on each target.
type recording map[string]map[target.Subject]target.Outcome

// read returns the recording of a file under the names that the ids have now: of
// the targets of those names, of all without names.
func read(path string, names []string, ids renames) (recording, error) {
	lines, err := target.ReadLines[line](path)
	if err != nil {
		return nil, err
	}
	outcomes := map[string][]target.Outcome{}
	for _, l := range lines {
		if len(names) > 0 && !slices.Contains(names, l.Target) {
			continue
		}
		l.ID = ids.current(l.ID)
		outcomes[l.Target] = append(outcomes[l.Target], l.Outcome)
	}
	out := recording{}
	for name, list := range outcomes {
		out[name] = target.BySubject(list)
	}
	return out, nil
}
