package catalog

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

const changedFile = "testdata/changed.tsv"

// A valueChange replaces a value in a message. It returns "" where it changes nothing, or
// removes the member.
type valueChange struct {
	name string
	edit func(v gjson.Result) (raw string, remove bool)
}

// valueChanges give a value another type, another content and none.
var valueChanges = []valueChange{
	{"of another type", func(v gjson.Result) (string, bool) {
		switch {
		case v.IsObject():
			return "[]", false
		case v.IsArray():
			return "{}", false
		case v.Type == gjson.String:
			return "7", false
		}
		return `"7"`, false
	}},
	{"other", func(v gjson.Result) (string, bool) {
		switch {
		case v.IsObject():
			return "{}", false
		case v.IsArray():
			return "[]", false
		case v.Type == gjson.String:
			return `"Other value/é"`, false
		case v.Type == gjson.Number:
			return "-7", false
		case v.Type == gjson.True:
			return "false", false
		}
		return "true", false
	}},
	{"missing", func(gjson.Result) (string, bool) { return "", true }},
}

// changeAt returns a value with the one at a path changed; found is false if there is none.
func changeAt(v gjson.Result, path []string, change valueChange) (raw string, remove bool) {
	if len(path) == 0 {
		return change.edit(v)
	}
	var parts []string
	i := 0
	v.ForEach(func(key, child gjson.Result) bool {
		text, remove := child.Raw, false
		if step := key.String(); step == path[0] || v.IsArray() && fmt.Sprint(i) == path[0] {
			text, remove = changeAt(child, path[1:], change)
		}
		i++
		switch {
		case remove:
		case v.IsObject():
			parts = append(parts, key.Raw+":"+text)
		default:
			parts = append(parts, text)
		}
		return true
	})
	if v.IsArray() {
		return "[" + strings.Join(parts, ",") + "]", false
	}
	return "{" + strings.Join(parts, ",") + "}", false
}

// valuePaths returns the paths of the values in a value, but for itself.
func valuePaths(v gjson.Result, at []string) (out [][]string) {
	i := 0
	v.ForEach(func(key, child gjson.Result) bool {
		step := key.String()
		if v.IsArray() {
			step = fmt.Sprint(i)
		}
		i++
		path := append(slices.Clone(at), step)
		out = append(out, path)
		if child.IsObject() || child.IsArray() {
			out = append(out, valuePaths(child, path)...)
		}
		return true
	})
	return out
}

// placeOf names the place of a value: what it is in, and the path without positions.
func placeOf(f wire.Frame, method string, path []string) string {
	steps := slices.Clone(path)
	for i, s := range steps {
		if s != "" && strings.Trim(s, "0123456789") == "" {
			steps[i] = "*"
		}
	}
	return fmt.Sprintf("%s %s /%s", f.From, method, strings.Join(steps, "/"))
}

// judgeChangedValues changes each value of the golden exchanges, once for each place at a
// revision, and calls report with the judges that fail.
func judgeChangedValues(report func(rev spec.Revision, change, place string, ids []string)) {
	for _, rev := range spec.Revisions() {
		done := map[string]bool{}
		for _, e := range fixtures.Golden(rev) {
			methods := map[string]string{}
			for i, f := range e.Frames {
				m := f.Message()
				if m.Kind == wire.Request {
					methods[string(f.From)+m.ID().Key()] = m.Method()
				}
				method := m.Method()
				if m.IsResponse() {
					method = "answer to " + methods[string(f.From.Peer())+m.ID().Key()]
				}
				for _, path := range valuePaths(gjson.ParseBytes(f.Raw), nil) {
					place := placeOf(f, method, path)
					if done[place] {
						continue
					}
					done[place] = true
					for _, change := range valueChanges {
						raw, _ := changeAt(gjson.ParseBytes(f.Raw), path, change)
						frames := slices.Clone(e.Frames)
						frames[i].Raw = []byte(raw)
						report(rev, change.name, place, failing(rev, frames))
					}
				}
			}
		}
	}
}

// failing returns the judges that fail frames.
func failing(rev spec.Revision, frames []wire.Frame) (ids []string) {
	view := check.NewView(rev, wire.TranscriptOf(frames))
	for _, c := range allJudges() {
		if !c.In.Has(rev) {
			continue
		}
		switch view.Judge(c).State {
		case check.Violated:
			ids = append(ids, c.ID)
		case check.Broken:
			ids = append(ids, "broken "+c.ID)
		}
	}
	return ids
}

// Each judge fails the changed values of golden exchanges that break its rule, and no
// others. The list has the number of these for each judge, and for judges that fail the
// same change: one deviation should have one check.
//
// go test ./suites/catalog -run Changed -update rewrites the list: read the difference.
// With -v it prints which judges fail which change.
func TestJudgesFailChangedValues(t *testing.T) {
	n := map[string]int{}
	for _, c := range allJudges() {
		n[c.ID] = 0
	}
	judgeChangedValues(func(rev spec.Revision, change, place string, ids []string) {
		for _, id := range ids {
			n[id]++
		}
		together := strings.Join(ids, " ")
		if len(ids) > 1 {
			n[together]++
		}
		if testing.Verbose() {
			t.Logf("%s\t%s\t%s\t%s", rev, place, change, together)
		}
	})
	var got []string
	for ids, times := range n {
		got = append(got, fmt.Sprintf("%s\t%d", ids, times))
	}
	requireLines(t, changedFile, got)
}

// requireLines requires that a file has exactly these lines.
func requireLines(t *testing.T, file string, got []string) {
	t.Helper()
	slices.Sort(got)
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s does not have %q", file, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s has %q, which is not so", file, line)
		}
	}
}
