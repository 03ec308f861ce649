package server

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The content blocks (schema.ts#ContentBlock), written complete; contents cuts
// them to a revision.

func textBlock(s string) Object { return Object{"type": "text", "text": s} }

func imageBlock(data []byte) Object {
	return Object{"type": "image", "mimeType": "image/png", "data": encode64(data),
		"annotations": Object{"audience": []any{"user"}, "priority": 0.5}}
}

func audioBlock(data []byte) Object {
	return Object{"type": "audio", "mimeType": "audio/wav", "data": encode64(data)}
}

func linkBlock(b book) Object {
	return Object{"type": "resource_link", "uri": b.uri(), "name": b.id, "title": b.title, "mimeType": "text/markdown",
		"description": "The record of " + b.title, "size": len(b.markdown()),
		"annotations": Object{"audience": []any{"user", "assistant"}, "priority": 1, "lastModified": "2026-03-01T09:00:00Z"}}
}

func embeddedBlock(contents Object) Object { return Object{"type": "resource", "resource": contents} }

func textContents(uri, mimeType, text string) Object {
	return Object{"uri": uri, "mimeType": mimeType, "text": text}
}

func blobContents(uri, mimeType string, data []byte) Object {
	return Object{"uri": uri, "mimeType": mimeType, "blob": encode64(data)}
}

// contents returns the blocks that the revision knows.
func contentAt(v spec.Revision, blocks []Object) []any {
	kinds := v.Facts().ContentTypes
	out := []any{}
	for _, b := range blocks {
		if slices.Contains(kinds, stringOf(b["type"])) {
			out = append(out, membersAt(v, "Content", b))
		}
	}
	return out
}

func encode64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// cover returns the cover of the n-th book, from 1, as a PNG.
func coverPNG(n int) []byte { return coverPNGs()[n-1] }

var coverPNGs = sync.OnceValue(func() [][]byte {
	var all [][]byte
	for i := range books() {
		all = append(all, drawCover(i+1))
	}
	return all
})

// paint makes a small picture in two colours.
func drawCover(n int) []byte {
	m := image.NewPaletted(image.Rect(0, 0, 8, 8), color.Palette{color.Gray{240}, color.RGBA{uint8(40 * n), 90, 140, 255}})
	for i := range 8 {
		m.SetColorIndex(i, (i*n)%8, 1)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// bell is the sound of the desk bell: 8 samples at 8 kHz in a WAV container.
func bellWAV() []byte {
	samples := []byte{128, 200, 240, 200, 128, 56, 16, 56}
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, uint32(36+len(samples)))
	b = append(b, "WAVEfmt "...)
	for _, v := range []uint32{16, 1 | 1<<16, 8000, 8000, 1 | 8<<16} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(samples)))
	return append(b, samples...)
}

// icons is the picture of the library, inline so that nobody has to fetch it.
var icons = sync.OnceValue(func() []any {
	return []any{Object{"src": "data:image/png;base64," + encode64(coverPNG(3)), "mimeType": "image/png", "sizes": []any{"8x8"}}}
})
