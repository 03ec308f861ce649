package fault

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// schemaDialects are faults of basic/index#json-schema-usage.
func schemaDialects() []Fault {
	return []Fault{
		{
			Name: "draft-07", Does: "has a tool whose schema is of draft-07, and validates by draft-07",
			CaughtBy: []string{"schema.dialect.recommended"},
			Apply:    offerDraft07Tool,
		},
		{
			Name: "draft-07-ignored", Does: "validates a schema that names draft-07 by 2020-12",
			CaughtBy: []string{"schema.dialect.declared"},
			Also: map[string]string{
				"schema.dialect.recommended": "the tool must name another dialect than 2020-12",
			},
			Apply: combine(offerDraft07Tool, onArguments("frank_parcel", func(args server.Object) {
				if list, ok := args["stamps"].([]any); ok && len(list) == 0 {
					args["stamps"] = []any{"airmail"}
				}
			})),
		},
		{
			Name:     "default-dialect-draft-07",
			Does:     "ignores dependentRequired and prefixItems, which draft-07 does not have",
			CaughtBy: []string{"schema.dialect.default"},
			Apply: onArguments("check_shelfmark", func(args server.Object) {
				if args["stack"] != nil && args["floor"] == nil {
					args["floor"] = 0
				}
				if mark, ok := args["mark"].([]any); ok && len(mark) > 1 {
					args["mark"] = []any{"A", 1}
				}
			}),
		},
	}
}

// onArguments changes the arguments of calls of a tool before they are validated.
func onArguments(tool string, edit func(args server.Object)) apply {
	return onRequestWhen(isCall(tool), func(r *server.Request) {
		if args, ok := r.Params["arguments"].(server.Object); ok {
			edit(args)
		}
	})
}

// offerDraft07Tool offers a tool whose schema names draft-07 and means something
// else under 2020-12, which has minContains.
func offerDraft07Tool(o *server.Options) {
	onLibrary(func(l *server.Features) {
		l.Tools = append(l.Tools, &server.Tool{
			Name: "frank_parcel", Title: "Frank a parcel", Description: "Tells whether the stamps on a parcel suffice.",
			InputSchema: server.Object{
				"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
				"properties": server.Object{"stamps": server.Object{
					"type": "array", "items": server.Object{"enum": []any{"airmail", "local"}},
					"default":  []any{"airmail"},
					"contains": server.Object{"const": "airmail"}, "minContains": 0,
				}},
				"required": []any{"stamps"}, "additionalProperties": false,
			},
			Annotations: server.Object{"readOnlyHint": true},
			Run:         func(context.Context, *server.Call) server.Outcome { return textOutcome("They suffice.") },
		})
	})(o)
}

// schemaClientFaults are the faults of the client in
// basic/index#per-request-protocol-fields.
func schemaClientFaults() []ClientFault {
	const version = `"` + spec.MetaProtocolVersion + `":"` + string(spec.V2026_07_28) + `"`
	const capabilities = `"` + spec.MetaClientCapabilities + `":{}`
	const info = `"` + spec.MetaClientInfo + `":{"name":"` + client.Name + `","version":"` + client.Version + `"}`
	return []ClientFault{
		{
			Name: "client-meta-no-capabilities", Does: "leaves its capabilities out of _meta",
			CaughtBy: []string{"schema.client.meta.required"},
			Apply:    clientRewrites("tools/list", capabilities+`,`, ``),
		},
		{
			Name: "client-meta-version-number", Does: "writes the version in _meta as a number",
			Breaks:   []string{"lifecycle-meta-protocol-version-string"},
			CaughtBy: []string{"schema.client.meta.version"},
			Also:     map[string]string{"discover.client.version.listed": "a number is not a listed version"},
			Apply:    clientRewrites("tools/list", version, `"`+spec.MetaProtocolVersion+`":20260728`),
		},
		{
			Name: "client-meta-version-spelling", Does: "writes the version in _meta with dots",
			Breaks:   []string{"versioning-identifier"},
			CaughtBy: []string{"schema.client.meta.version"},
			Also:     map[string]string{"discover.client.version.listed": "with dots it is not a listed version"},
			Apply:    clientRewrites("tools/list", version, `"`+spec.MetaProtocolVersion+`":"2026.07.28"`),
		},
		{
			Name: "client-meta-capabilities-list", Does: "writes its capabilities in _meta as an array",
			CaughtBy: []string{"schema.client.meta.capabilities"},
			Apply:    clientRewrites("", capabilities, `"`+spec.MetaClientCapabilities+`":[]`),
		},
		{
			Name: "client-meta-anonymous", Does: "leaves clientInfo out of _meta",
			CaughtBy: []string{"schema.client.meta.info"},
			Apply:    clientRewrites("", info+`,`, ``),
		},
	}
}
