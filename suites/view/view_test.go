package view

import (
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Messages of two connections have no order, unless the second exchange began after
// the first message, or much time passed between them.
func TestFollowsOverHTTP(t *testing.T) {
	message := func(from wire.Role, exchange int, at time.Duration) wire.Frame {
		return wire.Frame{From: from, At: at, Raw: []byte(`{}`), HTTP: &wire.HTTP{Exchange: exchange}}
	}
	listening := wire.Frame{From: wire.Client, HTTP: &wire.HTTP{Exchange: 1, Method: "GET"}}
	v := New(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{
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
	first := v.Entries()[1]
	for at, want := range map[int]bool{0: false, 1: false, 2: false, 3: true, 5: true, 6: true, 7: false, 8: false} {
		if got := v.Follows(v.Entries()[at], first); got != want {
			t.Errorf("entry %d follows: %t, want %t", at, got, want)
		}
	}
	if !v.Follows(v.Entries()[8], v.Entries()[7]) {
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
		v := New(spec.V2025_06_18, wire.TranscriptOf([]wire.Frame{
			{From: wire.Client, Raw: []byte(garbage)},
			{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)},
			{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)},
		}))
		response = v.Entries()[2]
		if _, ok := v.RequestOf(response); ok != known {
			t.Errorf("%q: known is %v", garbage, ok)
		}
	}
}
