package server

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// shortJSON is a JSON value short enough for a sentence.
func shortJSON(v gjson.Result) string {
	if !v.Exists() {
		return "nothing"
	}
	return wire.Clip(v.Raw, 200)
}

func commas(names []string) string { return strings.Join(names, ", ") }

// mustBe asserts that a value is JSON that equals want.
func mustBe(t *check.T, what string, got gjson.Result, want string) {
	if !equalJSON(got.Raw, want) {
		t.Fail(want, shortJSON(got), "%s is %s, not %s", what, shortJSON(got), want)
	}
}

// mustSay asserts that a value is a certain string.
func mustSay(t *check.T, what string, got gjson.Result, want string) {
	if got.Type != gjson.String || got.Str != want {
		t.Fail(asJSON(want), shortJSON(got), "%s is %s, not %s", what, shortJSON(got), asJSON(want))
	}
}

// mustHold asserts that a string holds others.
func mustHold(t *check.T, what string, got gjson.Result, parts ...string) {
	for _, part := range parts {
		if !holdsText(got, part) {
			t.Fail("a text with "+asJSON(part), shortJSON(got), "%s is %s, without %s", what, shortJSON(got), asJSON(part))
		}
	}
}

// holdsText tells whether a value is a string with the part.
func holdsText(v gjson.Result, part string) bool {
	return v.Type == gjson.String && strings.Contains(v.Str, part)
}

func asJSON(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can be written
	}
	return string(raw)
}

// equalJSON tells whether two JSON texts have the same value.
func equalJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// mustHaveTypes asserts that a list of content blocks is of these types, in order.
func mustHaveTypes(t *check.T, what string, blocks gjson.Result, types ...string) {
	var got []string
	for _, b := range blocks.Array() {
		got = append(got, b.Get("type").String())
	}
	if !blocks.IsArray() || commas(got) != commas(types) {
		t.Fail("content of type "+commas(types), shortJSON(blocks), "%s has content of type [%s], not [%s]", what, commas(got), commas(types))
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
	mustHaveText(t, "the mimeType of "+what, block.Get("mimeType"))
	data := block.Get(member)
	raw, err := base64.StdEncoding.DecodeString(data.String())
	switch {
	case data.Type != gjson.String:
		t.Fail("base64", shortJSON(data), "%s of %s is %s, not base64", member, what, wire.TypeName(data))
	case err != nil:
		t.Fail("base64", shortJSON(data), "%s of %s is not base64: %v", member, what, err)
	case block.Get("mimeType").Str == mime && !ofKind(raw):
		t.Fail("a file of type "+mime, asJSON(wire.Clip(string(raw), 16)), "%s of %s is no file of type %s", member, what, mime)
	}
}

// mustRead asserts that contents of a resource have a URI, a media type and a
// text, and tells the scribe which are documented; JSON is compared by value.
func mustRead(t *check.T, s *scribe, what string, contents gjson.Result, uri, mime, text string) {
	for _, member := range []string{"uri", "mimeType", "text"} {
		mustHaveText(t, "the "+member+" of "+what, contents.Get(member))
	}
	s.text(t, "the uri of "+what, contents.Get("uri"), uri)
	s.text(t, "the mimeType of "+what, contents.Get("mimeType"), mime)
	got := contents.Get("text")
	s.note(t, "the text of "+what, got.Str == text || mime == "application/json" && equalJSON(got.Str, text), got, asJSON(text))
}

// mustHaveText asserts that a value is a string with something in it.
func mustHaveText(t *check.T, what string, got gjson.Result) {
	if got.Type != gjson.String || got.Str == "" {
		t.Fail("a string", shortJSON(got), "%s is %s, not a string with something in it", what, shortJSON(got))
	}
}
