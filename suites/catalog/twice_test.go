package catalog

import (
	"net/http"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A response with an unknown id violates the rule of ids. The stream still has its
// response.
func TestUnknownIDIsNotAMissingResponse(t *testing.T) {
	const id = `9007199254740993`
	for _, c := range []struct {
		response string
		want     check.State
	}{
		{`{"jsonrpc":"2.0","id":9007199254740992,"result":{}}`, check.Kept},
		{`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`, check.Kept},
		{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`, check.Violated},
	} {
		session := wire.TranscriptOf([]wire.Frame{
			{
				From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`),
				HTTP: &wire.HTTP{Exchange: 2, Method: http.MethodPost},
			},
			{From: wire.Server, HTTP: &wire.HTTP{
				Exchange: 2, Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
			}},
			{
				From: wire.Server, Raw: []byte(c.response),
				HTTP: &wire.HTTP{Exchange: 2, Event: &wire.Event{Type: "message"}},
			},
			{From: wire.Server, HTTP: &wire.HTTP{Exchange: 2, EndReason: wire.EndedByPeer, Final: true}},
			{
				From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":7,"method":"ping"}`),
				HTTP: &wire.HTTP{Exchange: 3, Method: http.MethodPost},
			},
			{
				From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":7,"result":{}}`),
				HTTP: &wire.HTTP{Exchange: 3, Status: http.StatusOK},
			},
		})
		k := find(t, "streamable-http.stream.response")
		if o := check.Judge(k, spec.V2025_11_25, session); o.State != c.want {
			t.Errorf("%s: state %d, want %d: %s", c.response, o.State, c.want, o.Detail)
		}
	}
}

// A server may treat an empty header as missing and answer it with -32020. A header that
// repeats the value of the body is not missing.
func TestAcceptsEmptyNameHeaderAsMissing(t *testing.T) {
	for uri, want := range map[string]check.State{"": check.NotObserved, "notes://index": check.Violated} {
		session := wire.TranscriptOf([]wire.Frame{
			{From: wire.Client, HTTP: &wire.HTTP{Exchange: 1, Method: http.MethodPost, Header: http.Header{
				"Mcp-Method": {"resources/read"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Name": {uri},
			}}, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri +
				`","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)},
			{
				From: wire.Server, HTTP: &wire.HTTP{Exchange: 1, Status: http.StatusBadRequest},
				Raw: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"missing Mcp-Name"}}`),
			},
		})
		k := find(t, "jsonrpc.code.mcp.meaning")
		if o := check.Judge(k, spec.V2026_07_28, session); o.State != want {
			t.Errorf("with the uri %q: state %d, want %d: %s", uri, o.State, want, o.Detail)
		}
	}
}
