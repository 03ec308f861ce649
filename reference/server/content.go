package server

import (
	"encoding/base64"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The content blocks (schema.ts#ContentBlock) with all their members; contentAt
// reduces them to a revision.

func textBlock(s string) Object { return Object{"type": "text", "text": s} }

func imageBlock(data []byte) Object {
	return Object{
		"type": "image", "mimeType": "image/png", "data": encode64(data),
		"annotations": Object{"audience": []any{"user"}, "priority": 0.5},
	}
}

func audioBlock(data []byte) Object {
	return Object{"type": "audio", "mimeType": "audio/wav", "data": encode64(data)}
}

func linkBlock(b book) Object {
	return Object{
		"type": "resource_link", "uri": b.uri(), "name": b.id, "title": b.title, "mimeType": markdown,
		"description": "The record of " + b.title, "size": len(b.markdown()),
		"annotations": Object{
			"audience": []any{"user", "assistant"}, "priority": 1, "lastModified": "2026-03-01T09:00:00Z",
		},
	}
}

func embeddedBlock(contents Object) Object { return Object{"type": "resource", "resource": contents} }

func textContents(uri, mimeType, text string) Object {
	return Object{"uri": uri, "mimeType": mimeType, "text": text}
}

func blobContents(uri, mimeType string, data []byte) Object {
	return Object{"uri": uri, "mimeType": mimeType, "blob": encode64(data)}
}

// contentAt returns the blocks that the revision knows.
func contentAt(v spec.Revision, blocks []Object) []any {
	types := v.Facts().ContentTypes
	out := []any{}
	for _, b := range blocks {
		if slices.Contains(types, stringOf(b["type"])) {
			out = append(out, membersAt(v, "Content", b))
		}
	}
	return out
}

func encode64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
