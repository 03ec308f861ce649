package official

import (
	"encoding/base64"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// mustBe asserts that a value is JSON that equals want.
func mustBe(t *check.T, what string, got gjson.Result, want string) {
	if !contract.EqualJSON(got.Raw, want) {
		t.Fail(want, contract.ShortJSON(got), "%s is %s, not %s", what, contract.ShortJSON(got), want)
	}
}

// mustHold asserts that a string holds others.
func mustHold(t *check.T, what string, got gjson.Result, parts ...string) {
	for _, part := range parts {
		if !holdsText(got, part) {
			t.Fail("a text with "+contract.AsJSON(part), contract.ShortJSON(got), "%s is %s, without %s", what, contract.ShortJSON(got), contract.AsJSON(part))
		}
	}
}

// holdsText tells whether a value is a string with the part.
func holdsText(v gjson.Result, part string) bool {
	return v.Type == gjson.String && strings.Contains(v.Str, part)
}

// mustHaveTypes asserts that a list of content blocks is of these types, in order.
func mustHaveTypes(t *check.T, what string, blocks gjson.Result, types ...string) {
	var got []string
	for _, b := range blocks.Array() {
		got = append(got, b.Get("type").String())
	}
	if !blocks.IsArray() || contract.Commas(got) != contract.Commas(types) {
		t.Fail("content of type "+contract.Commas(types), contract.ShortJSON(blocks), "%s has content of type [%s], not [%s]", what, contract.Commas(got), contract.Commas(types))
	}
}

// The first bytes of a PNG file, and of a RIFF file of the kind WAVE.
func isPNG(b []byte) bool { return strings.HasPrefix(string(b), "\x89PNG\r\n\x1a\n") }

func isWAV(b []byte) bool {
	return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WAVE"
}

// mustShow asserts that the member of a block or contents is base64, of a file
// of the kind where the media type is the one that the kind has.
func mustShow(t *check.T, what string, block gjson.Result, member, mime string, ofKind func([]byte) bool) {
	contract.MustHaveText(t, "the mimeType of "+what, block.Get("mimeType"))
	data := block.Get(member)
	raw, err := base64.StdEncoding.DecodeString(data.String())
	switch {
	case data.Type != gjson.String:
		t.Fail("base64", contract.ShortJSON(data), "%s of %s is %s, not base64", member, what, wire.TypeName(data))
	case err != nil:
		t.Fail("base64", contract.ShortJSON(data), "%s of %s is not base64: %v", member, what, err)
	case block.Get("mimeType").Str == mime && !ofKind(raw):
		t.Fail("a file of type "+mime, contract.AsJSON(wire.Clip(string(raw), 16)), "%s of %s is no file of type %s", member, what, mime)
	}
}

// mustRead asserts that contents of a resource have a URI, a media type and a
// text, and tells the scribe which are documented; JSON is compared by value.
func mustRead(t *check.T, s *scribe, what string, contents gjson.Result, uri, mime, text string) {
	for _, member := range []string{"uri", "mimeType", "text"} {
		contract.MustHaveText(t, "the "+member+" of "+what, contents.Get(member))
	}
	s.text(t, "the uri of "+what, contents.Get("uri"), uri)
	s.text(t, "the mimeType of "+what, contents.Get("mimeType"), mime)
	got := contents.Get("text")
	s.note(t, "the text of "+what, got.Str == text || mime == "application/json" && contract.EqualJSON(got.Str, text), got, contract.AsJSON(text))
}
