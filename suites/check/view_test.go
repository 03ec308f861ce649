package check

import (
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// HTTP frames without a message are no entries. Judges still find a request by its index,
// and the frame that breaks the rule is marked.
func TestEntriesOmitFramesWithoutMessage(t *testing.T) {
	head := wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: 1, Status: 200}}
	raw := func(from wire.Role, text string) wire.Frame {
		return wire.Frame{From: from, Raw: []byte(text), HTTP: &wire.HTTP{Exchange: 1}}
	}
	view := NewView(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{
		head, head,
		raw(wire.Client, `{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}`), // duplicate id
		head,
		raw(wire.Server, `{"jsonrpc":"2.0","id":1,"result":{}}`),
		raw(wire.Client, `{"jsonrpc":"2.0","id":2,"method":"ping"}`),
		head, head, head,
		raw(wire.Server, `{"jsonrpc":"2.0","id":2,"result":{"at":"fault"}}`),
	}))
	known := map[string]bool{}
	o := view.Judge(Check{Of: wire.Server, Judge: func(j *J) {
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
	}})
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
	view := NewView(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{
		{From: wire.Client, Raw: ping, HTTP: &wire.HTTP{Exchange: 1, Method: "POST"}},
		{From: wire.Client, HTTP: &wire.HTTP{Exchange: 2, Method: "GET"}},
		{From: wire.Server, HTTP: &wire.HTTP{Exchange: 2, Status: 500}},
		{From: wire.Client, Raw: ping, HTTP: &wire.HTTP{Exchange: 3, Method: "POST"}},
	}))
	last := view.Entry(3)
	if last.Index != 3 || len(view.EntriesBefore(last)) != 1 || view.ExchangeOf(last).Number != 3 {
		t.Errorf("the last message is frame %d, with %d before it", last.Index, len(view.EntriesBefore(last)))
	}
	o := view.Judge(Check{Of: wire.Server, Judge: func(j *J) { j.Fail(*j.Exchanges()[1].Head, "status 500") }})
	if o.State != Violated || o.Got != "" || len(o.Frames) < 3 || !o.Frames[2].Marked {
		t.Errorf("%+v", o)
	}
}

// Messages of two connections have no order, unless the second exchange began after
// the first message, or much time passed between them.
func TestFollowsOverHTTP(t *testing.T) {
	message := func(from wire.Role, exchange int, at time.Duration) wire.Frame {
		return wire.Frame{From: from, At: at, Raw: []byte(`{}`), HTTP: &wire.HTTP{Exchange: exchange}}
	}
	listening := wire.Frame{From: wire.Client, HTTP: &wire.HTTP{Exchange: 1, Method: "GET"}}
	view := NewView(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{
		listening,
		message(wire.Client, 2, 0),
		message(wire.Server, 2, 1), // entry 1
		message(wire.Server, 1, 2), // 2: on the stream that was open before
		message(wire.Server, 2, 3), // 3: on the same
		message(wire.Client, 3, 4),
		message(wire.Server, 3, 5),             // 5: of an exchange begun after
		message(wire.Server, 1, 2*time.Second), // 6: long after
		{From: wire.Client, HTTP: &wire.HTTP{
			Exchange: 4, Method: "GET", Header: map[string][]string{"Last-Event-Id": {"7"}},
		}},
		message(wire.Server, 4, 3*time.Second), // 7: it may have waited for the resumption
		message(wire.Server, 4, 4*time.Second), // 8
	}))
	first := view.Entries()[1]
	for at, want := range map[int]bool{0: false, 1: false, 2: false, 3: true, 5: true, 6: true, 7: false, 8: false} {
		if got := view.Follows(view.Entries()[at], first); got != want {
			t.Errorf("entry %d follows: %t, want %t", at, got, want)
		}
	}
	if !view.Follows(view.Entries()[8], view.Entries()[7]) {
		t.Error("messages of one resumed stream have an order")
	}
}

// A peer may have read what is invalid JSON, so that a response may answer it.
func TestRequestOfIsUnknownIfInvalidJSONMayHaveItsID(t *testing.T) {
	for garbage, known := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"method":"completion/complete"` + "\xff}": false,
		`{"id" : 7 ,`:       false,
		`{"id":"7",`:        true,
		`{"id":70,`:         true,
		`{"id":7.5,`:        true,
		`{"n":7,`:           true,
		`{"id":1,"id":7`:    false,
		`no JSON at all: 7`: true,
	} {
		var response wire.Entry
		v := NewView(spec.V2025_06_18, wire.TranscriptOf([]wire.Frame{
			{From: wire.Client, Raw: []byte(garbage)},
			{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)},
			{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)},
		}))
		response = v.Entries()[2]
		if _, ok := (&J{View: v, Of: wire.Server}).RequestOf(response); ok != known {
			t.Errorf("%q: known is %v", garbage, ok)
		}
	}
}
