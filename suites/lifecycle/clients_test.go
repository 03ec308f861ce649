package lifecycle

import (
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// posted returns the frame of a message that a server received over a connection.
func posted(exchange int, conn, raw string, at time.Duration) wire.Frame {
	http := &wire.HTTP{Exchange: exchange, Conn: conn, Method: "POST"}
	return wire.Frame{From: wire.Client, Raw: []byte(raw), At: at, HTTP: http}
}

const (
	open = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	result = `{"jsonrpc":"2.0","id":1,"result":` +
		`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	list        = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	discover    = `{"jsonrpc":"2.0","id":3,"method":"server/discover"}`
	ms          = time.Millisecond

	initializeFirst      = "lifecycle.client.initialize.first"
	waitsForAnswer       = "lifecycle.client.initialize.awaited"
	initializedIsInOrder = "lifecycle.client.initialized"
)

var opened = wire.Frame{From: wire.Server, Raw: []byte(result), HTTP: &wire.HTTP{Exchange: 1, Status: 200}}

var orderCases = map[string]struct {
	frames []wire.Frame
	fail   string // the one of the three checks that fails, or ""
}{
	"in order": {
		[]wire.Frame{posted(1, "a", open, 0), opened, posted(2, "a", initialized, 0), posted(3, "a", list, 0)}, "",
	},
	"server/discover on another connection": {
		[]wire.Frame{
			posted(5, "b", discover, 0), posted(1, "a", open, ms), opened,
			posted(2, "a", initialized, 2*ms), posted(3, "a", list, 3*ms),
		}, "",
	},
	"too early on one connection": {
		[]wire.Frame{posted(5, "a", list, 0), posted(1, "a", open, ms), opened, posted(2, "a", initialized, 2*ms)},
		initializeFirst,
	},
	"too early by a second": {
		[]wire.Frame{
			posted(5, "b", list, 0), posted(1, "a", open, 1100*ms), opened, posted(2, "a", initialized, 1200*ms),
		},
		initializeFirst,
	},
	"concurrent": {
		[]wire.Frame{posted(5, "b", list, 0), posted(1, "a", open, ms), opened, posted(2, "a", initialized, 2*ms)},
		waitsForAnswer,
	},
	"initialized after a later request, on two connections": {
		[]wire.Frame{posted(1, "a", open, 0), opened, posted(3, "b", list, ms), posted(2, "a", initialized, 2*ms)},
		"",
	},
	"initialized late on one connection": {
		[]wire.Frame{posted(1, "a", open, 0), opened, posted(3, "a", list, ms), posted(2, "a", initialized, 2*ms)},
		initializedIsInOrder,
	},
}

// Over HTTP the messages of two connections arrive in any order. A client fails only if one
// connection has the wrong order, or if a second lies between the messages.
func TestClientJudgesOrderMessagesByConnectionAndTime(t *testing.T) {
	for name, c := range orderCases {
		t.Run(name, func(t *testing.T) {
			for _, k := range clientOpeningJudges() {
				if k.ID != initializeFirst && k.ID != waitsForAnswer && k.ID != initializedIsInOrder {
					continue
				}
				k.Of = wire.Client
				out := check.Judge(k, spec.V2025_11_25, wire.TranscriptOf(c.frames))
				if violated := out.State == check.Violated; violated != (k.ID == c.fail) {
					t.Errorf("%s is %v: %s", k.ID, out.State, out.Detail)
				}
			}
		})
	}
}
