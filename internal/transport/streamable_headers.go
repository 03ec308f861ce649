package transport

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/textproto"
	"strings"
	"syscall"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A toolHeader is a header field that repeats an argument of a tool
// (basic/transports/streamable-http#custom-headers-from-tool-parameters, since
// 2026-07-28).
type toolHeader struct {
	path   []string // of the argument, from the arguments object down
	header string
}

// toolHeadersOf returns the header fields that an input schema names in its
// properties and their properties.
func toolHeadersOf(schema gjson.Result) []toolHeader {
	var out []toolHeader
	var walk func(s gjson.Result, path []string)
	walk = func(s gjson.Result, path []string) {
		s.Get("properties").ForEach(func(name, property gjson.Result) bool {
			at := append(path[:len(path):len(path)], name.String())
			if h := property.Get("x-mcp-header"); h.Type == gjson.String && IsToken(h.Str) {
				out = append(out, toolHeader{at, "Mcp-Param-" + h.Str})
			}
			walk(property, at)
			return true
		})
	}
	walk(schema, nil)
	return out
}

// IsToken reports whether a text may be the name of a header field (RFC 9110 section
// 5.6.2).
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !strings.ContainsRune(tchar, c) })
}

const tchar = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// requestHeader returns the header fields of the POST of a message; for the zero
// message those of any request of the session.
func (s *Streamable) requestHeader(m wire.Message) http.Header {
	h := http.Header{}
	if m.Raw != nil {
		h.Set("Content-Type", "application/json")
		h.Set("Accept", "application/json, text/event-stream")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.Rev.Facts()
	if s.sessionID != "" {
		h.Set("Mcp-Session-Id", s.sessionID)
	}
	switch {
	case f.Stateless:
		s.mirrorMessage(h, m)
	case f.VersionHeader && s.initialized && m.Method() != "initialize":
		h.Set("Mcp-Protocol-Version", string(s.Rev))
	}
	return h
}

// mirrorMessage sets the header fields that repeat parts of the message
// (basic/transports/streamable-http#request-metadata).
func (s *Streamable) mirrorMessage(h http.Header, m wire.Message) {
	version := string(s.Rev)
	// A version that no header field can carry has no encoded form. The field then
	// names the revision of the session, and the server sees the difference.
	named := wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion)
	if named.Type == gjson.String && EncodeFieldValue(named.Str) == named.Str {
		version = named.Str
	}
	h.Set("Mcp-Protocol-Version", version)
	method := m.Method()
	if method == "" {
		return
	}
	h.Set("Mcp-Method", EncodeFieldValue(method))
	if param := nameParam(method); param != "" {
		if name := m.Params().Get(param); name.Type == gjson.String {
			h.Set("Mcp-Name", EncodeFieldValue(name.Str))
		}
	}
	if method == "tools/call" {
		s.mirrorArguments(h, m)
	}
}

// nameParam returns the param of a request that Mcp-Name repeats; "" for none.
func nameParam(method string) string {
	switch {
	case method == "tools/call", method == "prompts/get":
		return "name"
	case method == "resources/read":
		return "uri"
	case strings.HasPrefix(method, "tasks/"): // SEP-2663, routing headers
		return "taskId"
	}
	return ""
}

// mirrorArguments sets the header fields that repeat the arguments of a tool.
func (s *Streamable) mirrorArguments(h http.Header, m wire.Message) {
	known, _ := s.Endpoint.toolHeaders.Load(m.Params().Get("name").String())
	headers, _ := known.([]toolHeader)
	for _, t := range headers {
		v := m.Params().Get("arguments")
		for _, member := range t.path {
			v = wire.Member(v, member)
		}
		if v.Exists() && v.Type != gjson.Null && v.Type != gjson.JSON {
			h[textproto.CanonicalMIMEHeaderKey(t.header)] = []string{EncodeFieldValue(v.String())}
		}
	}
}

// EncodeFieldValue returns the form of a value that a header field can carry: the
// value itself, or its Base64 between marks if it contains characters that a field
// cannot carry or looks like an encoded value
// (basic/transports/streamable-http#value-encoding).
func EncodeFieldValue(v string) string {
	encoded := strings.HasPrefix(v, "=?base64?") && strings.HasSuffix(v, "?=")
	plain := v == strings.Trim(v, " \t") && !encoded
	for i := 0; plain && i < len(v); i++ {
		plain = v[i] >= ' ' && v[i] <= '~'
	}
	if plain {
		return v
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
}

// isConnectionRefused reports whether no server accepts connections at the address.
func isConnectionRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
