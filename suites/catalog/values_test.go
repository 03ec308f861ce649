package catalog

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

const changedFile = "testdata/changes.tsv"

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

// placeOf names the place of a value: what it is in, and the path, with the types of items
// for their positions.
func placeOf(f wire.Frame, method string, path []string) string {
	place := fmt.Sprintf("%s %s ", f.From, method)
	v := gjson.ParseBytes(f.Raw)
	for _, step := range path {
		if !v.IsArray() {
			v = wire.Member(v, step)
			place += "/" + step
			continue
		}
		at, err := strconv.Atoi(step)
		if err != nil {
			panic(err)
		}
		v = v.Array()[at]
		place += "/*"
		if kind := v.Get("type"); kind.Type == gjson.String {
			place += kind.Str
		}
	}
	return place
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
	session := view.New(rev, wire.TranscriptOf(frames))
	for _, c := range allJudges() {
		if !c.In.Has(rev) {
			continue
		}
		switch check.JudgeView(c, session).State {
		case check.Violated:
			ids = append(ids, c.ID)
		case check.Broken:
			ids = append(ids, "broken "+c.ID)
		}
	}
	return ids
}

// judgeChangedFrames takes a frame of each session away, repeats it, exchanges it with the
// next, or has the other side send it, and calls report with the judges that fail.
func judgeChangedFrames(rev spec.Revision, frames []wire.Frame, from int, report func(change string, ids []string)) {
	for i := from; i < len(frames); i++ {
		other := frames[i]
		other.From = other.From.Peer()
		changed := map[string][]wire.Frame{
			"removed":               slices.Concat(frames[:i], frames[i+1:]),
			"repeated":              slices.Insert(slices.Clone(frames), i, frames[i]),
			"sent by the other end": slices.Concat(frames[:i], []wire.Frame{other}, frames[i+1:]),
		}
		if i+1 < len(frames) {
			changed["late"] = slices.Concat(frames[:i], []wire.Frame{frames[i+1], frames[i]}, frames[i+2:])
		}
		for name, all := range changed {
			report(fmt.Sprintf("frame %d %s", i, name), failing(rev, all))
		}
	}
}

// judgeChangedFields takes the header fields of HTTP away, gives them another value, and
// changes the status, each once at a revision, and calls report with the judges that fail.
func judgeChangedFields(
	rev spec.Revision, frames []wire.Frame, done map[string]bool, report func(change string, ids []string),
) {
	for i, f := range frames {
		about := fmt.Sprintf("%s %s %d %s ", f.From, f.HTTP.Method, f.HTTP.Status, f.Message().Method())
		try := func(what string, edit func(h *wire.HTTP)) {
			if done[about+what] {
				return
			}
			done[about+what] = true
			h := *f.HTTP
			h.Header = h.Header.Clone()
			edit(&h)
			changed := slices.Clone(frames)
			changed[i].HTTP = &h
			report(about+what, failing(rev, changed))
		}
		for name := range f.HTTP.Header {
			try(name+" missing", func(h *wire.HTTP) { h.Header.Del(name) })
			try(name+" other", func(h *wire.HTTP) { h.Header.Set(name, "other") })
			try(name+" twice", func(h *wire.HTTP) { h.Header.Add(name, h.Header.Get(name)) })
		}
		for _, status := range []int{200, 201, 202, 204, 400, 404, 405, 500} {
			if f.HTTP.Status != 0 {
				try(fmt.Sprint("status ", status), func(h *wire.HTTP) { h.Status = status })
			}
		}
		if e := f.HTTP.Event; e != nil && e.ID != nil {
			try("without id", func(h *wire.HTTP) { h.Event = &wire.Event{NoData: e.NoData} })
		}
	}
}

// Each judge fails the changes of golden exchanges that break its rule, and no others. The
// list has the number of these for each judge: of changed values, of changed frames, of
// those over HTTP, and of changed fields of HTTP. It also has how many changed values the
// same judges fail: one deviation should have one check.
//
// go test ./suites/catalog -run Changes -update rewrites the list: read the difference.
// With -v it prints which judges fail which change.
func TestJudgesFailChanges(t *testing.T) {
	counts, pairs := map[string]*[4]int{}, map[string]int{}
	for _, c := range allJudges() {
		counts[c.ID] = &[4]int{}
	}
	count := func(column int, rev spec.Revision, what string, ids []string) {
		for _, id := range ids {
			if strings.HasPrefix(id, "broken ") {
				t.Errorf("%s: %s: %s", rev, what, id)
				continue
			}
			counts[id][column]++
		}
		if column == 0 && len(ids) > 1 {
			pairs[strings.Join(ids, " ")]++
		}
		if testing.Verbose() {
			t.Logf("%s\t%s\t%s", rev, what, strings.Join(ids, " "))
		}
	}
	judgeChangedValues(func(rev spec.Revision, change, place string, ids []string) {
		count(0, rev, place+" "+change, ids)
	})
	for _, rev := range spec.Revisions() {
		fields := map[string]bool{}
		for _, e := range fixtures.Golden(rev) {
			isLong := len(e.Frames) > e.Opening+2 // not a request and its answer alone
			judgeChangedFrames(rev, e.Frames, e.Opening, func(change string, ids []string) {
				count(1, rev, e.Name+" "+change, ids)
			})
			for _, streams := range []bool{true, false} {
				frames, ok := writeOverHTTP(e, streams)
				if !ok || !spec.Since(spec.V2025_03_26).Has(rev) {
					continue
				}
				judgeChangedFields(rev, frames, fields, func(change string, ids []string) {
					count(3, rev, e.Name+" "+change, ids)
				})
				if streams && isLong {
					judgeChangedFrames(rev, frames, 0, func(change string, ids []string) {
						count(2, rev, e.Name+" over HTTP "+change, ids)
					})
				}
			}
		}
	}
	var got []string
	for id, n := range counts {
		got = append(got, fmt.Sprintf("%s\t%d\t%d\t%d\t%d", id, n[0], n[1], n[2], n[3]))
	}
	for ids, n := range pairs {
		got = append(got, fmt.Sprintf("%s\t%d", ids, n))
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
