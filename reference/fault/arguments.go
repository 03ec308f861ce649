package fault

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// toolArguments are the faults of server/tools#security-considerations: a tool
// whose inputSchema promises more than is checked.
func toolArguments() []Fault {
	query, limit, word := server.Object{"type": "string", "minLength": 1, "maxLength": 200}, server.Object{"type": "integer", "minimum": 1, "maximum": 50}, server.Object{"type": "string"}
	with := func(name string, schema server.Object) server.Object {
		return server.Object{"query": query, "limit": limit, name: schema}
	}
	unchecked := func(name, does string, promised server.Object) Fault {
		return Fault{
			Name: name, Does: does, In: spec.Every,
			Breaks:   []string{"tools-validate-inputs"},
			CaughtBy: []string{"tools.call.arguments.validated"},
			Apply:    all(scoped, promising("search_catalogue", promised)),
		}
	}
	return []Fault{
		unchecked("enum-unchecked", "searches for a word that is not among those it allows", server.Object{
			"properties": with("query", server.Object{"type": "string", "enum": []any{"harbour", "tide"}}),
		}),
		unchecked("pattern-unchecked", "searches for words in capitals, which its pattern excludes", server.Object{
			"properties": with("query", server.Object{"type": "string", "pattern": "^[a-z ]+$", "minLength": 1, "maxLength": 200}),
		}),
		unchecked("maximum-unchecked", "returns more books than the maximum of its limit", server.Object{
			"properties": with("limit", server.Object{"type": "integer", "minimum": 1, "maximum": 10}),
		}),
		unchecked("nested-required-unchecked", "takes a scope without the shelf that it requires", server.Object{
			"properties": with("scope", server.Object{"type": "object", "properties": server.Object{"shelf": word}, "required": []any{"shelf"}}),
		}),
		unchecked("items-unchecked", "takes a list whose items are of another type", server.Object{
			"properties": with("scope", server.Object{"type": "array", "items": word}),
		}),
		unchecked("union-unchecked", "takes a scope that fits no branch of a union", server.Object{
			"properties": with("scope", server.Object{"oneOf": []any{
				server.Object{"type": "object", "properties": server.Object{"shelf": word}, "required": []any{"shelf"}},
				server.Object{"type": "null"},
			}}),
		}),
		unchecked("condition-unchecked", "takes a limit without the scope that then has to be given", server.Object{
			"properties": with("scope", word),
			"if":         server.Object{"required": []any{"limit"}},
			"then":       server.Object{"required": []any{"scope"}},
		}),
	}
}

// scoped has the search take a scope of any kind, and pass over it.
func scoped(o *server.Options) {
	onLibraryTool("search_catalogue", func(tool *server.Tool) {
		properties := server.Object{"scope": server.Object{}}
		for name, schema := range tool.Input["properties"].(server.Object) {
			properties[name] = schema
		}
		tool.Input = server.Object{"type": "object", "properties": properties, "required": []any{"query"}, "additionalProperties": false}
	})(o)
}

// promising lists a tool with another inputSchema than the one it is held to.
func promising(name string, promised server.Object) apply {
	return onTool(name, func(tool server.Object) {
		input := server.Object{"type": "object", "required": []any{"query"}, "additionalProperties": false}
		for keyword, value := range promised {
			input[keyword] = value
		}
		tool["inputSchema"] = input
	})
}
