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

func mismatch(format string, args ...any) *Error {
	return errorf(spec.HeaderMismatch, format, args...)
}

// namedBy are the methods whose requests repeat a parameter in Mcp-Name
// (basic/transports/streamable-http#standard-request-headers).
var namedBy = map[string]string{"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}

// checkHeaders holds the headers of a stateless request over HTTP against its
// body (basic/transports/streamable-http#server-validation). What the body
// lacks is not found here: the version and the name are asked for later.
func (c *conn) checkHeaders(r *Request) *Error {
	if r.exchange == nil || r.Method == "initialize" && !carriesProtocolFields(r.Params) {
		return nil
	}
	meta, _ := r.Params["_meta"].(Object)
	asked, inBody := meta[spec.MetaProtocolVersion].(string)
	version, given, problem := r.header("MCP-Protocol-Version")
	switch {
	case problem != nil:
		return problem
	case !given:
		return mismatch("The header MCP-Protocol-Version is missing")
	case inBody && version != asked:
		return mismatch("MCP-Protocol-Version is %q and the version in _meta %q", clip(version), clip(asked))
	}
	method, given, problem := r.header("Mcp-Method")
	switch {
	case problem != nil:
		return problem
	case !given:
		return mismatch("The header Mcp-Method is missing")
	case method != r.Method:
		return mismatch("Mcp-Method is %q and the method %q", clip(method), clip(r.Method))
	}
	param, ok := namedBy[r.Method]
	if !ok {
		return nil
	}
	name, ok := r.Params[param].(string)
	if !ok {
		return nil
	}
	return r.repeats("Mcp-Name", name)
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
	i := slices.IndexFunc(c.library.Tools, func(t *Tool) bool { return t.Name == r.Params["name"] && t.offered(r) })
	if i < 0 {
		return nil
	}
	return r.checkMirrored(c.library.Tools[i].Input, args)
}

// checkMirrored walks the properties of a schema along with the arguments. An
// annotation stands on a primitive property that a chain of properties leads
// to (basic/transports/streamable-http#schema-extension).
func (r *Request) checkMirrored(schema, args Object) *Error {
	properties, _ := schema["properties"].(Object)
	for property, v := range properties {
		s, _ := v.(Object)
		name, annotated := s["x-mcp-header"].(string)
		if !annotated {
			inner, _ := args[property].(Object)
			if problem := r.checkMirrored(s, inner); problem != nil {
				return problem
			}
			continue
		}
		if problem := r.repeats("Mcp-Param-"+name, args[property]); problem != nil {
			return problem
		}
	}
	return nil
}

// repeats checks that a header holds the value of the body, in plain or
// encoded form (basic/transports/streamable-http#value-encoding); nil is a
// value that is not there.
func (r *Request) repeats(header string, value any) *Error {
	switch value.(type) {
	case Object, []any:
		value = nil // a header cannot hold it: the inputSchema refuses it
	}
	text, given, problem := r.header(header)
	switch {
	case problem != nil:
		return problem
	case value == nil && given:
		return mismatch("The header %s stands for a value that the body has not", header)
	case value == nil:
		return nil
	case !given:
		return mismatch("The header %s is missing", header)
	}
	if encoded, ok := strings.CutPrefix(text, "=?base64?"); ok && strings.HasSuffix(encoded, "?=") {
		plain, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(encoded, "?="))
		if err != nil || !utf8.Valid(plain) {
			return mismatch("The header %s cannot be decoded", header)
		}
		text = string(plain)
	}
	if !equalText(text, value) {
		return mismatch("The header %s does not hold the value of the body", header)
	}
	return nil
}

// equalText tells whether a text is the value. Numbers are compared as such:
// 42.0 is 42 (basic/transports/streamable-http#server-validation).
func equalText(text string, value any) bool {
	n, ok := value.(json.Number)
	if !ok {
		return text == fmt.Sprint(value)
	}
	if text == n.String() {
		return true
	}
	if len(text) > maxNumber || len(n) > maxNumber || !json.Valid([]byte(text)) {
		return false
	}
	a, okA := new(big.Float).SetString(text)
	b, okB := new(big.Float).SetString(n.String())
	return okA && okB && a.Cmp(b) == 0
}

// maxNumber bounds the numbers that are calculated with.
const maxNumber = 100

// header returns the value of a header of the request. It may stand there once
// and hold what a header may: visible ASCII, space and tab (RFC 9110 section
// 5.5). White space around it is no part of it.
func (r *Request) header(name string) (value string, given bool, problem *Error) {
	values := r.exchange.header.Values(name)
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		value = strings.Trim(values[0], " \t")
	default:
		return "", true, mismatch("The header %s stands there more than once", name)
	}
	if strings.ContainsFunc(value, func(c rune) bool { return c != '\t' && (c < 0x20 || c > 0x7e) }) {
		return "", true, mismatch("The header %s holds characters that no header may", name)
	}
	return value, true, nil
}
