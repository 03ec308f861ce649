package contract

import (
	"encoding/base64"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// IsPNG reports whether bytes begin as a PNG file.
func IsPNG(b []byte) bool { return strings.HasPrefix(string(b), "\x89PNG\r\n\x1a\n") }

// IsWAV reports whether bytes begin as a RIFF file of the kind WAVE.
func IsWAV(b []byte) bool {
	return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WAVE"
}

// MustEncodeFile asserts that a member of a block or of contents is base64. If the
// media type is the given one, the bytes must be a file of it.
func MustEncodeFile(t *check.T, what string, block gjson.Result, member, mime string, ofKind func([]byte) bool) {
	MustBeNonEmpty(t, "the mimeType of "+what, block.Get("mimeType"))
	data := block.Get(member)
	raw, err := base64.StdEncoding.DecodeString(data.String())
	switch {
	case data.Type != gjson.String:
		t.Fail("base64", ShortJSON(data), "%s of %s is %s, not base64", member, what, wire.TypeName(data))
	case err != nil:
		t.Fail("base64", ShortJSON(data), "%s of %s is not base64: %v", member, what, err)
	case block.Get("mimeType").Str == mime && !ofKind(raw):
		t.Fail("a file of type "+mime, Quote(wire.Clip(string(raw), 16)),
			"%s of %s is not a file of type %s", member, what, mime)
	}
}
