package catalog

import (
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Who is refused our answer by HTTP may cancel what it still waits for.
func TestAcceptsCancellationAfterRefusedAnswer(t *testing.T) {
	for status, want := range map[int]check.State{202: check.Violated, 429: check.Kept, 503: check.Kept} {
		var w wireTap
		w.ask(1, "GET", "")
		w.streams(1)
		w.event(1, "", asksRoot)
		w.post(2, `{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}`)
		w.status(2, status)
		w.post(3, stroll)
		w.json(3, strolled)
		w.event(1, "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r"}}`)
		w[len(w)-1].At = 2 * time.Second
		c := find(t, "cancellation.sent.in-progress")
		if o := check.Judge(c, spec.V2025_11_25, wire.TranscriptOf(w)); o.State != want {
			t.Errorf("our answer was answered with %d: state %d, want %d: %s", status, o.State, want, o.Detail)
		}
	}
}
