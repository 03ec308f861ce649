package transport

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Whatever a message says, it can be posted.
func TestAVersionThatNoHeaderCarriesIsNotRepeated(t *testing.T) {
	for named, want := range map[string]string{
		`"2026-07-28"`:   "2026-07-28",
		`"1900-01-01"`:   "1900-01-01",
		`"a\nb\r\nc"`:    "2026-07-28",
		`"a\u0000b"`:     "2026-07-28",
		`"\ud83d\udea2"`: "2026-07-28",
		`" padded"`:      "2026-07-28",
		`20260728`:       "2026-07-28",
	} {
		s := &Streamable{Rev: spec.V2026_07_28}
		m := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":` + named + `}}}`))
		if got := s.header(m).Get("Mcp-Protocol-Version"); got != want {
			t.Errorf("%s is repeated as %q, not %q", named, got, want)
		}
	}
}
