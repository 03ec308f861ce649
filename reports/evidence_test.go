package reports

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestEvidence(t *testing.T) {
	message := func(from wire.Role, raw string) wire.Frame { return wire.Frame{From: from, Raw: []byte(raw)} }
	request := message(wire.Client, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	other := message(wire.Client, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	answer := message(wire.Server, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	progress := message(wire.Server, `{"jsonrpc":"2.0","method":"notifications/progress"}`)
	for name, c := range map[string]struct {
		frames         []wire.Frame
		marked         int
		client, server string
	}{
		"answer":          {[]wire.Frame{request, other, answer}, 2, string(request.Raw), string(answer.Raw)},
		"request":         {[]wire.Frame{request, other, progress, answer}, 0, string(request.Raw), string(answer.Raw)},
		"unanswered":      {[]wire.Frame{request, other, answer}, 1, string(other.Raw), ""},
		"notification":    {[]wire.Frame{request, other, progress}, 2, string(other.Raw), string(progress.Raw)},
		"nothing before":  {[]wire.Frame{progress}, 0, "", string(progress.Raw)},
		"no marked frame": {[]wire.Frame{request, answer}, -1, "", ""},
	} {
		frames := append([]wire.Frame(nil), c.frames...)
		if c.marked >= 0 {
			frames[c.marked].Marked = true
		}
		if client, server := evidence(frames); client != c.client || server != c.server {
			t.Errorf("%s: %q and %q, want %q and %q", name, client, server, c.client, c.server)
		}
	}
}
