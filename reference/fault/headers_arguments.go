package fault

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// The headers of the arguments of check_branch.
const (
	branchField = "Mcp-Param-Branch"
	copiesField = "Mcp-Param-Copies"
	urgentField = "Mcp-Param-Urgent"
	deskField   = "Mcp-Param-Desk"
)

// argumentPaths are the arguments of check_branch, by their header.
var argumentPaths = map[string]string{
	branchField: "branch", copiesField: "copies", urgentField: "urgent", deskField: "to.desk",
}

// isBranchCall matches calls of check_branch.
func isBranchCall(m wire.Message) bool {
	return m.Method() == "tools/call" && m.Params().Get("name").String() == "check_branch"
}

// onArgumentHeader changes the header of an argument in calls of check_branch; value
// is that of the argument, and "" leaves the header as it is.
func onArgumentHeader(field string, edit func(header string, value gjson.Result) string) apply {
	return onHeaders(func(h http.Header, m wire.Message) {
		if !isBranchCall(m) {
			return
		}
		if v := edit(h.Get(field), m.Params().Get("arguments."+argumentPaths[field])); v != "" {
			h.Set(field, v)
		}
	})
}

// ignoreHeader corrects a header that is not empty.
func ignoreHeader(header string, value gjson.Result) string {
	if header == "" {
		return ""
	}
	return headerOf(value)
}

// fillInHeader adds a header that is empty.
func fillInHeader(header string, value gjson.Result) string {
	if header != "" {
		return ""
	}
	return headerOf(value)
}

// headerOf returns the header of a string or number, "" for other values.
func headerOf(value gjson.Result) string {
	switch value.Type {
	case gjson.String:
		return transport.EncodeFieldValue(value.Str)
	case gjson.Number:
		return value.Raw
	}
	return ""
}

// headerArguments are faults of Mcp-Param-*.
func headerArguments() []Fault {
	return append(argumentHeadersAccepted(), argumentHeadersRefused()...)
}

// argumentHeadersAccepted accept headers of arguments that are wrong or missing.
func argumentHeadersAccepted() []Fault {
	return []Fault{
		{
			Name: "argument-header-unread", Does: "ignores the header of a string argument",
			CaughtBy: []string{"headers.argument.mismatch"},
			Also:     map[string]string{"headers.characters": "text that a header must not hold is ignored too"},
			Apply:    onArgumentHeader(branchField, ignoreHeader),
		},
		{
			Name: "argument-header-number-unread", Does: "ignores the header of a numeric argument",
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply:    onArgumentHeader(copiesField, ignoreHeader),
		},
		{
			Name: "argument-header-inside-unread", Does: "ignores the header of an argument inside another",
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply:    onArgumentHeader(deskField, ignoreHeader),
		},
		{
			Name: "argument-header-boolean-any-case", Does: "accepts TRUE for true in the header of an argument",
			CaughtBy: []string{"headers.argument.mismatch"},
			Apply: onArgumentHeader(urgentField, func(header string, _ gjson.Result) string {
				if lower := strings.ToLower(header); lower == "true" || lower == "false" {
					return lower
				}
				return ""
			}),
		},
		{
			Name: "argument-header-optional", Does: "serves a call without the header of an argument",
			CaughtBy: []string{"headers.argument.missing"},
			Apply:    onArgumentHeader(branchField, fillInHeader),
		},
		{
			Name:     "argument-header-inside-optional",
			Does:     "serves a call without the header of an argument inside another",
			CaughtBy: []string{"headers.argument.missing"},
			Apply:    onArgumentHeader(deskField, fillInHeader),
		},
		{
			Name: "raw-text-in-headers", Does: "accepts text beyond ASCII in a header",
			CaughtBy: []string{"headers.characters"},
			Apply: onHeaders(func(h http.Header, _ wire.Message) {
				for name, values := range h {
					if strings.HasPrefix(name, "Mcp-") && strings.ContainsFunc(values[0], func(c rune) bool {
						return c > '~'
					}) {
						h.Set(name, transport.EncodeFieldValue(values[0]))
					}
				}
			}),
		},
	}
}

// argumentHeadersRefused refuse headers of arguments that are right.
func argumentHeadersRefused() []Fault {
	refuseCopies := func(matches func(header string) bool) apply {
		return headerMismatch(func(h http.Header, _ wire.Message) bool { return matches(h.Get(copiesField)) },
			"Mcp-Param-Copies does not hold the number")
	}
	known := []string{branchField, copiesField, urgentField, deskField}
	return []Fault{
		{
			Name: "argument-header-of-nothing", Does: "requires the header of an argument that is missing",
			CaughtBy: []string{"headers.argument.absent"},
			Apply: headerMismatch(func(h http.Header, m wire.Message) bool {
				args := m.Params().Get("arguments")
				return isBranchCall(m) && args.Get("urgent").Exists() && !args.Get("copies").Exists() &&
					h.Get(copiesField) == ""
			}, "The header Mcp-Param-Copies is missing"),
		},
		{
			Name: "argument-header-of-null", Does: "requires the header of an argument that is null",
			CaughtBy: []string{"headers.argument.absent"},
			Apply: headerMismatch(func(h http.Header, m wire.Message) bool {
				urgent := m.Params().Get("arguments.urgent")
				return isBranchCall(m) && urgent.Exists() && urgent.Type == gjson.Null && h.Get(urgentField) == ""
			}, "The header Mcp-Param-Urgent is missing"),
		},
		{
			Name: "argument-header-literal", Does: "does not decode the encoded header of a number",
			CaughtBy: []string{"headers.argument.encoded"},
			Apply:    refuseCopies(isEncoded),
		},
		{
			Name: "argument-header-as-text", Does: "compares the header of a number as text",
			CaughtBy: []string{"headers.argument.numeric"},
			Apply:    refuseCopies(func(header string) bool { return strings.Contains(header, ".") }),
		},
		{
			Name: "argument-header-unknown-refused", Does: "refuses a request with an unknown header Mcp-Param-*",
			CaughtBy: []string{"headers.argument.unknown"},
			Apply: headerMismatch(func(h http.Header, _ wire.Message) bool {
				for name := range h {
					if strings.HasPrefix(name, "Mcp-Param-") && !slices.Contains(known, name) {
						return true
					}
				}
				return false
			}, "A header Mcp-Param-* is unknown"),
		},
	}
}

// onProperty changes a property of the schema of check_branch.
func onProperty(name string, edit func(property server.Object)) apply {
	return onInputSchema("check_branch", func(_, properties server.Object) { edit(properties[name].(server.Object)) })
}

// onInputSchema changes the inputSchema of a tool as it is listed, not as the server
// uses it.
func onInputSchema(tool string, edit func(schema, properties server.Object)) apply {
	return onTool(tool, func(t server.Object) {
		var schema server.Object
		decode(wire.Encode(t["inputSchema"]), &schema)
		properties, _ := schema["properties"].(server.Object)
		edit(schema, properties)
		t["inputSchema"] = schema
	})
}

// headerAnnotations are faults of x-mcp-header in the definition of a tool.
func headerAnnotations() []Fault {
	annotation := func(name, does, caughtBy, property string, value any) Fault {
		return newFault(name, does, caughtBy, onProperty(property, set("x-mcp-header", value)))
	}
	const token = "headers.annotation.token"
	return []Fault{
		annotation("annotation-empty", "has an empty x-mcp-header", "headers.annotation.empty", "branch", ""),
		annotation("annotation-with-space", "has an x-mcp-header with a space", token, "branch", "Branch Name"),
		annotation("annotation-beyond-ascii", "has an x-mcp-header with an umlaut", token, "branch", "Gebäude"),
		annotation("annotation-true", "writes x-mcp-header as true", token, "branch", true),
		annotation("annotation-with-newline", "has an x-mcp-header with a line end", "headers.annotation.control",
			"branch",
			"Branch\r\nX-Evil: 1"),
		annotation("annotation-twice", "has two x-mcp-header that differ only in case", "headers.annotation.unique",
			"copies", "BRANCH"),
		annotation("annotation-on-object", "has an x-mcp-header on an object", "headers.annotation.type", "to", "To"),
		{
			Name: "annotation-on-number", Does: "has an x-mcp-header on a number that is not always an integer",
			CaughtBy: []string{"headers.annotation.type"},
			Apply: onProperty("copies", func(p server.Object) {
				p["type"], p["multipleOf"] = []any{"number", "integer"}, 1
			}),
		},
		{
			Name: "annotation-default-beyond", Does: "has an x-mcp-header on an integer whose default is beyond 2^53-1",
			CaughtBy: []string{"headers.annotation.range"},
			Apply:    onProperty("copies", set("default", uint64(1<<53))),
		},
		{
			Name: "annotation-in-definitions", Does: "has an x-mcp-header in a definition",
			CaughtBy: []string{"headers.annotation.reachable"},
			Apply: onInputSchema("check_branch", func(schema, _ server.Object) {
				schema["$defs"] = server.Object{"shelf": server.Object{"type": "string", "x-mcp-header": "Shelf"}}
			}),
		},
		{
			Name: "annotation-in-composition", Does: "has an x-mcp-header in a branch of anyOf",
			CaughtBy: []string{"headers.annotation.reachable"},
			Apply: onInputSchema("check_branch", func(schema, _ server.Object) {
				urgent := server.Object{"type": "boolean", "x-mcp-header": "Hurry"}
				schema["anyOf"] = []any{server.Object{"properties": server.Object{"urgent": urgent}}, server.Object{}}
			}),
		},
		{
			Name: "annotation-on-root", Does: "has an x-mcp-header on the schema itself",
			Breaks:   []string{"headers-mcp-param-statically-reachable"},
			CaughtBy: []string{"headers.annotation.reachable"},
			Apply:    onInputSchema("check_branch", func(schema, _ server.Object) { schema["x-mcp-header"] = "All" }),
		},
	}
}
