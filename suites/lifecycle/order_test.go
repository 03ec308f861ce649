package lifecycle

import (
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// posted is a message that a server took over a connection.
func posted(exchange int, conn, raw string, at time.Duration) wire.Frame {
	return wire.Frame{From: wire.Client, Raw: []byte(raw), At: at, HTTP: &wire.HTTP{Exchange: exchange, Conn: conn, Method: "POST"}}
}

// Over HTTP messages on two connections come in any order; only what one connection
// or time tells is held against a client.
func TestOrderIsTakenFromOneConnectionOrFromTime(t *testing.T) {
	const (
		open    = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		ready   = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		list    = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
		probe   = `{"jsonrpc":"2.0","id":3,"method":"server/discover"}`
		ms      = time.Millisecond
		first   = "client.lifecycle.initialize.first"
		waits   = "client.lifecycle.waits"
		settled = "client.lifecycle.initialized"
	)
	opened := wire.Frame{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`), HTTP: &wire.HTTP{Exchange: 1, Status: 200}}
	for name, c := range map[string]struct {
		frames []wire.Frame
		fail   string // the one of the three that objects, or ""
	}{
		"in order":                           {[]wire.Frame{posted(1, "a", open, 0), opened, posted(2, "a", ready, 0), posted(3, "a", list, 0)}, ""},
		"a probe on another connection":      {[]wire.Frame{posted(5, "b", probe, 0), posted(1, "a", open, ms), opened, posted(2, "a", ready, 2*ms), posted(3, "a", list, 3*ms)}, ""},
		"too early on one connection":        {[]wire.Frame{posted(5, "a", list, 0), posted(1, "a", open, ms), opened, posted(2, "a", ready, 2*ms)}, first},
		"too early by a second":              {[]wire.Frame{posted(5, "b", list, 0), posted(1, "a", open, 1100*ms), opened, posted(2, "a", ready, 1200*ms)}, first},
		"at once":                            {[]wire.Frame{posted(5, "b", list, 0), posted(1, "a", open, ms), opened, posted(2, "a", ready, 2*ms)}, waits},
		"initialized overtaken":              {[]wire.Frame{posted(1, "a", open, 0), opened, posted(3, "b", list, ms), posted(2, "a", ready, 2*ms)}, ""},
		"initialized late on one connection": {[]wire.Frame{posted(1, "a", open, 0), opened, posted(3, "a", list, ms), posted(2, "a", ready, 2*ms)}, settled},
	} {
		t.Run(name, func(t *testing.T) {
			for _, k := range clientOpeningJudges() {
				if k.ID != first && k.ID != waits && k.ID != settled {
					continue
				}
				k.Of = wire.Client
				out := check.Look(k, spec.V2025_11_25, wire.TranscriptOf(c.frames))
				if objects := out.State == check.Violated; objects != (k.ID == c.fail) {
					t.Errorf("%s is %v: %s", k.ID, out.State, out.Detail)
				}
			}
		})
	}
}
