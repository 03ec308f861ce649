package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

const editedFile = "testdata/edited.tsv"

// A sessionEdit takes from all sessions what judges may look for. A session that conforms
// may be like that where mayConform is set: no judge fails it.
type sessionEdit struct {
	mayConform bool
	edit       func(frames []wire.Frame) []wire.Frame
}

// cutByUs is the edit by which the recording holds only the first half of each message.
const cutByUs = "cut by us"

// sessionEdits are edits by their names.
var sessionEdits = map[string]sessionEdit{
	"nothing sent": {true, func([]wire.Frame) []wire.Frame { return nil }},
	"client alone": {false, func(frames []wire.Frame) []wire.Frame { return framesFrom(frames, wire.Client) }},
	"server alone": {false, func(frames []wire.Frame) []wire.Frame { return framesFrom(frames, wire.Server) }},
	"no answers": {false, func(frames []wire.Frame) []wire.Frame {
		return slices.DeleteFunc(slices.Clone(frames), func(f wire.Frame) bool {
			return f.From == wire.Server && f.Message().IsResponse()
		})
	}},
	cutByUs: {true, func(frames []wire.Frame) []wire.Frame {
		return editFrames(frames, func(raw string) string { return raw[:len(raw)/2] })
	}},
	"cut by the sender": {false, func(frames []wire.Frame) []wire.Frame {
		return editFrames(frames, func(raw string) string { return raw[:len(raw)-1] })
	}},
	"errors without a code":   {false, editAnswers(`"error":{"message":"no"}`)},
	"errors of a server":      {false, editAnswers(`"error":{"code":-32603,"message":"no"}`)},
	"empty results":           {false, editAnswers(`"result":{}`)},
	"results of no object":    {false, editAnswers(`"result":[]`)},
	"requests without params": {false, editMember("params", "")},
	"params of no object":     {false, editMember("params", "[]")},
	"requests without _meta":  {false, editMember("params._meta", "")},
}

// framesFrom returns the frames of one side.
func framesFrom(frames []wire.Frame, from wire.Role) []wire.Frame {
	return slices.DeleteFunc(slices.Clone(frames), func(f wire.Frame) bool { return f.From != from })
}

// editAnswers returns an edit that gives all responses another result or error, but for
// that of the opening.
func editAnswers(member string) func(frames []wire.Frame) []wire.Frame {
	return func(frames []wire.Frame) []wire.Frame {
		return editFrames(frames, func(raw string) string {
			m := wire.Parse([]byte(raw))
			if !m.IsResponse() || m.Result().Get("protocolVersion").Exists() {
				return raw
			}
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID().Raw, member)
		})
	}
}

// editMember returns an edit that replaces a member of all requests and notifications but
// the opening, or takes it away.
func editMember(path, value string) func(frames []wire.Frame) []wire.Frame {
	return func(frames []wire.Frame) []wire.Frame {
		return editFrames(frames, func(raw string) string {
			if method := gjson.Get(raw, "method"); !method.Exists() || method.Str == "initialize" {
				return raw
			}
			return replaceRaw(raw, path, value)
		})
	}
}

// replaceRaw returns JSON with the value at a path replaced, or taken away if it is "".
func replaceRaw(raw, path, value string) string {
	text, _ := changeAt(gjson.Parse(raw), strings.Split(path, "."), valueChange{"", func(gjson.Result) (string, bool) {
		return value, value == ""
	}})
	return text
}

// A judge that passes in an edited session has evidence in what is left of it. The list has
// how many sessions each judge passes and fails after which edit: as they are, and over
// HTTP. A number that grows shows a judge that passes without a subject or reports what
// another judge does, and one that falls a judge that lost its subject.
//
// go test ./suites/catalog -run Edited -update rewrites the list: read the difference.
func TestJudgesOfEditedSessions(t *testing.T) {
	counts := map[string]map[string]*[4]int{}
	for _, c := range allJudges() {
		counts[c.ID] = map[string]*[4]int{}
	}
	for name, e := range sessionEdits {
		for _, rev := range spec.Revisions() {
			for _, x := range fixtures.Golden(rev) {
				edited := e.edit(x.Frames)
				for i, frames := range [][]wire.Frame{slices.Clone(edited), overHTTP(edited)} {
					for k := range frames {
						frames[k].Truncated = name == cutByUs && len(frames[k].Raw) > 0
					}
					v := view.New(rev, wire.TranscriptOf(frames))
					for _, c := range allJudges() {
						if c.In.Has(rev) && (!c.Whole || !e.mayConform) {
							countState(t, counts[c.ID], name, c, check.JudgeView(c, v), 2*i, e.mayConform && i == 0)
						}
					}
				}
			}
		}
	}
	var got []string
	for id, all := range counts {
		line := id
		for _, name := range slices.Sorted(maps.Keys(all)) {
			n := all[name]
			line += fmt.Sprintf("\t%s %d %d %d %d", name, n[0], n[1], n[2], n[3])
		}
		got = append(got, line)
	}
	requireLines(t, editedFile, got)
}

// countState counts an outcome under the name of an edit, from a column on: passes and
// failures.
func countState(
	t *testing.T, counts map[string]*[4]int, name string, c check.Check, o check.Outcome, column int, mayConform bool,
) {
	t.Helper()
	switch o.State {
	case check.Kept:
	case check.Violated:
		if column++; mayConform {
			t.Errorf("%s: %s: %s", name, c.ID, o.Detail)
		}
	case check.Broken:
		t.Errorf("%s: %s is broken: %s", name, c.ID, o.Detail)
		return
	default:
		return
	}
	if counts[name] == nil {
		counts[name] = &[4]int{}
	}
	counts[name][column]++
}
