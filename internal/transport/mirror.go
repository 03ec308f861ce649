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

// A mirrored is an argument of a tool that goes into a header
// (basic/transports/streamable-http#custom-headers-from-tool-parameters, since
// 2026-07-28).
type mirrored struct {
	path   []string // members from the arguments down
	header string
}

// mirroredBy returns the arguments that a schema annotates with the name of a
// header, along chains of properties only.
func mirroredBy(schema gjson.Result) []mirrored {
	var out []mirrored
	var walk func(s gjson.Result, path []string)
	walk = func(s gjson.Result, path []string) {
		s.Get("properties").ForEach(func(name, property gjson.Result) bool {
			at := append(path[:len(path):len(path)], name.String())
			if h := property.Get("x-mcp-header"); h.Type == gjson.String && IsToken(h.Str) {
				out = append(out, mirrored{at, "Mcp-Param-" + h.Str})
			}
			walk(property, at)
			return true
		})
	}
	walk(schema, nil)
	return out
}

// IsToken tells whether a text may be the name of a header field (RFC 9110
// section 5.6.2).
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !strings.ContainsRune(tchar, c) })
}

const tchar = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// header returns the fields that a message is posted with. Those of the
// session alone are given for what is no message.
func (s *Streamable) header(m wire.Message) http.Header {
	h := http.Header{}
	if m.Raw != nil {
		h.Set("Content-Type", "application/json")
		h.Set("Accept", "application/json, text/event-stream")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.Rev.Facts()
	if s.session != "" {
		h.Set("Mcp-Session-Id", s.session)
	}
	switch {
	case f.Stateless:
		s.mirror(h, m)
	case f.VersionHeader && s.agreed && m.Method() != "initialize":
		h.Set("Mcp-Protocol-Version", string(s.Rev))
	}
	return h
}

// mirror sets the fields that repeat what the message says
// (basic/transports/streamable-http#request-metadata).
func (s *Streamable) mirror(h http.Header, m wire.Message) {
	version := string(s.Rev)
	// A version that no header could carry has no other form there: the server is
	// left to see that it differs.
	if named := wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion); named.Type == gjson.String && FieldValue(named.Str) == named.Str {
		version = named.Str
	}
	h.Set("Mcp-Protocol-Version", version)
	method := m.Method()
	if method == "" {
		return
	}
	h.Set("Mcp-Method", FieldValue(method))
	switch name, uri, task := m.Params().Get("name"), m.Params().Get("uri"), m.Params().Get("taskId"); {
	case (method == "tools/call" || method == "prompts/get") && name.Type == gjson.String:
		h.Set("Mcp-Name", FieldValue(name.Str))
	case method == "resources/read" && uri.Type == gjson.String:
		h.Set("Mcp-Name", FieldValue(uri.Str))
	case strings.HasPrefix(method, "tasks/") && task.Type == gjson.String: // SEP-2663, routing headers
		h.Set("Mcp-Name", FieldValue(task.Str))
	}
	if method != "tools/call" {
		return
	}
	known, _ := s.Endpoint.mirrors.Load(m.Params().Get("name").String())
	arguments, _ := known.([]mirrored)
	for _, p := range arguments {
		v := m.Params().Get("arguments")
		for _, member := range p.path {
			v = wire.Member(v, member)
		}
		if v.Exists() && v.Type != gjson.Null && v.Type != gjson.JSON {
			h[textproto.CanonicalMIMEHeaderKey(p.header)] = []string{FieldValue(v.String())}
		}
	}
}

// FieldValue returns a value as a header field may carry it: itself, or in
// Base64 between marks where it holds what a field cannot, or looks like such a
// value (basic/transports/streamable-http#value-encoding).
func FieldValue(v string) string {
	plain := v == strings.Trim(v, " \t") && !(strings.HasPrefix(v, "=?base64?") && strings.HasSuffix(v, "?="))
	for i := 0; plain && i < len(v); i++ {
		plain = v[i] >= ' ' && v[i] <= '~'
	}
	if plain {
		return v
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
}

// unreachable tells whether nobody listens at the address.
func unreachable(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
