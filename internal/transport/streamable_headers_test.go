package transport

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A version that no header field can carry is replaced, so that the message can be
// posted.
func TestVersionHeaderOmitsInvalidVersions(t *testing.T) {
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
		m := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` +
			spec.MetaProtocolVersion + `":` + named + `}}}`))
		if got := s.requestHeader(m).Get("Mcp-Protocol-Version"); got != want {
			t.Errorf("%s is repeated as %q, want %q", named, got, want)
		}
	}
}

// The header of a stateless request repeats parts of its message.
func TestHeadersRepeatTheMessage(t *testing.T) {
	var mu sync.Mutex
	got := map[string]http.Header{}
	s, r := link(t, spec.V2026_07_28, func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		m := wire.Parse(body)
		mu.Lock()
		got[m.ID().Raw] = q.Header
		mu.Unlock()
		result := `{}`
		if m.Method() == "tools/list" {
			result = `{"tools":[{"name":"t","inputSchema":{"properties":{
				"a":{"x-mcp-header":"Region"}, "b":{"x-mcp-header":"No name"},
				"o":{"properties":{"n":{"x-mcp-header":"N"}}}, "z":{"x-mcp-header":"Z"}}}}]}`
		}
		json(w, 200, `{"jsonrpc":"2.0","id":`+m.ID().Raw+`,"result":`+result+`}`)
	})
	for i, raw := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
			"name":"t","arguments":{"a":"Grüße","b":"x","o":{"n":42},"z":null}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{
			"uri":"x:=?base64?y?=","_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}`,
	} {
		send(t, s, raw)
		r.answer(t, fmt.Sprint(i))
	}
	for id, want := range map[string]map[string]string{
		"0": {
			"Mcp-Method": "tools/list", "Mcp-Name": "", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Session-Id": "",
		},
		"1": {
			"Mcp-Method": "tools/call", "Mcp-Name": "t",
			"Mcp-Param-Region": "=?base64?R3LDvMOfZQ==?=", "Mcp-Param-N": "42", "Mcp-Param-Z": "",
		},
		"2": {"Mcp-Name": "x:=?base64?y?=", "Mcp-Protocol-Version": "1900-01-01"},
	} {
		for key, value := range want {
			if have := got[id].Get(key); have != value {
				t.Errorf("request %s: %s is %q, want %q", id, key, have, value)
			}
		}
	}

	// Another session at the endpoint knows the tools too.
	other := &Streamable{Endpoint: s.Endpoint, Rev: s.Rev}
	other.Open()
	m := wire.Parse([]byte(
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{"a":"x"}}}`))
	call, err := other.NewPostRequest(t.Context(), m)
	if err != nil || call.Header.Get("Mcp-Param-Region") != "x" {
		t.Errorf("another session posts with %v, %v", call.Header, err)
	}
}

func TestEncodeFieldValue(t *testing.T) {
	for v, want := range map[string]string{
		"us-west1":           "us-west1",
		"a b":                "a b",
		"":                   "",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
	} {
		if got := EncodeFieldValue(v); got != want {
			t.Errorf("%q is encoded as %q, want %q", v, got, want)
		}
	}
}

// Header values of the user are sent to the server, but not recorded.
func TestHeaderValuesOfTheUserAreNotRecorded(t *testing.T) {
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		got <- q.Header.Get("X-Api-Key")
		w.WriteHeader(202)
	}))
	defer server.Close()
	e, err := NewEndpoint(server.URL, HTTPOptions{Header: http.Header{"X-Api-Key": {"s3cret word"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{more: make(chan struct{})}
	s := &Streamable{Endpoint: e, Rev: spec.V2025_11_25, Record: r.record}
	s.Open()
	defer s.Close(t.Context())
	send(t, s, `{"jsonrpc":"2.0","method":"notifications/x"}`)
	sent := r.await(t, func(f wire.Frame) bool { return f.From == wire.Client })
	if key := <-got; key != "s3cret word" || sent.HTTP.Header["X-Api-Key"][0] != "…" {
		t.Errorf("sent %q, recorded %q", key, sent.HTTP.Header)
	}
}
