package check

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// HTTP frames without a message are no entries. Judges still find a request by its index,
// and the frame that breaks the rule is marked.
func TestEntriesOmitFramesWithoutMessage(t *testing.T) {
	head := wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: 1, Status: 200}}
	raw := func(from wire.Role, text string) wire.Frame {
		return wire.Frame{From: from, Raw: []byte(text), HTTP: &wire.HTTP{Exchange: 1}}
	}
	v := view.New(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{
		head, head,
		raw(wire.Client, `{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}`), // duplicate id
		head,
		raw(wire.Server, `{"jsonrpc":"2.0","id":1,"result":{}}`),
		raw(wire.Client, `{"jsonrpc":"2.0","id":2,"method":"ping"}`),
		head, head, head,
		raw(wire.Server, `{"jsonrpc":"2.0","id":2,"result":{"at":"fault"}}`),
	}))
	known := map[string]bool{}
	o := JudgeView(Check{Of: wire.Server, Judge: func(j *J) {
		for _, e := range j.Sent() {
			if j.Entry(e.Index).At != e.At || !j.HasRequest(e) {
				t.Errorf("entry %d is not found", e.Index)
			}
			_, known[e.Message.ID().Raw] = j.RequestOf(e)
			if e.Message.Result().Get("at").Exists() {
				j.Fail(e, "at fault")
			}
			if !j.HasUnreadableBefore(e) {
				t.Errorf("entry %d has nothing unreadable before it", e.Index)
			}
		}
	}}, v)
	if known["1"] || !known["2"] {
		t.Errorf("requests known by id: %v", known)
	}
	marked := 0
	for _, f := range o.Frames {
		if f.Marked {
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

// A frame without a message has its place among those with one, and can be the one
// that breaks the rule.
func TestFailTakesFrameOfTheTransport(t *testing.T) {
	ping := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	v := view.New(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{
		{From: wire.Client, Raw: ping, HTTP: &wire.HTTP{Exchange: 1, Method: "POST"}},
		{From: wire.Client, HTTP: &wire.HTTP{Exchange: 2, Method: "GET"}},
		{From: wire.Server, HTTP: &wire.HTTP{Exchange: 2, Status: 500}},
		{From: wire.Client, Raw: ping, HTTP: &wire.HTTP{Exchange: 3, Method: "POST"}},
	}))
	last := v.Entry(3)
	if last.Index != 3 || len(v.EntriesBefore(last)) != 1 || v.ExchangeOf(last).Number != 3 {
		t.Errorf("the last message is frame %d, with %d before it", last.Index, len(v.EntriesBefore(last)))
	}
	o := JudgeView(Check{Of: wire.Server, Judge: func(j *J) { j.Fail(*j.Exchanges()[1].Head, "status 500") }}, v)
	if o.State != Violated || o.Got != "" || len(o.Frames) < 3 || !o.Frames[2].Marked {
		t.Errorf("%+v", o)
	}
}
