package catalog

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A prompt may use an argument as a URI. The client sent the argument, so that an invalid
// URI is no violation of the server.
func TestAcceptsPromptThatEchoesArguments(t *testing.T) {
	for _, c := range []struct {
		argument string
		want     check.State
	}{{"1 2", check.NotObserved}, {"other", check.Violated}} {
		got := judgeFrames(t, "prompts.resource.uri", spec.V2025_11_25,
			`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":`+
				`{"name":"p","arguments":{"uri":"`+c.argument+`"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"resource","resource":`+
				`{"uri":"1 2","mimeType":"text/plain","text":"x"}}}]}}`)
		if got.State != c.want {
			t.Errorf("with the argument %q: %v: %s", c.argument, got.State, got.Detail)
		}
	}
}
