package catalog

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// goldenForms are forms of a golden exchange that conform too: what is unusual in them is
// permitted. Each returns its sessions, none where the form does not exist.
var goldenForms = map[string]func(e fixtures.Exchange) [][]wire.Frame{
	"as it is": func(e fixtures.Exchange) [][]wire.Frame { return [][]wire.Frame{e.Frames} },
	// JSON gives the members of an object no order.
	"members in the opposite order": func(e fixtures.Exchange) [][]wire.Frame {
		return [][]wire.Frame{editFrames(e.Frames, func(raw string) string { return reverseMembers(gjson.Parse(raw)) })}
	},
	// basic/index of 2025-03-26: a batch may hold any requests and notifications, and one
	// alone.
	"requests and notifications in arrays": func(e fixtures.Exchange) [][]wire.Frame {
		if !e.Rev.Facts().Batches {
			return nil
		}
		return [][]wire.Frame{editFrames(e.Frames, func(raw string) string {
			m := gjson.Parse(raw)
			opens := m.Get("method").Str == "initialize" || m.Get("result.protocolVersion").Exists()
			if !m.IsObject() || opens || !m.Get("method").Exists() {
				return raw
			}
			return "[" + raw + "]"
		})}
	},
	// basic/utilities/cancellation: the answer may be on its way.
	"requests of the server that it cancels": func(e fixtures.Exchange) [][]wire.Frame {
		var frames []wire.Frame
		for _, f := range e.Frames {
			frames = append(frames, f)
			m := f.Message()
			if f.From == wire.Server && m.Kind == wire.Request && m.Method() != "ping" && !isOfTask(m) {
				frames = append(frames, wire.Frame{From: wire.Server, Raw: fmt.Appendf(nil,
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, m.ID().Raw)})
			}
		}
		if len(frames) == len(e.Frames) {
			return nil
		}
		return [][]wire.Frame{frames}
	},
}

// isOfTask reports whether a request is about a task, or becomes one: those are cancelled
// by tasks/cancel.
func isOfTask(m wire.Message) bool {
	return m.Params().Get("task").Exists() || strings.HasPrefix(m.Method(), "tasks/") ||
		strings.Contains(string(m.Raw), "related-task")
}

// editFrames returns frames with their messages edited.
func editFrames(frames []wire.Frame, edit func(raw string) string) []wire.Frame {
	frames = slices.Clone(frames)
	for i := range frames {
		frames[i].Raw = []byte(edit(string(frames[i].Raw)))
	}
	return frames
}

// reverseMembers returns a value with the members of its objects in the opposite order.
func reverseMembers(v gjson.Result) string {
	if !v.IsObject() && !v.IsArray() {
		return v.Raw
	}
	var parts []string
	v.ForEach(func(key, child gjson.Result) bool {
		if v.IsObject() {
			parts = append(parts, key.Raw+":"+reverseMembers(child))
		} else {
			parts = append(parts, reverseMembers(child))
		}
		return true
	})
	if v.IsArray() {
		return "[" + strings.Join(parts, ",") + "]"
	}
	slices.Reverse(parts)
	return "{" + strings.Join(parts, ",") + "}"
}

// No judge fails a golden exchange, nor a form of it that is permitted.
func TestJudgesAcceptGoldenExchanges(t *testing.T) {
	for form, edit := range goldenForms {
		for _, rev := range spec.Revisions() {
			for _, e := range fixtures.Golden(rev) {
				for _, frames := range edit(e) {
					requireNoViolation(t, rev, wire.TranscriptOf(frames), true, e.Name+", "+form)
				}
			}
		}
	}
}

// A recording may begin after the opening. What the two sides declared is not known then,
// so that no judge fails them for that.
func TestJudgesAcceptRecordingsWithoutOpening(t *testing.T) {
	for _, rev := range spec.Revisions() {
		for _, e := range fixtures.Golden(rev) {
			cut := wire.TranscriptOf(e.Frames[e.Opening:])
			requireNoViolation(t, rev, cut, e.Opening == 0, e.Name+", cut at the start")
		}
	}
}

// allJudges are the judges of both sides.
var allJudges = sync.OnceValue(Judges)

// requireNoViolation runs the judges of a revision.
func requireNoViolation(t *testing.T, rev spec.Revision, transcript *wire.Transcript, whole bool, what string) {
	t.Helper()
	v := view.New(rev, transcript)
	for _, c := range allJudges() {
		if !c.In.Has(rev) || c.Whole && !whole {
			continue
		}
		if o := check.JudgeView(c, v); o.State == check.Violated || o.State == check.Broken {
			t.Errorf("%s at %s: %s: %s", what, rev, c.ID, o.Detail)
		}
	}
}
