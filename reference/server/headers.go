package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func headerMismatch(format string, args ...any) *Error {
	return newError(spec.HeaderMismatch, format, args...)
}

// namedBy returns the parameter that requests of a method repeat in Mcp-Name
// (basic/transports/streamable-http#standard-request-headers; SEP-2663, routing
// headers), "" where they repeat none.
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

// checkHeaders holds the headers of a stateless request over HTTP against its
// body (basic/transports/streamable-http#server-validation). What the body
// lacks is not found here: the version and the name are asked for later.
func (c *conn) checkHeaders(r *Request) *Error {
	if r.exchange == nil || r.Method == "initialize" && !carriesProtocolFields(r.Params) {
		return nil
	}
	meta, _ := r.Params["_meta"].(Object)
	asked, inBody := meta[spec.MetaProtocolVersion].(string)
	version, given, problem := r.headerValue("MCP-Protocol-Version")
	switch {
	case problem != nil:
		return problem
	case !given:
		return headerMismatch("The header MCP-Protocol-Version is missing")
	case inBody && version != asked:
		return headerMismatch("MCP-Protocol-Version is %q and the version in _meta %q", clip(version), clip(asked))
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

// checkParamHeaders holds the headers Mcp-Param-* of a tool call against its
// arguments: a value that the tool wants repeated must be, and one that is not
// there must not (basic/transports/streamable-http#server-behavior-for-custom-headers).
// Headers that the tool says nothing of are ignored.
func (c *conn) checkParamHeaders(r *Request) *Error {
	if r.exchange == nil || r.Method != "tools/call" {
		return nil
	}
	args, _ := r.Params["arguments"].(Object)
	i := slices.IndexFunc(c.features.Tools, func(t *Tool) bool { return t.Name == r.Params["name"] && t.isOffered(r) })
	if i < 0 {
		return nil
	}
	return r.checkArgumentHeaders(c.features.Tools[i].Input, args)
}

// checkMirrored walks the properties of a schema along with the arguments. An
// annotation stands on a primitive property that a chain of properties leads
// to (basic/transports/streamable-http#schema-extension).
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

// repeats checks that a header holds the value of the body, in plain or
// encoded form (basic/transports/streamable-http#value-encoding); nil is a
// value that is not there.
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

// equalText tells whether a text is the value. Numbers are compared as such:
// 42.0 is 42 (basic/transports/streamable-http#server-validation).
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

// maxNumber bounds the numbers that are calculated with.
const maxComparedNumber = 100

// header returns the value of a header of the request. It may stand there once
// and hold what a header may: visible ASCII, space and tab (RFC 9110 section
// 5.5). White space around it is no part of it.
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
