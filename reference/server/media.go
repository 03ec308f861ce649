package server

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"sync"
)

// coverPNG returns the cover of the n-th book, from 1, as a PNG.
func coverPNG(n int) []byte { return coverPNGs()[n-1] }

var coverPNGs = sync.OnceValue(func() [][]byte {
	var all [][]byte
	for i := range books() {
		all = append(all, drawCover(i+1))
	}
	return all
})

// drawCover returns an 8x8 picture in two colors.
func drawCover(n int) []byte {
	colors := color.Palette{color.Gray{240}, color.RGBA{uint8(40 * n), 90, 140, 255}}
	m := image.NewPaletted(image.Rect(0, 0, 8, 8), colors)
	for i := range 8 {
		m.SetColorIndex(i, (i*n)%8, 1)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // writing to a buffer does not fail
	}
	return b.Bytes()
}

// bellWAV returns the sound of a bell: 8 samples at 8 kHz in a WAV container.
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

// icons returns the icon of the server and its features, as a data URI so that no
// client has to fetch it.
var icons = sync.OnceValue(func() []any {
	src := "data:image/png;base64," + encode64(coverPNG(3))
	return []any{Object{"src": src, "mimeType": "image/png", "sizes": []any{"8x8"}}}
})
