package fault

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// headers are the faults of basic/transports/streamable-http#request-metadata.
func headers() []Fault {
	all := slices.Concat(versionHeaders(), methodHeaders(), nameHeaders(), refusals(), argumentHeaders())
	for i := range all {
		all[i].In, all[i].Over = spec.Stateless, transport.HTTP
	}
	return append(all, headerAnnotations()...)
}

// versionHeaders are those of MCP-Protocol-Version.
func versionHeaders() []Fault {
	differs := func(r *http.Request, m wire.Message) bool {
		v := versionOf(m)
		return v != "" && r.Header.Get("MCP-Protocol-Version") != "" && r.Header.Get("MCP-Protocol-Version") != v
	}
	missing := func(r *http.Request, _ wire.Message) bool { return r.Header.Get("MCP-Protocol-Version") == "" }
	return []Fault{
		{
			Name: "version-header-optional", Does: "takes the version from _meta where the header is missing, and has no revision without that header",
			Breaks:   []string{"headers-protocol-version-missing-rejected"},
			CaughtBy: []string{"headers.version.missing"},
			Apply:    all(modern, lacking("MCP-Protocol-Version", versionOf)),
		},
		{
			Name: "version-header-missing-is-200", Does: "refuses a request without MCP-Protocol-Version with status 200",
			Breaks:   []string{"headers-protocol-version-missing-rejected"},
			CaughtBy: []string{"headers.version.missing"},
			Apply:    all(modern, onRefusal(spec.HeaderMismatch, missing, withStatus(http.StatusOK))),
		},
		{
			Name: "version-header-missing-is-invalid", Does: "refuses a request without MCP-Protocol-Version with error -32600",
			Breaks:   []string{"headers-protocol-version-missing-rejected"},
			CaughtBy: []string{"headers.version.missing"},
			Apply:    all(modern, onRefusal(spec.HeaderMismatch, missing, withCode(spec.InvalidRequest))),
		},
		{
			Name: "version-of-the-header-alone", Does: "serves a request by the version in its header, whatever _meta says",
			Breaks:   []string{"headers-protocol-version-mismatch-rejected", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.version.mismatch"},
			Apply: onHTTP(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if m, ok := posted(r); ok && differs(r, m) && spec.Stateless.Has(spec.Revision(r.Header.Get("MCP-Protocol-Version"))) {
						body := bytes.Replace(m.Raw, []byte(versionOf(m)), []byte(r.Header.Get("MCP-Protocol-Version")), 1)
						r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
					}
					next.ServeHTTP(w, r)
				})
			}),
		},
		{
			Name: "version-mismatch-is-409", Does: "refuses a request with two versions with status 409",
			Breaks:   []string{"headers-protocol-version-mismatch-rejected"},
			CaughtBy: []string{"headers.version.mismatch"},
			Apply:    onRefusal(spec.HeaderMismatch, differs, withStatus(http.StatusConflict)),
		},
		{
			Name: "version-mismatch-is-invalid", Does: "refuses a request with two versions with error -32602",
			Breaks:   []string{"headers-protocol-version-mismatch-rejected"},
			CaughtBy: []string{"headers.version.mismatch"},
			Apply:    onRefusal(spec.HeaderMismatch, differs, withCode(spec.InvalidParams)),
		},
	}
}

// methodHeaders are those of Mcp-Method, and of the names of all headers.
func methodHeaders() []Fault {
	return []Fault{
		{
			Name: "method-header-optional", Does: "serves requests without Mcp-Method",
			Breaks:   []string{"headers-method-missing-rejected"},
			CaughtBy: []string{"headers.method.missing"},
			Apply:    lacking("Mcp-Method", wire.Message.Method),
		},
		{
			Name: "method-header-unread", Does: "serves requests whatever Mcp-Method says",
			Breaks:   []string{"headers-method-mismatch-rejected", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.method.mismatch"},
			Also:     map[string]string{"headers.values.case": "the method in another case is another value too"},
			Apply:    onHeaderField("Mcp-Method", func(_ string, m wire.Message) string { return m.Method() }),
		},
		{
			Name: "method-header-known-method", Does: "takes any method of its own in Mcp-Method",
			Breaks:   []string{"headers-method-mismatch-rejected", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.method.mismatch"},
			Apply: onHeaderField("Mcp-Method", func(v string, m wire.Message) string {
				if slices.Contains([]string{"tools/list", "server/discover", "resources/list"}, v) {
					return m.Method()
				}
				return v
			}),
		},
		{
			Name: "method-header-any-case", Does: "compares Mcp-Method without regard to case",
			Breaks:   []string{"headers-method-value-case-sensitive"},
			CaughtBy: []string{"headers.values.case"},
			Apply: onHeaderField("Mcp-Method", func(v string, m wire.Message) string {
				if strings.EqualFold(v, m.Method()) {
					return m.Method()
				}
				return v
			}),
		},
		{
			Name: "header-names-one-spelling", Does: "knows the names of the headers of this protocol in one spelling only",
			Breaks:   []string{"headers-names-case-insensitive"},
			CaughtBy: []string{"headers.names.case"},
			Apply: onRaw(func(b []byte) []byte {
				for _, odd := range []string{"\r\nmcp-mETHOD:", "\r\nmCP-PROTOCOL-version:", "\r\nmcp-NAME:"} {
					b = bytes.Replace(b, []byte(odd), []byte(strings.Replace(odd, "\r\nm", "\r\nx", 1)), 1)
				}
				return b
			}),
		},
		{
			Name: "header-whitespace-kept", Does: "takes the white space around a value for a part of it",
			Breaks:   []string{"headers-whitespace-trimmed"},
			CaughtBy: []string{"headers.whitespace"},
			Apply:    onRaw(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(":   "), []byte(": _ ")) }),
		},
	}
}

// nameHeaders are those of Mcp-Name.
func nameHeaders() []Fault {
	return []Fault{
		{
			Name: "name-header-optional", Does: "serves requests without Mcp-Name",
			Breaks:   []string{"headers-name-missing-rejected"},
			CaughtBy: []string{"headers.name.missing"},
			Apply:    lacking("Mcp-Name", func(m wire.Message) string { return transport.FieldValue(nameOf(m)) }),
		},
		{
			Name: "name-header-optional-of-prompts", Does: "gets prompts without Mcp-Name",
			Breaks:   []string{"headers-name-missing-rejected"},
			CaughtBy: []string{"headers.name.missing"},
			Apply: lacking("Mcp-Name", func(m wire.Message) string {
				if m.Method() == "prompts/get" {
					return transport.FieldValue(nameOf(m))
				}
				return ""
			}),
		},
		{
			Name: "name-header-unread", Does: "serves requests whatever Mcp-Name says",
			Breaks:   []string{"headers-name-mismatch-rejected", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.name.mismatch"},
			Also: map[string]string{
				"headers.values.case": "the name in another case is another value too",
				"headers.name.marks":  "a name behind marks that are none is another value too",
			},
			Apply: onHeaderField("Mcp-Name", func(_ string, m wire.Message) string { return transport.FieldValue(nameOf(m)) }),
		},
		{
			Name: "name-header-begins-with-name", Does: "takes an Mcp-Name that begins with the name",
			Breaks:   []string{"headers-name-mismatch-rejected", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.name.mismatch"},
			Apply: onHeaderField("Mcp-Name", func(v string, m wire.Message) string {
				if name := nameOf(m); name != "" && strings.HasPrefix(v, name) {
					return name
				}
				return v
			}),
		},
		{
			Name: "name-header-any-case", Does: "compares Mcp-Name without regard to case",
			Breaks:   []string{"headers-method-value-case-sensitive"},
			CaughtBy: []string{"headers.values.case"},
			Apply: onHeaderField("Mcp-Name", func(v string, m wire.Message) string {
				if name := nameOf(m); strings.EqualFold(v, name) {
					return name
				}
				return v
			}),
		},
		{
			Name: "name-header-literal", Does: "compares Mcp-Name as it stands, also where it is encoded",
			Breaks:   []string{"headers-name-base64-decode"},
			CaughtBy: []string{"headers.name.encoded"},
			Apply: refuse(func(h http.Header, m wire.Message) bool { return nameOf(m) != "" && marked(h.Get("Mcp-Name")) },
				"Mcp-Name does not hold the name"),
		},
		{
			Name: "name-header-marks-any-case", Does: "takes the marks of Base64 in any case",
			Breaks:   []string{"headers-base64-markers-exact"},
			CaughtBy: []string{"headers.name.marks"},
			Apply: onHeaderField("Mcp-Name", func(v string, _ wire.Message) string {
				if mark := "=?base64?"; len(v) > len(mark) && strings.EqualFold(v[:len(mark)], mark) {
					return mark + v[len(mark):]
				}
				return v
			}),
		},
		{
			Name: "name-header-of-lists", Does: "lists templates of resources with an Mcp-Name only",
			Breaks:   []string{"headers-name-not-required-elsewhere"},
			CaughtBy: []string{"headers.name.elsewhere"},
			Apply: refuse(func(h http.Header, m wire.Message) bool {
				return m.Method() == "resources/templates/list" && h.Get("Mcp-Name") == ""
			}, "The header Mcp-Name is missing"),
		},
	}
}

// refusals are those of how it is told that headers are wrong.
func refusals() []Fault {
	of := func(methods ...string) func(r *http.Request, m wire.Message) bool {
		return func(r *http.Request, m wire.Message) bool {
			right := r.Header.Get("MCP-Protocol-Version") == versionOf(m)
			return right && (len(methods) == 0 || slices.Contains(methods, m.Method()))
		}
	}
	return []Fault{
		{
			Name: "header-mismatch-is-200", Does: "refuses wrong headers with status 200",
			Breaks:   []string{"headers-mismatch-status-400"},
			CaughtBy: []string{"headers.refusal.status"},
			Apply:    onRefusal(spec.HeaderMismatch, of(), withStatus(http.StatusOK)),
		},
		{
			Name: "method-mismatch-is-404", Does: "refuses a wrong Mcp-Method with status 404",
			Breaks:   []string{"headers-mismatch-status-400"},
			CaughtBy: []string{"headers.refusal.status"},
			Apply:    onRefusal(spec.HeaderMismatch, of("server/discover"), withStatus(http.StatusNotFound)),
		},
		{
			Name: "name-mismatch-is-422", Does: "refuses a wrong Mcp-Name of a resource with status 422",
			Breaks:   []string{"headers-mismatch-status-400"},
			CaughtBy: []string{"headers.refusal.status"},
			Apply:    onRefusal(spec.HeaderMismatch, of("resources/read"), withStatus(http.StatusUnprocessableEntity)),
		},
		{
			Name: "header-mismatch-is-invalid-params", Does: "refuses wrong headers with error -32602",
			Breaks:   []string{"headers-mismatch-error-32020"},
			CaughtBy: []string{"headers.refusal.code"},
			Apply:    onRefusal(spec.HeaderMismatch, of(), withCode(spec.InvalidParams)),
		},
		{
			Name: "name-mismatch-is-invalid-request", Does: "refuses a wrong Mcp-Name with error -32600",
			Breaks:   []string{"headers-mismatch-error-32020"},
			CaughtBy: []string{"headers.refusal.code"},
			Apply:    onRefusal(spec.HeaderMismatch, of("tools/call", "resources/read", "prompts/get"), withCode(spec.InvalidRequest)),
		},
		{
			Name: "header-mismatch-in-plain-text", Does: "refuses wrong headers with status 400 and a sentence, without any message",
			Breaks:   []string{"headers-mismatch-error-32020"},
			CaughtBy: []string{"headers.refusal.code"},
			Apply: onRefusal(spec.HeaderMismatch, of(), func(a *whole) {
				a.set(http.StatusBadRequest, "text/plain", []byte("The headers do not fit the body\n"))
			}),
		},
	}
}

// argumentHeaders are those of Mcp-Param-*.
func argumentHeaders() []Fault {
	const branch, copies, urgent, desk = "Mcp-Param-Branch", "Mcp-Param-Copies", "Mcp-Param-Urgent", "Mcp-Param-Desk"
	return []Fault{
		{
			Name: "argument-header-unread", Does: "serves a call whatever the header of an argument says",
			Breaks:   []string{"headers-mcp-param-validated", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.argument.mismatch"},
			Also:     map[string]string{"headers.characters": "what no header may hold is not read either"},
			Apply: onArgument("Branch", func(h http.Header, v gjson.Result) {
				if h.Get(branch) != "" && v.Type == gjson.String {
					h.Set(branch, transport.FieldValue(v.Str))
				}
			}),
		},
		{
			Name: "argument-header-number-unread", Does: "serves a call whatever the header of a number says",
			Breaks:   []string{"headers-mcp-param-validated", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply: onArgument("Copies", func(h http.Header, v gjson.Result) {
				if h.Get(copies) != "" && v.Type == gjson.Number {
					h.Set(copies, v.Raw)
				}
			}),
		},
		{
			Name: "argument-header-inside-unread", Does: "serves a call whatever the header of an argument inside another says",
			Breaks:   []string{"headers-mcp-param-validated", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply: onArgument("Desk", func(h http.Header, v gjson.Result) {
				if h.Get(desk) != "" && v.Type == gjson.String {
					h.Set(desk, transport.FieldValue(v.Str))
				}
			}),
		},
		{
			Name: "argument-header-boolean-any-case", Does: "takes TRUE for true in the header of an argument",
			Breaks:   []string{"headers-mcp-param-validated", "headers-body-mismatch-rejected"},
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply: onArgument("Urgent", func(h http.Header, _ gjson.Result) {
				if v := h.Get(urgent); strings.EqualFold(v, "true") || strings.EqualFold(v, "false") {
					h.Set(urgent, strings.ToLower(v))
				}
			}),
		},
		{
			Name: "argument-header-optional", Does: "serves a call without the header of an argument",
			Breaks:   []string{"headers-mcp-param-missing-rejected"},
			CaughtBy: []string{"headers.argument.missing"},
			Apply: onArgument("Branch", func(h http.Header, v gjson.Result) {
				if h.Get(branch) == "" && v.Type == gjson.String {
					h.Set(branch, transport.FieldValue(v.Str))
				}
			}),
		},
		{
			Name: "argument-header-inside-optional", Does: "serves a call without the header of an argument inside another",
			Breaks:   []string{"headers-mcp-param-missing-rejected"},
			CaughtBy: []string{"headers.argument.missing"},
			Apply: onArgument("Desk", func(h http.Header, v gjson.Result) {
				if h.Get(desk) == "" && v.Type == gjson.String {
					h.Set(desk, transport.FieldValue(v.Str))
				}
			}),
		},
		{
			Name: "argument-header-of-nothing", Does: "wants the header of an argument that is not there",
			Breaks:   []string{"headers-mcp-param-not-expected-when-absent"},
			CaughtBy: []string{"headers.argument.absent"},
			Apply: refuse(func(h http.Header, m wire.Message) bool {
				args := m.Params().Get("arguments")
				return m.Method() == "tools/call" && m.Params().Get("name").String() == "check_branch" && args.Get("urgent").Exists() && !args.Get("copies").Exists() && h.Get(copies) == ""
			}, "The header Mcp-Param-Copies is missing"),
		},
		{
			Name: "argument-header-of-null", Does: "wants the header of an argument that is null",
			Breaks:   []string{"headers-mcp-param-not-expected-when-absent"},
			CaughtBy: []string{"headers.argument.absent"},
			Apply: refuse(func(h http.Header, m wire.Message) bool {
				return m.Method() == "tools/call" && m.Params().Get("name").String() == "check_branch" && m.Params().Get("arguments.urgent").Type == gjson.Null && m.Params().Get("arguments.urgent").Exists() && h.Get(urgent) == ""
			}, "The header Mcp-Param-Urgent is missing"),
		},
		{
			Name: "argument-header-literal", Does: "compares the header of a number as it stands, also where it is encoded",
			Breaks:   []string{"headers-base64-decoded-by-readers"},
			CaughtBy: []string{"headers.argument.encoded"},
			Apply:    refuse(func(h http.Header, _ wire.Message) bool { return marked(h.Get(copies)) }, "Mcp-Param-Copies does not hold the number"),
		},
		{
			Name: "argument-header-as-text", Does: "compares the header of a number as text",
			Breaks:   []string{"headers-integer-numeric-compare"},
			CaughtBy: []string{"headers.argument.numeric"},
			Apply:    refuse(func(h http.Header, _ wire.Message) bool { return strings.Contains(h.Get(copies), ".") }, "Mcp-Param-Copies does not hold the number"),
		},
		{
			Name: "argument-header-unknown-refused", Does: "refuses a request with a header Mcp-Param-* that it does not know",
			Breaks:   []string{"headers-unknown-param-ignored"},
			CaughtBy: []string{"headers.argument.unknown"},
			Apply: refuse(func(h http.Header, _ wire.Message) bool {
				for name := range h {
					if strings.HasPrefix(name, "Mcp-Param-") && !slices.Contains([]string{branch, copies, urgent, desk}, name) {
						return true
					}
				}
				return false
			}, "There is a header Mcp-Param-* that stands for nothing"),
		},
		{
			Name: "raw-text-in-headers", Does: "takes text beyond ASCII in a header as it is",
			Breaks:   []string{"headers-invalid-chars-rejected"},
			CaughtBy: []string{"headers.characters"},
			Apply: onHeaders(func(h http.Header, _ wire.Message) {
				for name, values := range h {
					if strings.HasPrefix(name, "Mcp-") && strings.ContainsFunc(values[0], func(c rune) bool { return c > '~' }) {
						h.Set(name, transport.FieldValue(values[0]))
					}
				}
			}),
		},
	}
}

// headerAnnotations are those of x-mcp-header in the definition of a tool.
func headerAnnotations() []Fault {
	annotated := func(name string, annotation any) apply {
		return property(name, func(p server.Object) { p["x-mcp-header"] = annotation })
	}
	faults := []Fault{
		{
			Name: "annotation-empty", Does: "wants an argument in a header without a name",
			Breaks:   []string{"headers-mcp-param-name-nonempty"},
			CaughtBy: []string{"headers.annotation.empty"},
			Apply:    annotated("branch", ""),
		},
		{
			Name: "annotation-with-space", Does: "wants an argument in a header with a space in its name",
			Breaks:   []string{"headers-mcp-param-name-token"},
			CaughtBy: []string{"headers.annotation.token"},
			Apply:    annotated("branch", "Branch Name"),
		},
		{
			Name: "annotation-beyond-ascii", Does: "wants an argument in a header with an umlaut in its name",
			Breaks:   []string{"headers-mcp-param-name-token"},
			CaughtBy: []string{"headers.annotation.token"},
			Apply:    annotated("branch", "Gebäude"),
		},
		{
			Name: "annotation-true", Does: "marks an argument for a header by true",
			Breaks:   []string{"headers-mcp-param-name-token"},
			CaughtBy: []string{"headers.annotation.token"},
			Apply:    annotated("branch", true),
		},
		{
			Name: "annotation-with-newline", Does: "wants an argument in a header with a line end in its name",
			Breaks:   []string{"headers-mcp-param-name-no-control"},
			CaughtBy: []string{"headers.annotation.control"},
			Apply:    annotated("branch", "Branch\r\nX-Evil: 1"),
		},
		{
			Name: "annotation-twice", Does: "wants two arguments in one header, whose name it writes in two cases",
			Breaks:   []string{"headers-mcp-param-name-unique"},
			CaughtBy: []string{"headers.annotation.unique"},
			Apply:    annotated("copies", "BRANCH"),
		},
		{
			Name: "annotation-on-object", Does: "wants an object in a header",
			Breaks:   []string{"headers-mcp-param-primitive-only"},
			CaughtBy: []string{"headers.annotation.type"},
			Apply:    annotated("to", "To"),
		},
		{
			Name: "annotation-on-number", Does: "wants a number in a header that may be no integer",
			Breaks:   []string{"headers-mcp-param-primitive-only"},
			CaughtBy: []string{"headers.annotation.type"},
			Apply:    property("copies", func(p server.Object) { p["type"], p["multipleOf"] = []any{"number", "integer"}, 1 }),
		},
		{
			Name: "annotation-default-beyond", Does: "gives an integer in a header a default beyond 2^53-1",
			Breaks:   []string{"headers-mcp-param-integer-range"},
			CaughtBy: []string{"headers.annotation.range"},
			Apply:    property("copies", func(p server.Object) { p["default"] = uint64(1 << 53) }),
		},
		{
			Name: "annotation-in-definitions", Does: "wants what a definition describes in a header",
			Breaks:   []string{"headers-mcp-param-statically-reachable", "headers-mcp-param-chain-properties-only"},
			CaughtBy: []string{"headers.annotation.reachable"},
			Apply: onSchema("check_branch", func(schema, _ server.Object) {
				schema["$defs"] = server.Object{"shelf": server.Object{"type": "string", "x-mcp-header": "Shelf"}}
			}),
		},
		{
			Name: "annotation-in-composition", Does: "wants an argument in a header by one of several schemas",
			Breaks:   []string{"headers-mcp-param-statically-reachable", "headers-mcp-param-chain-properties-only"},
			CaughtBy: []string{"headers.annotation.reachable"},
			Apply: onSchema("check_branch", func(schema, _ server.Object) {
				schema["anyOf"] = []any{server.Object{"properties": server.Object{"urgent": server.Object{"type": "boolean", "x-mcp-header": "Hurry"}}}, server.Object{}}
			}),
		},
		{
			Name: "annotation-on-root", Does: "wants all arguments in one header",
			Breaks:   []string{"headers-mcp-param-statically-reachable"},
			CaughtBy: []string{"headers.annotation.reachable"},
			Apply:    onSchema("check_branch", func(schema, _ server.Object) { schema["x-mcp-header"] = "All" }),
		},
	}
	for i := range faults {
		faults[i].In = spec.Stateless
	}
	return faults
}
