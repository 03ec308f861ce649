package fault

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// argumentHeaders are those of Mcp-Param-*.
func argumentHeaders() []Fault {
	const branch, copies, urgent, desk = "Mcp-Param-Branch", "Mcp-Param-Copies", "Mcp-Param-Urgent", "Mcp-Param-Desk"
	return []Fault{
		{
			Name: "argument-header-unread", Does: "serves a call whatever the header of an argument says",
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
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply: onArgument("Copies", func(h http.Header, v gjson.Result) {
				if h.Get(copies) != "" && v.Type == gjson.Number {
					h.Set(copies, v.Raw)
				}
			}),
		},
		{
			Name: "argument-header-inside-unread", Does: "serves a call whatever the header of an argument inside another says",
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply: onArgument("Desk", func(h http.Header, v gjson.Result) {
				if h.Get(desk) != "" && v.Type == gjson.String {
					h.Set(desk, transport.FieldValue(v.Str))
				}
			}),
		},
		{
			Name: "argument-header-boolean-any-case", Does: "takes TRUE for true in the header of an argument",
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply: onArgument("Urgent", func(h http.Header, _ gjson.Result) {
				if v := h.Get(urgent); strings.EqualFold(v, "true") || strings.EqualFold(v, "false") {
					h.Set(urgent, strings.ToLower(v))
				}
			}),
		},
		{
			Name: "argument-header-optional", Does: "serves a call without the header of an argument",
			CaughtBy: []string{"headers.argument.missing"},
			Apply: onArgument("Branch", func(h http.Header, v gjson.Result) {
				if h.Get(branch) == "" && v.Type == gjson.String {
					h.Set(branch, transport.FieldValue(v.Str))
				}
			}),
		},
		{
			Name: "argument-header-inside-optional", Does: "serves a call without the header of an argument inside another",
			CaughtBy: []string{"headers.argument.missing"},
			Apply: onArgument("Desk", func(h http.Header, v gjson.Result) {
				if h.Get(desk) == "" && v.Type == gjson.String {
					h.Set(desk, transport.FieldValue(v.Str))
				}
			}),
		},
		{
			Name: "argument-header-of-nothing", Does: "wants the header of an argument that is not there",
			CaughtBy: []string{"headers.argument.absent"},
			Apply: refuse(func(h http.Header, m wire.Message) bool {
				args := m.Params().Get("arguments")
				return m.Method() == "tools/call" && m.Params().Get("name").String() == "check_branch" && args.Get("urgent").Exists() && !args.Get("copies").Exists() && h.Get(copies) == ""
			}, "The header Mcp-Param-Copies is missing"),
		},
		{
			Name: "argument-header-of-null", Does: "wants the header of an argument that is null",
			CaughtBy: []string{"headers.argument.absent"},
			Apply: refuse(func(h http.Header, m wire.Message) bool {
				return m.Method() == "tools/call" && m.Params().Get("name").String() == "check_branch" && m.Params().Get("arguments.urgent").Type == gjson.Null && m.Params().Get("arguments.urgent").Exists() && h.Get(urgent) == ""
			}, "The header Mcp-Param-Urgent is missing"),
		},
		{
			Name: "argument-header-literal", Does: "compares the header of a number as it stands, also where it is encoded",
			CaughtBy: []string{"headers.argument.encoded"},
			Apply:    refuse(func(h http.Header, _ wire.Message) bool { return marked(h.Get(copies)) }, "Mcp-Param-Copies does not hold the number"),
		},
		{
			Name: "argument-header-as-text", Does: "compares the header of a number as text",
			CaughtBy: []string{"headers.argument.numeric"},
			Apply:    refuse(func(h http.Header, _ wire.Message) bool { return strings.Contains(h.Get(copies), ".") }, "Mcp-Param-Copies does not hold the number"),
		},
		{
			Name: "argument-header-unknown-refused", Does: "refuses a request with a header Mcp-Param-* that it does not know",
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
			CaughtBy: []string{"headers.annotation.empty"},
			Apply:    annotated("branch", ""),
		},
		{
			Name: "annotation-with-space", Does: "wants an argument in a header with a space in its name",
			CaughtBy: []string{"headers.annotation.token"},
			Apply:    annotated("branch", "Branch Name"),
		},
		{
			Name: "annotation-beyond-ascii", Does: "wants an argument in a header with an umlaut in its name",
			CaughtBy: []string{"headers.annotation.token"},
			Apply:    annotated("branch", "Gebäude"),
		},
		{
			Name: "annotation-true", Does: "marks an argument for a header by true",
			CaughtBy: []string{"headers.annotation.token"},
			Apply:    annotated("branch", true),
		},
		{
			Name: "annotation-with-newline", Does: "wants an argument in a header with a line end in its name",
			CaughtBy: []string{"headers.annotation.control"},
			Apply:    annotated("branch", "Branch\r\nX-Evil: 1"),
		},
		{
			Name: "annotation-twice", Does: "wants two arguments in one header, whose name it writes in two cases",
			CaughtBy: []string{"headers.annotation.unique"},
			Apply:    annotated("copies", "BRANCH"),
		},
		{
			Name: "annotation-on-object", Does: "wants an object in a header",
			CaughtBy: []string{"headers.annotation.type"},
			Apply:    annotated("to", "To"),
		},
		{
			Name: "annotation-on-number", Does: "wants a number in a header that may be no integer",
			CaughtBy: []string{"headers.annotation.type"},
			Apply:    property("copies", func(p server.Object) { p["type"], p["multipleOf"] = []any{"number", "integer"}, 1 }),
		},
		{
			Name: "annotation-default-beyond", Does: "gives an integer in a header a default beyond 2^53-1",
			CaughtBy: []string{"headers.annotation.range"},
			Apply:    property("copies", func(p server.Object) { p["default"] = uint64(1 << 53) }),
		},
		{
			Name: "annotation-in-definitions", Does: "wants what a definition describes in a header",
			CaughtBy: []string{"headers.annotation.reachable"},
			Apply: onSchema("check_branch", func(schema, _ server.Object) {
				schema["$defs"] = server.Object{"shelf": server.Object{"type": "string", "x-mcp-header": "Shelf"}}
			}),
		},
		{
			Name: "annotation-in-composition", Does: "wants an argument in a header by one of several schemas",
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
