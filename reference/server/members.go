package server

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// memberRevisions lists, for the objects of the schema, the members that only some
// revisions have (schema.ts of each revision). The server writes its objects with
// all members; membersAt and reduceTo remove those that a revision lacks.
var memberRevisions = func() map[string]map[string]spec.Set {
	title, icons, meta := spec.Since(spec.V2025_06_18), spec.Since(spec.V2025_11_25), spec.Since(spec.V2025_06_18)
	named := map[string]spec.Set{"title": title, "icons": icons, "_meta": meta}
	return map[string]map[string]spec.Set{
		"Implementation": {"title": title, "icons": icons, "description": icons, "websiteUrl": icons},
		"ServerCapabilities": {
			"completions": spec.Since(spec.V2025_03_26), "tasks": taskRevisions, "extensions": spec.Stateless,
		},
		"Tool": {
			"title": title, "icons": icons, "_meta": meta,
			"annotations":  spec.Since(spec.V2025_03_26),
			"outputSchema": spec.Since(spec.V2025_06_18),
			"execution":    taskRevisions,
		},
		"CallToolResult":   {"structuredContent": spec.Since(spec.V2025_06_18)},
		"Resource":         named,
		"ResourceTemplate": named,
		"ResourceContents": {"_meta": meta},
		"Prompt":           named,
		"PromptArgument":   {"title": title},
		"Content":          {"_meta": meta, "title": title, "icons": icons},
		"Annotations":      {"lastModified": spec.Since(spec.V2025_06_18)},
		"Progress":         {"message": spec.Since(spec.V2025_03_26)},
		"ElicitRequest":    {"mode": spec.Since(spec.V2025_11_25), "elicitationId": spec.Only(spec.V2025_11_25)},
		"PrimitiveSchema":  {"default": spec.Since(spec.V2025_11_25)},
	}
}()

// membersAt returns a copy of the object with the members that the revision has.
func membersAt(v spec.Revision, kind string, o Object) Object {
	return reduceTo(v, kind, maps.Clone(o))
}

// reduceTo removes from an object the members that the revision lacks, and returns
// it. It copies the annotations, which are shared.
func reduceTo(v spec.Revision, kind string, o Object) Object {
	for member, in := range memberRevisions[kind] {
		if !in.Has(v) {
			delete(o, member)
		}
	}
	if a, ok := o["annotations"].(Object); ok && kind != "Tool" {
		o["annotations"] = membersAt(v, "Annotations", a)
	}
	return o
}
