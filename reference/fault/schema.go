package fault

import (
	"encoding/hex"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// schemaFaults are the faults of schema.ts, and of basic/index#_meta, #icons and
// #json-schema-usage.
func schemaFaults() []Fault {
	return slices.Concat(schemaContent(), schemaAnnotations(), schemaMeta(), schemaIcons(), schemaDialects(),
		schemaRequestMeta())
}

// onBlocks changes the content blocks of a type in the results of tools.
func onBlocks(blockType string, edit func(block server.Object)) apply {
	return onEntry("tools/call", "content", "type", blockType, edit)
}

// onPromptBlock changes the content blocks of a type in the messages of prompts.
func onPromptBlock(blockType string, edit func(block server.Object)) apply {
	return onEntries("prompts/get", "messages", func(message server.Object) {
		if block, ok := message["content"].(server.Object); ok && block["type"] == blockType {
			edit(block)
		}
	})
}

// schemaContent are faults of content blocks.
func schemaContent() []Fault {
	return []Fault{
		{
			Name: "content-type-invented", Does: "sends images as content blocks of an unknown type",
			Breaks:   []string{"schema-content-types-closed"},
			CaughtBy: []string{"schema.content.type"},
			Apply:    onBlocks("image", set("type", "picture")),
		},
		{
			Name: "link-before-its-revision",
			Does: "sends resource links in revisions that do not have them", In: spec.Until(spec.V2025_03_26),
			Breaks:   []string{"schema-content-types-closed"},
			CaughtBy: []string{"schema.content.type"},
			Apply: onBlocks("resource", func(b server.Object) {
				b["type"], b["uri"], b["name"] = "resource_link", "library://books/b1", "b1"
			}),
		},
		{
			Name: "prompt-content-list", Does: "sends an array of blocks as the content of a message of a prompt",
			CaughtBy: []string{"schema.content.type"},
			Apply: onEntries("prompts/get", "messages", func(m server.Object) {
				m["content"] = []any{m["content"]}
			}),
		},
		{
			Name: "text-absent", Does: "sends the text of text blocks in a member content",
			CaughtBy: []string{"schema.content.text"},
			Apply:    onPromptBlock("text", rename("text", "content")),
		},
		{
			Name: "image-as-data-uri", Does: "sends the data of images as data: URIs",
			CaughtBy: []string{"schema.content.image"},
			Apply: onBlocks("image", func(b server.Object) {
				b["data"] = "data:image/png;base64," + asText(b["data"])
			}),
		},
		{
			Name: "image-untyped", Does: "sends images without a mimeType",
			CaughtBy: []string{"schema.content.image"},
			Apply:    onBlocks("image", remove("mimeType")),
		},
		{
			Name: "audio-in-a-file", Does: "sends a path as the data of audio",
			CaughtBy: []string{"schema.content.audio"},
			Apply:    onBlocks("audio", set("data", "sounds/bell.wav")),
		},
		{
			Name: "resource-flat", Does: "sends the members of embedded resources in the block itself",
			Breaks:   []string{"schema-embedded-resource"},
			CaughtBy: []string{"schema.content.resource"},
			Apply: onBlocks("resource", func(b server.Object) {
				contents, _ := b["resource"].(server.Object)
				delete(b, "resource")
				maps.Copy(b, contents)
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
			Name: "prompt-resource-without-text", Does: "embeds a resource in a prompt without its text",
			Breaks:   []string{"prompts-embedded-resource-data"},
			CaughtBy: []string{"schema.content.resource"},
			Apply:    onPromptResource(remove("text")),
		},
		{
			Name: "link-nameless", Does: "sends resource links without a name",
			CaughtBy: []string{"schema.content.resource-link"},
			Apply:    onBlocks("resource_link", remove("name")),
		},
		{
			Name: "role-system", Does: "gives the messages of prompts the role system",
			CaughtBy: []string{"schema.role"},
			Apply:    onEntries("prompts/get", "messages", set("role", "system")),
		},
	}
}

// schemaAnnotations are faults of the annotations of listed resources.
func schemaAnnotations() []Fault {
	annotate := func(member string, value any) apply {
		return onEntries("resources/list", "resources", func(r server.Object) {
			if annotations, ok := r["annotations"].(server.Object); ok {
				annotations[member] = value
			}
		})
	}
	return []Fault{
		{
			Name: "audience-string", Does: "writes the audience of resources as a string",
			CaughtBy: []string{"schema.annotations.audience"},
			Apply:    annotate("audience", "user"),
		},
		{
			Name: "priority-in-percent", Does: "writes the priority of resources in percent",
			CaughtBy: []string{"schema.annotations.priority"},
			Apply:    annotate("priority", 90),
		},
		{
			Name: "modified-in-words", Does: "writes lastModified in the format of mail",
			CaughtBy: []string{"schema.annotations.last-modified"},
			Apply:    annotate("lastModified", "Fri, 02 Jan 2026 08:00:00 GMT"),
		},
	}
}

// onPrompts changes all listed prompts.
func onPrompts(edit func(prompt server.Object)) apply {
	return onEntries("prompts/list", "prompts", edit)
}

// schemaMeta are faults of _meta and its keys.
func schemaMeta() []Fault {
	key := func(key string, value any) apply {
		return onPrompts(func(p server.Object) { p["_meta"] = server.Object{key: value} })
	}
	return []Fault{
		{
			Name: "meta-string", Does: "writes the _meta of its list of prompts as a string", In: spec.Handshake,
			CaughtBy: []string{"schema.meta.object"},
			Apply:    onResult("prompts/list", set("_meta", "none")),
		},
		{
			Name: "meta-list", Does: "writes the _meta of its prompts as an array", In: spec.Since(spec.V2025_06_18),
			CaughtBy: []string{"schema.meta.object"},
			Apply:    onPrompts(func(p server.Object) { p["_meta"] = []any{} }),
		},
		{
			Name: "meta-prefix-rooted", Does: "begins a _meta key with a slash",
			CaughtBy: []string{"schema.meta.prefix"},
			Apply:    key("/shelf", "A1"),
		},
		{
			Name: "meta-label-underscore", Does: "has an underscore in the prefix of a _meta key",
			CaughtBy: []string{"schema.meta.label"},
			Apply:    key("com.my_library/shelf", "A1"),
		},
		{
			Name: "meta-name-underscore", Does: "begins the name of a _meta key with an underscore",
			CaughtBy: []string{"schema.meta.name"},
			Apply:    key("_library", server.Object{"shelf": "A1"}),
		},
		{
			Name: "meta-reserved-prefix",
			Does: "defines a _meta key under a prefix that is reserved for MCP", In: spec.Since(spec.V2025_11_25),
			CaughtBy: []string{"schema.meta.reserved"},
			Apply:    key("com.mcp.library/shelf", "A1"),
		},
		{
			Name:     "meta-reserved-label",
			Does:     "defines a _meta key under a prefix with a label that the revision reserves",
			In:       spec.Only(spec.V2025_06_18),
			CaughtBy: []string{"schema.meta.reserved"},
			Apply:    key("mcp.dev/shelf", "A1"),
		},
		{
			Name: "meta-dns-forward", Does: "writes the domain in the prefix of a _meta key forwards",
			CaughtBy: []string{"schema.meta.reverse-dns"},
			Apply:    key("harbour-street.org/shelf", "A1"),
		},
		{
			Name: "traceparent-short", Does: "sends a traceparent without flags",
			CaughtBy: []string{"schema.meta.trace"},
			Apply:    key("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"),
		},
		{
			Name: "baggage-object", Does: "sends baggage as an object",
			CaughtBy: []string{"schema.meta.trace"},
			Apply:    key("baggage", server.Object{"shelf": "A1"}),
		},
	}
}

// schemaIcons are faults of the icons of listed prompts.
func schemaIcons() []Fault {
	const source = "https://library.example/icon.png"
	icon := func(icon server.Object) apply { return onPrompts(func(p server.Object) { p["icons"] = []any{icon} }) }
	return []Fault{
		{
			Name: "icon-url", Does: "writes the source of icons in a member url",
			CaughtBy: []string{"schema.icons.shape"},
			Apply:    icon(server.Object{"url": source}),
		},
		{
			Name: "icon-sizes-string", Does: "writes the sizes of icons as a string",
			CaughtBy: []string{"schema.icons.shape"},
			Apply:    icon(server.Object{"src": source, "sizes": "48x48"}),
		},
		{
			Name: "icon-on-disk", Does: "names files of its own disk as icons",
			CaughtBy: []string{"schema.icons.source"},
			Apply:    icon(server.Object{"src": "file:///usr/share/icons/library.png"}),
		},
		{
			Name: "icon-size-single", Does: "writes the width of icons without the height",
			CaughtBy: []string{"schema.icons.sizes"},
			Apply:    icon(server.Object{"src": source, "sizes": []any{"48"}}),
		},
	}
}
