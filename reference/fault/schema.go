package fault

import (
	"context"
	"encoding/hex"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// schemaArea are the faults of schema.ts, and of basic/index#_meta, #icons and
// #json-schema-usage.
func schemaArea() []Fault {
	return slices.Concat(contentFaults(), annotationFaults(), metaKeyFaults(), iconFaults(), dialectFaults(), methodFaults())
}

// onEntries changes the entries of a list in the results of a method.
func onEntries(method, member string, edit func(entry server.Object)) apply {
	return onResult(method, func(result server.Object) {
		list, _ := result[member].([]any)
		for _, entry := range list {
			if o, ok := entry.(server.Object); ok {
				edit(o)
			}
		}
	})
}

// onBlocks changes the content blocks of a type in the results of tools.
func onBlocks(kind string, edit func(block server.Object)) apply {
	return onEntries("tools/call", "content", func(block server.Object) {
		if block["type"] == kind {
			edit(block)
		}
	})
}

// onPromptText changes the text blocks of prompts.
func onPromptText(edit func(block server.Object)) apply {
	return onEntries("prompts/get", "messages", func(message server.Object) {
		if block, ok := message["content"].(server.Object); ok && block["type"] == "text" {
			edit(block)
		}
	})
}

func contentFaults() []Fault {
	return []Fault{
		{
			Name: "content-of-its-own-type", Does: "sends pictures under a type that it invented",
			Breaks:   []string{"schema-content-types-closed"},
			CaughtBy: []string{"schema.content.type"},
			Apply:    onBlocks("image", func(b server.Object) { b["type"] = "picture" }),
		},
		{
			Name: "link-ahead-of-its-time", Does: "links to resources in revisions that have no links", In: spec.Until(spec.V2025_03_26),
			Breaks:   []string{"schema-content-types-closed"},
			CaughtBy: []string{"schema.content.type"},
			Apply: onBlocks("resource", func(b server.Object) {
				b["type"], b["uri"], b["name"] = "resource_link", "library://books/b1", "b1"
			}),
		},
		{
			Name: "prompt-content-list", Does: "sends a list of blocks as the content of a message of a prompt",
			CaughtBy: []string{"schema.content.type"},
			Apply: onEntries("prompts/get", "messages", func(m server.Object) {
				m["content"] = []any{m["content"]}
			}),
		},
		{
			Name: "text-absent", Does: "sends the text of text blocks as content",
			CaughtBy: []string{"schema.content.text"},
			Apply: onPromptText(func(b server.Object) {
				b["content"] = b["text"]
				delete(b, "text")
			}),
		},
		{
			Name: "image-as-data-uri", Does: "sends pictures as data: URIs",
			CaughtBy: []string{"schema.content.image"},
			Apply: onBlocks("image", func(b server.Object) {
				data, _ := b["data"].(string)
				b["data"] = "data:image/png;base64," + data
			}),
		},
		{
			Name: "image-untyped", Does: "sends pictures without their MIME type",
			CaughtBy: []string{"schema.content.image"},
			Apply:    onBlocks("image", func(b server.Object) { delete(b, "mimeType") }),
		},
		{
			Name: "audio-in-a-file", Does: "sends the path of a sound for its data",
			CaughtBy: []string{"schema.content.audio"},
			Apply:    onBlocks("audio", func(b server.Object) { b["data"] = "sounds/bell.wav" }),
		},
		{
			Name: "resource-flat", Does: "sends the members of embedded resources in the block itself",
			Breaks:   []string{"schema-embedded-resource"},
			CaughtBy: []string{"schema.content.resource"},
			Apply: onBlocks("resource", func(b server.Object) {
				contents, _ := b["resource"].(server.Object)
				delete(b, "resource")
				for k, v := range contents {
					b[k] = v
				}
			}),
		},
		{
			Name: "blob-in-hex", Does: "sends the blobs of embedded resources as a hex dump",
			Breaks:   []string{"schema-embedded-resource"},
			CaughtBy: []string{"schema.content.resource"},
			Apply: onBlocks("resource", func(b server.Object) {
				if contents, ok := b["resource"].(server.Object); ok && contents["blob"] != nil {
					contents["blob"] = hex.Dump([]byte("a cover"))
				}
			}),
		},
		{
			Name: "link-nameless", Does: "links to resources without a name",
			CaughtBy: []string{"schema.content.resource-link"},
			Apply:    onBlocks("resource_link", func(b server.Object) { delete(b, "name") }),
		},
		{
			Name: "role-system", Does: "gives the messages of prompts the role system",
			CaughtBy: []string{"schema.role"},
			Apply:    onEntries("prompts/get", "messages", func(m server.Object) { m["role"] = "system" }),
		},
	}
}

// annotate changes the annotations of listed resources.
func annotate(member string, value any) apply {
	return onEntries("resources/list", "resources", func(r server.Object) {
		if a, ok := r["annotations"].(server.Object); ok {
			a[member] = value
		}
	})
}

func annotationFaults() []Fault {
	return []Fault{
		{
			Name: "audience-string", Does: "names the audience of resources as a string",
			CaughtBy: []string{"schema.annotations.audience"},
			Apply:    annotate("audience", "user"),
		},
		{
			Name: "priority-in-percent", Does: "gives the priority of resources in percent",
			CaughtBy: []string{"schema.annotations.priority"},
			Apply:    annotate("priority", 90),
		},
		{
			Name: "modified-in-words", Does: "dates resources as mail does",
			CaughtBy: []string{"schema.annotations.last-modified"},
			Apply:    annotate("lastModified", "Fri, 02 Jan 2026 08:00:00 GMT"),
		},
	}
}

// metaKey puts a key into the _meta of listed prompts.
func metaKey(key string, value any) apply {
	return onEntries("prompts/list", "prompts", func(p server.Object) { p["_meta"] = server.Object{key: value} })
}

func metaKeyFaults() []Fault {
	keyed := spec.Since(spec.V2025_06_18)
	return []Fault{
		{
			Name: "meta-string", Does: "sends a string as _meta of its list of prompts", In: spec.Handshake,
			CaughtBy: []string{"schema.meta.object"},
			Apply:    onResult("prompts/list", func(o server.Object) { o["_meta"] = "none" }),
		},
		{
			Name: "meta-list", Does: "sends a list as _meta of its prompts", In: keyed,
			CaughtBy: []string{"schema.meta.object"},
			Apply:    onEntries("prompts/list", "prompts", func(p server.Object) { p["_meta"] = []any{} }),
		},
		{
			Name: "meta-prefix-rooted", Does: "begins a _meta key with a slash",
			CaughtBy: []string{"schema.meta.prefix"},
			Apply:    metaKey("/shelf", "A1"),
		},
		{
			Name: "meta-label-underscore", Does: "has an underscore in the prefix of a _meta key",
			CaughtBy: []string{"schema.meta.label"},
			Apply:    metaKey("com.my_library/shelf", "A1"),
		},
		{
			Name: "meta-name-underscore", Does: "begins the name of a _meta key with an underscore",
			CaughtBy: []string{"schema.meta.name"},
			Apply:    metaKey("_library", server.Object{"shelf": "A1"}),
		},
		{
			Name: "meta-squats", Does: "defines a _meta key under a prefix reserved for MCP", In: spec.Since(spec.V2025_11_25),
			CaughtBy: []string{"schema.meta.reserved"},
			Apply:    metaKey("com.mcp.library/shelf", "A1"),
		},
		{
			Name: "meta-squats-early", Does: "defines a _meta key under a prefix that the revision reserved by any label", In: spec.Only(spec.V2025_06_18),
			CaughtBy: []string{"schema.meta.reserved"},
			Apply:    metaKey("mcp.dev/shelf", "A1"),
		},
		{
			Name: "meta-dns-forward", Does: "writes its domain forwards in the prefix of a _meta key",
			CaughtBy: []string{"schema.meta.reverse-dns"},
			Apply:    metaKey("harbour-street.org/shelf", "A1"),
		},
		{
			Name: "traceparent-short", Does: "sends a traceparent without flags",
			CaughtBy: []string{"schema.meta.trace"},
			Apply:    metaKey("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"),
		},
		{
			Name: "baggage-object", Does: "sends baggage as an object",
			CaughtBy: []string{"schema.meta.trace"},
			Apply:    metaKey("baggage", server.Object{"shelf": "A1"}),
		},
	}
}

// onIcons gives listed prompts another icon.
func onIcons(icon server.Object) apply {
	return onEntries("prompts/list", "prompts", func(p server.Object) { p["icons"] = []any{icon} })
}

func iconFaults() []Fault {
	return []Fault{
		{
			Name: "icon-url", Does: "names the source of icons url",
			CaughtBy: []string{"schema.icons.shape"},
			Apply:    onIcons(server.Object{"url": "https://library.example/icon.png"}),
		},
		{
			Name: "icon-sizes-string", Does: "gives the sizes of icons as one string",
			CaughtBy: []string{"schema.icons.shape"},
			Apply:    onIcons(server.Object{"src": "https://library.example/icon.png", "sizes": "48x48"}),
		},
		{
			Name: "icon-on-disk", Does: "names files of its own disk as icons",
			CaughtBy: []string{"schema.icons.source"},
			Apply:    onIcons(server.Object{"src": "file:///usr/share/icons/library.png"}),
		},
		{
			Name: "icon-size-single", Does: "gives the width of icons alone",
			CaughtBy: []string{"schema.icons.sizes"},
			Apply:    onIcons(server.Object{"src": "https://library.example/icon.png", "sizes": []any{"48"}}),
		},
	}
}

// draft07 adds a tool whose schema names draft-07 and means something else
// under 2020-12: only there is it minContains that says how many.
func draft07(o *server.Options) {
	inner := o.Library
	o.Library = func(l *server.Library) {
		if inner != nil {
			inner(l)
		}
		l.Tools = append(l.Tools, &server.Tool{
			Name: "frank_parcel", Title: "Frank a parcel", Description: "Tells whether the stamps on a parcel suffice.",
			Input: server.Object{
				"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
				"properties": server.Object{"stamps": server.Object{
					"type": "array", "items": server.Object{"enum": []any{"airmail", "local"}}, "default": []any{"airmail"},
					"contains": server.Object{"const": "airmail"}, "minContains": 0,
				}},
				"required": []any{"stamps"}, "additionalProperties": false,
			},
			Hints: server.Object{"readOnlyHint": true},
			Run: func(context.Context, *server.Call) server.Outcome {
				return server.Outcome{Content: []server.Object{{"type": "text", "text": "They will do."}}}
			},
		})
	}
}

// repaired has the server not notice what the keyword would refuse in the
// arguments of a tool.
func repaired(tool string, repair func(args server.Object)) apply {
	return onRequest("tools/call", func(r *server.Request) {
		if args, ok := r.Params["arguments"].(server.Object); ok && r.Params["name"] == tool {
			repair(args)
		}
	})
}

func dialectFaults() []Fault {
	return []Fault{
		{
			Name: "draft-07", Does: "has a tool whose schema is of draft-07, and keeps to it",
			CaughtBy: []string{"schema.dialect.recommended"},
			Apply:    draft07,
		},
		{
			Name: "draft-07-ignored", Does: "takes the schema of a tool that names draft-07 for 2020-12",
			CaughtBy: []string{"schema.dialect.declared"},
			Also: map[string]string{
				"schema.dialect.recommended": "another dialect than 2020-12 is what the tool must name",
			},
			Apply: all(draft07, repaired("frank_parcel", func(args server.Object) {
				if list, ok := args["stamps"].([]any); ok && len(list) == 0 {
					args["stamps"] = []any{"airmail"}
				}
			})),
		},
		{
			Name: "default-dialect-draft-07", Does: "overlooks dependentRequired and prefixItems, which draft-07 does not know",
			CaughtBy: []string{"schema.dialect.default"},
			Apply: repaired("check_shelfmark", func(args server.Object) {
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

func methodFaults() []Fault {
	announce := func(method string, params server.Object) apply {
		return beforeAnswer("tools/list", func(_ context.Context, r *server.Request) { r.Notify(method, params) })
	}
	return []Fault{
		{
			Name: "says-initialized", Does: "sends the notification by which clients end the handshake",
			CaughtBy: []string{"schema.methods.notifications"},
			Apply:    announce("notifications/initialized", nil),
		},
		{
			Name: "lists-tools-of-the-client", Does: "asks the client for its tools",
			CaughtBy: []string{"schema.methods.requests"},
			Apply: afterLine(wire.Request, "tools/list", func(m wire.Message, out server.FrameSink) {
				out(raw(`{"jsonrpc":"2.0","id":"library-%x","method":"tools/list"}`, m.ID().Raw))
			}),
		},
		{
			Name: "notifies-ahead-of-its-time", Does: "tells that an elicitation is complete, in revisions before that notification", In: spec.Until(spec.V2025_06_18),
			CaughtBy: []string{"versioning.methods", "versioning.methods.advised"},
			Apply:    announce("notifications/elicitation/complete", server.Object{"elicitationId": "e1"}),
		},
	}
}
