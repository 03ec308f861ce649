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

// versioned are the handshake revisions in which requests name the version in a
// header (basic/transports#protocol-version-header).
var versioned = spec.Since(spec.V2025_06_18) & spec.Handshake

// header returns the fields that a message is sent with; of the zero message, those
// of every request of the session.
func (r *remote) header(m wire.Message) http.Header {
	h := http.Header{}
	if r.sse {
		return h
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if version := wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion); version.Exists() && m.Kind == wire.Request {
		h.Set("MCP-Protocol-Version", version.String())
		r.repeat(h, m)
		return h
	}
	if r.session != "" && m.Method() != "initialize" {
		h.Set("Mcp-Session-Id", r.session)
	}
	if versioned.Has(r.rev) && m.Method() != "initialize" {
		h.Set("MCP-Protocol-Version", string(r.rev))
	}
	return h
}

// repeat sets the fields that repeat what a request of the stateless era says
// (basic/transports/streamable-http#standard-request-headers).
func (r *remote) repeat(h http.Header, m wire.Message) {
	h.Set("Mcp-Method", fieldValue(m.Method()))
	switch params := m.Params(); m.Method() {
	case "tools/call", "prompts/get":
		h.Set("Mcp-Name", fieldValue(params.Get("name").String()))
	case "resources/read":
		h.Set("Mcp-Name", fieldValue(params.Get("uri").String()))
	}
	if m.Method() != "tools/call" {
		return
	}
	for _, p := range r.params[m.Params().Get("name").String()] {
		v := m.Params().Get("arguments")
		for _, member := range p.path {
			v = wire.Member(v, member)
		}
		if v.Type == gjson.String || v.Type == gjson.Number || v.IsBool() {
			h[textproto.CanonicalMIMEHeaderKey("Mcp-Param-"+p.name)] = []string{fieldValue(v.String())}
		}
	}
}

// fieldValue is a value as a field may carry it: in Base64 between marks where it
// holds what a field cannot (basic/transports/streamable-http#value-encoding).
func fieldValue(v string) string {
	odd := strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' })
	if odd || strings.TrimSpace(v) != v || strings.HasPrefix(v, "=?base64?") && strings.HasSuffix(v, "?=") {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
	}
	return v
}

// A copied is an argument of a tool that a header repeats
// (basic/transports/streamable-http#custom-headers-from-tool-parameters).
type copied struct {
	path []string
	name string
}

// learn notes of a list of tools which arguments go into headers.
func (r *remote) learn(asked, answer wire.Message) {
	if asked.Method() != "tools/list" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tool := range answer.Result().Get("tools").Array() {
		r.params[tool.Get("name").String()] = copies(tool.Get("inputSchema"), nil)
	}
}

func copies(schema gjson.Result, path []string) (out []copied) {
	schema.Get("properties").ForEach(func(name, property gjson.Result) bool {
		at := append(path[:len(path):len(path)], name.String())
		if h := property.Get("x-mcp-header"); h.Type == gjson.String && h.Str != "" {
			out = append(out, copied{at, h.Str})
		}
		out = append(out, copies(property, at)...)
		return true
	})
	return out
}
