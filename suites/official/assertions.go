package official

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// mustBe asserts that a value equals a JSON text.
func mustBe(t *check.T, what string, got gjson.Result, want string) {
	if !contract.EqualJSON(got.Raw, want) {
		t.Fail(want, contract.ShortJSON(got), "%s is %s, not %s", what, contract.ShortJSON(got), want)
	}
}

// mustContain asserts that a value is a string that contains all parts.
func mustContain(t *check.T, what string, got gjson.Result, parts ...string) {
	for _, part := range parts {
		if !containsText(got, part) {
			t.Fail("a text with "+contract.Quote(part), contract.ShortJSON(got),
				"%s is %s, without %s", what, contract.ShortJSON(got), contract.Quote(part))
		}
	}
}

// containsText reports whether a value is a string with the part.
func containsText(v gjson.Result, part string) bool {
	return v.Type == gjson.String && strings.Contains(v.Str, part)
}

// mustHaveTypes asserts that a list of content blocks has these types, in order.
func mustHaveTypes(t *check.T, what string, blocks gjson.Result, types ...string) {
	var got []string
	for _, b := range blocks.Array() {
		got = append(got, b.Get("type").String())
	}
	if !blocks.IsArray() || contract.Join(got) != contract.Join(types) {
		t.Fail("content of type "+contract.Join(types), contract.ShortJSON(blocks),
			"%s has content of type [%s], not [%s]", what, contract.Join(got), contract.Join(types))
	}
}

// mustBeContents asserts that contents of a resource have a URI, a media type and a
// text, and compares them with the documented ones. JSON is compared by value.
func mustBeContents(t *check.T, diff *differences, what string, contents gjson.Result, uri, mime, text string) {
	for _, member := range []string{"uri", "mimeType", "text"} {
		contract.MustBeNonEmpty(t, "the "+member+" of "+what, contents.Get(member))
	}
	diff.compareText(t, "the uri of "+what, contents.Get("uri"), uri)
	diff.compareText(t, "the mimeType of "+what, contents.Get("mimeType"), mime)
	got := contents.Get("text")
	equal := got.Str == text || mime == "application/json" && contract.EqualJSON(got.Str, text)
	diff.compare(t, "the text of "+what, equal, got, contract.Quote(text))
}
