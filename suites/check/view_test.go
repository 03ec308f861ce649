package check

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Frames of HTTP that carry no message are no entries: judges find a request by
// its index all the same, and the frame at fault is the one that is marked.
func TestJudgesDoNotCountFramesOfTheTransport(t *testing.T) {
	head := wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: 1, Status: 200}}
	raw := func(from wire.Role, text string) wire.Frame {
		return wire.Frame{From: from, Raw: []byte(text), HTTP: &wire.HTTP{Exchange: 1}}
	}
	view := NewView(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{
		head, head,
		raw(wire.Client, `{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}`), // its id stands twice
		head,
		raw(wire.Server, `{"jsonrpc":"2.0","id":1,"result":{}}`),
		raw(wire.Client, `{"jsonrpc":"2.0","id":2,"method":"ping"}`),
		head, head, head,
		raw(wire.Server, `{"jsonrpc":"2.0","id":2,"result":{"at":"fault"}}`),
	}))
	known := map[string]bool{}
	o := view.Look(Check{Of: wire.Server, Judge: func(j *J) {
		for _, e := range j.Sent() {
			if j.Entries()[e.Index].At != e.At || !j.Asked(e) {
				t.Errorf("entry %d is not found", e.Index)
			}
			_, known[e.Message.ID().Raw] = j.RequestOf(e)
			if e.Message.Result().Get("at").Exists() {
				j.Fail(e, "at fault")
			}
			if !j.Unreadable(e) {
				t.Errorf("entry %d has nothing unreadable before it", e.Index)
			}
		}
	}})
	if known["1"] || !known["2"] {
		t.Errorf("requests known by id: %v", known)
	}
	marked := 0
	for _, f := range o.Frames {
		if f.Mark {
			marked++
			if f.Message().Result().Get("at").String() != "fault" {
				t.Errorf("marked %s", f.AppendJSON(nil))
			}
		}
	}
	if marked != 1 || o.State != Violated {
		t.Errorf("%d frames are marked, state %d", marked, o.State)
	}
}
