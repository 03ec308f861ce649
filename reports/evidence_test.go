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
	rounded := message(wire.Server, `{"jsonrpc":"2.0","id":9007199254740992,"result":{}}`)
	large := message(wire.Client, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`)
	batch := message(wire.Client, `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`)
	answers := message(wire.Server, `[{"jsonrpc":"2.0","id":7,"result":{}}]`)
	question := message(wire.Server, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	refusal := message(wire.Client, `{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"no"}}`)
	for name, c := range map[string]struct {
		frames         []wire.Frame
		marked         int
		client, server string
	}{
		"answer":     {[]wire.Frame{request, other, answer}, 2, string(request.Raw), string(answer.Raw)},
		"request":    {[]wire.Frame{request, other, progress, answer}, 0, string(request.Raw), string(answer.Raw)},
		"unanswered": {[]wire.Frame{request, other, answer}, 1, string(other.Raw), ""},
		"answer of another id": {
			[]wire.Frame{large, request, rounded, answer}, 2, string(large.Raw), string(rounded.Raw),
		},
		"answers of a batch": {
			[]wire.Frame{batch, request, answers, answer}, 2, string(batch.Raw), string(answers.Raw),
		},
		"request of the server": {
			[]wire.Frame{request, refusal, question}, 2, string(request.Raw), string(question.Raw),
		},
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
