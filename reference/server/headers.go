package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func headerMismatch(format string, args ...any) *Error {
	return newError(spec.HeaderMismatch, format, args...)
}

// nameParam returns the parameter that requests of a method repeat in Mcp-Name
// (basic/transports/streamable-http#standard-request-headers; SEP-2663, routing
// headers), "" if they repeat none.
func (c *conn) nameParam(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	}
	if _, ok := taskMethods()[method]; ok && declaresTasks(c.features.Capabilities) {
		return "taskId"
	}
	return ""
}

// checkHeaders compares the headers of a stateless request over HTTP with its body
// (basic/transports/streamable-http#server-validation). It does not report what the
// body lacks: the version and the name are required later.
func (c *conn) checkHeaders(r *Request) *Error {
	if r.exchange == nil || r.Method == "initialize" && !carriesProtocolFields(r.Params) {
		return nil
	}
	meta, _ := r.Params["_meta"].(Object)
	requested, inBody := meta[spec.MetaProtocolVersion].(string)
	version, given, problem := r.headerValue("MCP-Protocol-Version")
	switch {
	case problem != nil:
		return problem
	case !given:
		return headerMismatch("The header MCP-Protocol-Version is missing")
	case inBody && version != requested:
		return headerMismatch("MCP-Protocol-Version is %q and the version in _meta %q", clip(version), clip(requested))
	}
	method, given, problem := r.headerValue("Mcp-Method")
	switch {
	case problem != nil:
		return problem
	case !given:
		return headerMismatch("The header Mcp-Method is missing")
	case method != r.Method:
		return headerMismatch("Mcp-Method is %q and the method %q", clip(method), clip(r.Method))
	}
	param := c.nameParam(r.Method)
	if param == "" {
		return nil
	}
	name, ok := r.Params[param].(string)
	if !ok {
		return nil
	}
	return r.checkHeaderValue("Mcp-Name", name)
}

// checkParamHeaders compares the headers Mcp-Param-* of a tool call with its
// arguments: an argument that the tool annotates must be repeated, and a header for
// an absent one is refused
// (basic/transports/streamable-http#server-behavior-for-custom-headers). Headers
// that the tool does not name are ignored.
func (c *conn) checkParamHeaders(r *Request) *Error {
	if r.exchange == nil || r.Method != "tools/call" {
		return nil
	}
	t := r.findTool(r.Params["name"])
	if t == nil {
		return nil
	}
	args, _ := r.Params["arguments"].(Object)
	return r.checkArgumentHeaders(t.InputSchema, args)
}

// checkArgumentHeaders compares the annotated properties of a schema with the
// headers. An annotation is on a primitive property that a chain of properties
// leads to (basic/transports/streamable-http#schema-extension).
func (r *Request) checkArgumentHeaders(schema, args Object) *Error {
	properties, _ := schema["properties"].(Object)
	for property, v := range properties {
		s, _ := v.(Object)
		name, annotated := s["x-mcp-header"].(string)
		if !annotated {
			inner, _ := args[property].(Object)
			if problem := r.checkArgumentHeaders(s, inner); problem != nil {
				return problem
			}
			continue
		}
		if problem := r.checkHeaderValue("Mcp-Param-"+name, args[property]); problem != nil {
			return problem
		}
	}
	return nil
}

// checkHeaderValue checks that a header holds the value of the body, in plain or
// encoded form (basic/transports/streamable-http#value-encoding); nil is an absent
// value.
func (r *Request) checkHeaderValue(header string, value any) *Error {
	switch value.(type) {
	case Object, []any:
		value = nil // a header cannot hold it: the inputSchema refuses it
	}
	text, given, problem := r.headerValue(header)
	switch {
	case problem != nil:
		return problem
	case value == nil && given:
		return headerMismatch("The header %s stands for a value that the body has not", header)
	case value == nil:
		return nil
	case !given:
		return headerMismatch("The header %s is missing", header)
	}
	if encoded, ok := strings.CutPrefix(text, "=?base64?"); ok && strings.HasSuffix(encoded, "?=") {
		plain, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(encoded, "?="))
		if err != nil || !utf8.Valid(plain) {
			return headerMismatch("The header %s cannot be decoded", header)
		}
		text = string(plain)
	}
	if !textEqualsValue(text, value) {
		return headerMismatch("The header %s does not hold the value of the body", header)
	}
	return nil
}

// textEqualsValue reports whether a text is the value. Numbers are compared by
// value: 42.0 is 42 (basic/transports/streamable-http#server-validation).
func textEqualsValue(text string, value any) bool {
	n, ok := value.(json.Number)
	if !ok {
		return text == fmt.Sprint(value)
	}
	if text == n.String() {
		return true
	}
	if len(text) > maxComparedNumber || len(n) > maxComparedNumber || !json.Valid([]byte(text)) {
		return false
	}
	a, okA := new(big.Float).SetString(text)
	b, okB := new(big.Float).SetString(n.String())
	return okA && okB && a.Cmp(b) == 0
}

// maxComparedNumber bounds the length of the numbers that are compared by value.
const maxComparedNumber = 100

// headerValue returns the value of a header of the request. The header may occur
// once and hold visible ASCII, space and tab (RFC 9110 section 5.5). White space
// around the value is removed.
func (r *Request) headerValue(name string) (value string, given bool, problem *Error) {
	values := r.exchange.header.Values(name)
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		value = strings.Trim(values[0], " \t")
	default:
		return "", true, headerMismatch("The header %s stands there more than once", name)
	}
	if strings.ContainsFunc(value, func(c rune) bool { return c != '\t' && (c < 0x20 || c > 0x7e) }) {
		return "", true, headerMismatch("The header %s holds characters that no header may", name)
	}
	return value, true, nil
}
