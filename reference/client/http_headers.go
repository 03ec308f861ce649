package client

import (
	"encoding/base64"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// versionHeaderRevisions are the handshake revisions in which requests name the
// version in a header (basic/transports#protocol-version-header).
var versionHeaderRevisions = spec.Since(spec.V2025_06_18) & spec.Handshake

// header returns the headers that a message is sent with; for the zero message,
// those of every request of the session.
func (l *httpLink) header(m wire.Message) http.Header {
	h := http.Header{}
	if l.sse {
		return h
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	version := wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion)
	if version.Exists() && m.Kind == wire.Request {
		h.Set("MCP-Protocol-Version", version.String())
		l.setRequestHeaders(h, m)
		return h
	}
	if l.sessionID != "" && m.Method() != "initialize" {
		h.Set("Mcp-Session-Id", l.sessionID)
	}
	if versionHeaderRevisions.Has(l.revision) && m.Method() != "initialize" {
		h.Set("MCP-Protocol-Version", string(l.revision))
	}
	return h
}

// setRequestHeaders sets the headers that repeat members of a stateless request
// (basic/transports/streamable-http#standard-request-headers).
func (l *httpLink) setRequestHeaders(h http.Header, m wire.Message) {
	h.Set("Mcp-Method", headerValue(m.Method()))
	params := m.Params()
	switch m.Method() {
	case "tools/call", "prompts/get":
		h.Set("Mcp-Name", headerValue(params.Get("name").String()))
	case "resources/read":
		h.Set("Mcp-Name", headerValue(params.Get("uri").String()))
	}
	if m.Method() != "tools/call" {
		return
	}
	for _, a := range l.headerParams[params.Get("name").String()] {
		v := params.Get("arguments")
		for _, member := range a.path {
			v = wire.Member(v, member)
		}
		if v.Type == gjson.String || v.Type == gjson.Number || v.IsBool() {
			h[textproto.CanonicalMIMEHeaderKey("Mcp-Param-"+a.header)] = []string{headerValue(v.String())}
		}
	}
}

// headerValue returns a value as a header can hold it: encoded in Base64 if it holds
// what a header cannot (basic/transports/streamable-http#value-encoding).
func headerValue(v string) string {
	hasOther := strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' })
	looksEncoded := strings.HasPrefix(v, "=?base64?") && strings.HasSuffix(v, "?=")
	if hasOther || looksEncoded || strings.TrimSpace(v) != v {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
	}
	return v
}

// An argument is an argument of a tool that a header repeats
// (basic/transports/streamable-http#custom-headers-from-tool-parameters).
type argument struct {
	path   []string
	header string
}

// learnHeaderParams records which arguments of the listed tools headers repeat.
func (l *httpLink) learnHeaderParams(request, response wire.Message) {
	if request.Method() != "tools/list" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tool := range response.Result().Get("tools").Array() {
		l.headerParams[tool.Get("name").String()] = annotatedArguments(tool.Get("inputSchema"), nil)
	}
}

// annotatedArguments returns the arguments of a schema that headers repeat. path
// leads to the schema.
func annotatedArguments(schema gjson.Result, path []string) (out []argument) {
	schema.Get("properties").ForEach(func(name, property gjson.Result) bool {
		at := append(path[:len(path):len(path)], name.String())
		if h := property.Get("x-mcp-header"); h.Type == gjson.String && h.Str != "" {
			out = append(out, argument{at, h.Str})
		}
		out = append(out, annotatedArguments(property, at)...)
		return true
	})
	return out
}
