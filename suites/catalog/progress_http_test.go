package catalog

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A report after the answer is late on the same stream only. Messages of two connections
// have no order.
func TestProgressOnAnotherConnectionIsNotLate(t *testing.T) {
	frame := func(from wire.Role, exchange int, raw string) wire.Frame {
		return wire.Frame{From: from, Raw: []byte(raw), HTTP: &wire.HTTP{Exchange: exchange}}
	}
	for exchange, want := range map[int]check.State{2: check.Violated, 1: check.NotObserved} {
		session := wire.TranscriptOf([]wire.Frame{
			frame(wire.Client, 2, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+
				`{"name":"x","_meta":{"progressToken":"t"}}}`),
			frame(wire.Server, 2, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`),
			frame(wire.Server, exchange, `{"jsonrpc":"2.0","method":"notifications/progress","params":`+
				`{"progressToken":"t","progress":1}}`),
		})
		c := find(t, "progress.ended")
		if o := check.Judge(c, spec.V2025_11_25, session); o.State != want {
			t.Errorf("a report in exchange %d: state %d, want %d: %s", exchange, o.State, want, o.Detail)
		}
	}
}
