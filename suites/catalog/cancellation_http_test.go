package catalog

import (
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A server that refused the answer of the client by HTTP may cancel its request.
func TestAcceptsCancellationAfterRefusedAnswer(t *testing.T) {
	for status, want := range map[int]check.State{
		200: check.Violated, 202: check.Violated, 204: check.Violated, 299: check.Violated,
		300: check.Kept, 400: check.Kept, 429: check.Kept, 503: check.Kept,
	} {
		var w httpFrames
		w.request(1, "GET", "")
		w.openStream(1)
		w.event(1, "", rootsRequest)
		w.post(2, `{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}`)
		w.status(2, status)
		w.post(3, secondCall)
		w.json(3, secondResult)
		w.event(1, "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r"}}`)
		w[len(w)-1].At = 2 * time.Second
		c := find(t, "cancellation.sent.in-progress")
		if o := check.Judge(c, spec.V2025_11_25, wire.TranscriptOf(w)); o.State != want {
			t.Errorf("answer refused with %d: state %d, want %d: %s", status, o.State, want, o.Detail)
		}
	}
}
