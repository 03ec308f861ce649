package fuzz

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The server must answer valid requests with unambiguous ids. For other frames no answer
// is required.
func TestRequiredAnswersCountUnambiguousRequests(t *testing.T) {
	request := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for text, want := range map[string]int{
		request: 1,
		request + "\n" + `{"jsonrpc":"2.0","id":2,"method":"no/such","params":"x"}`: 2,
		request + "\n" + request: 0, // one answer does not show which request it answers
		request + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`: 0,
		request + "\r": 0,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`:                      0,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                             0,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                          0,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:              0,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}`:     0,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`: 0,
		`[` + request + `,{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`:     2,
		`[` + request + `,{"jsonrpc":"2.0","id":{},"method":"tools/list"}]`:    0,
		`{"jsonrpc":"2.0","method":"ping"}`:                                    0,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                 0,
		`{"jsonrpc":"2.0","id":1,"method":`:                                    0,
	} {
		messages := script{writes: [][]byte{[]byte(text + "\n")}}.messages()
		if got := requiredAnswers(messages, spec.V2025_03_26.Facts()); len(got) != want {
			t.Errorf("%s: required answers %v, want %d", text, got, want)
		}
	}
}
