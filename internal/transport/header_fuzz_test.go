package transport

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// FuzzFieldValue encodes and decodes values. An encoded value has visible ASCII and inner
// spaces only, and decodes to the original.
func FuzzFieldValue(f *testing.F) {
	for _, v := range []string{
		"", "search", " x", "x\t", "é", "=?base64?eA==?=", "=?base64??=", "a\r\nb: c", "\x00", "\xff", "=?base64?",
		"a b",
	} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		field := EncodeFieldValue(v)
		if strings.ContainsFunc(field, func(r rune) bool {
			return r < ' ' || r > '~'
		}) || field != strings.TrimSpace(field) {
			t.Errorf("%q is encoded as %q, which no field can hold", v, field)
		}
		got := field
		if inner, ok := strings.CutPrefix(field, "=?base64?"); ok && strings.HasSuffix(inner, "?=") {
			raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(inner, "?="))
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != v {
			t.Errorf("%q is encoded as %q, which is %q", v, field, got)
		}
	})
}

// FuzzMediaType asserts that both readers of the media type of an answer agree on whether
// it is an event stream.
func FuzzMediaType(f *testing.F) {
	for _, v := range []string{
		"text/event-stream", "Text/Event-Stream; charset=utf-8", "application/json", "", "text/event-stream;",
		"text/event-stream ;charset",
		"text/event-stream, application/json", " text/event-stream", "text/event-stream; a=\"", "text / event-stream",
		"text/event-stream;a=b;a=c",
	} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		header := http.Header{"Content-Type": {v}}
		reply := HTTPResponse{Header: header}
		recorded := wire.HTTP{Header: header}
		if reply.IsEventStream() != recorded.IsEventStream() {
			t.Errorf("%q: the answer is a stream: %v, its record: %v", v, reply.IsEventStream(),
				recorded.IsEventStream())
		}
		if kind := reply.MediaType(); kind != strings.ToLower(kind) || strings.Contains(kind, ";") {
			t.Errorf("%q has the media type %q", v, kind)
		}
	})
}

// FuzzMirror builds the header fields of arbitrary messages at the stateless
// revision, for a tool with an arbitrary schema: every name is a token, every
// value is one that a field can hold.
func FuzzMirror(f *testing.F) {
	for _, bad := range fixtures.Malformed() {
		f.Add(bad.Bytes, []byte(`{}`))
	}
	schema := `{"properties":{"a":{"x-mcp-header":"A"},` +
		`"b":{"properties":{"c":{"x-mcp-header":"C c"},"d":{"x-mcp-header":"d"}}}}}`
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` +
		`"arguments":{"a":"é","b":{"c":1,"d":1.0}},"_meta":{"io.modelcontextprotocol/protocolVersion":"x\r\n"}}}`
	f.Add([]byte(call), []byte(schema))
	f.Add([]byte(`{"method":"resources/read","params":{"uri":"a:\u0000"}}`), []byte(schema))
	f.Add([]byte(`{"method":"tasks/get\n","params":{"taskId":""}}`), []byte(`{"properties":[{"properties":1}]}`))
	f.Fuzz(func(t *testing.T, raw, schema []byte) {
		m := wire.Parse(raw)
		e := &Endpoint{}
		if wire.Parse(schema).SyntaxError == nil {
			e.toolHeaders.Store(m.Params().Get("name").String(), toolHeadersOf(gjson.ParseBytes(schema)))
		}
		s := &Streamable{Endpoint: e, Rev: spec.V2026_07_28}
		for name, values := range s.requestHeader(m) {
			if !IsToken(name) || len(values) != 1 {
				t.Errorf("field %q has the values %q", name, values)
			}
			for _, v := range values {
				if strings.ContainsFunc(v, func(r rune) bool {
					return r < ' ' || r > '~'
				}) || v != strings.TrimSpace(v) {
					t.Errorf("field %s has the value %q", name, v)
				}
			}
		}
	})
}

// FuzzEndpointEvent reads arbitrary URIs of an endpoint event: messages are
// only ever posted to the origin of the stream.
func FuzzEndpointEvent(f *testing.F) {
	for _, uri := range []string{
		"/messages?session=1", "http://127.0.0.1:8080/m", "//evil.example/m", "\thttp:/\n/127.0.0.1:8080",
		"https://127.0.0.1:8080/", "http://127.0.0.1:8080@evil.example/", ":", "\\\\evil.example",
		"HTTP://127.0.0.1:08080/",
	} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		base, err := url.Parse("http://127.0.0.1:8080/sse")
		if err != nil {
			t.Fatal(err)
		}
		s := &LegacySSE{Endpoint: &Endpoint{URL: base}, decided: make(chan struct{})}
		s.setMessageURL(s.resolve(uri))
		to, err := s.MessageURL(t.Context())
		if err == nil && (to.Scheme != "http" || to.Host != "127.0.0.1:8080") {
			t.Errorf("%q names %s", uri, to)
		}
		if (to == nil) == (err == nil) {
			t.Errorf("%q gives %v, %v", uri, to, err)
		}
	})
}
