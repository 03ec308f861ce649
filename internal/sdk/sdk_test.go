package sdk

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func all(t *testing.T) []SDK {
	t.Helper()
	sdks, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return sdks
}

// A deviation is listed only if the adjudicated verdicts on a server with the SDK show it.
func TestKnownDeviationsAreAdjudicated(t *testing.T) {
	for _, s := range all(t) {
		shown := make(map[string]bool)
		for _, target := range s.Targets {
			f, err := os.Open(filepath.Join("../../interop/verdicts", target+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for lines := bufio.NewScanner(f); lines.Scan(); {
				var verdict struct{ Check string }
				if err := json.Unmarshal(lines.Bytes(), &verdict); err != nil {
					t.Fatalf("%s: %v", target, err)
				}
				shown[verdict.Check] = true
			}
		}
		for _, check := range s.Checks {
			if !shown[check] {
				t.Errorf("%s: %s is in no verdict on %v", s.Name, check, s.Targets)
			}
		}
		if len(s.Checks) == 0 || len(s.Errors) == 0 {
			t.Errorf("%s has no checks or no patterns", s.Name)
		}
	}
}

func failure(message string) wire.Message {
	text, _ := json.Marshal(message)
	return wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":` + string(text) + `}}`))
}

func TestRecognize(t *testing.T) {
	for message, want := range map[string]string{
		"[\n  {\n    \"code\": \"invalid_type\"": "TypeScript SDK",
		"MCP error -32602: Tool x not found":     "TypeScript SDK",
		"Unknown prompt: x":                      "Python SDK",
		"method not found: \"tools/call\"":       "Go SDK",
		"tool 'x' not found: tool not found":     "mcp-go",
		"Method x not found":                     "mcp-go",
		"tools/call":                             "Rust SDK",
		"Method not found":                       "",
		"Resource not found":                     "",
	} {
		got := ""
		if s := Recognize(all(t), []wire.Message{failure("nothing"), failure(message)}); s != nil {
			got = s.Name
		}
		if got != want {
			t.Errorf("%q is of %q, want %q", message, got, want)
		}
	}
	both := []wire.Message{failure("MCP error -32602: x"), failure("method not found: \"x\"")}
	if s := Recognize(all(t), both); s != nil {
		t.Errorf("errors of two SDKs are of %s", s.Name)
	}
	result := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"message":"MCP error -32602: x"}}`))
	if s := Recognize(all(t), []wire.Message{result}); s != nil {
		t.Errorf("a result is an error of %s", s.Name)
	}
}
