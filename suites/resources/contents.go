package resources

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// isWebURI reports whether a client may fetch a resource without the server
// (server/resources#common-uri-schemes).
func isWebURI(uri string) bool {
	return strings.HasPrefix(uri, "https:") || strings.HasPrefix(uri, "http:")
}

// onlyItem returns the item of the contents of a resource and the number of its
// bytes; ok is false unless there is exactly one, with the URI of the resource.
func onlyItem(t *check.T, u usage.Use) (item gjson.Result, size int, ok bool) {
	items := u.Answer.Message.Result().Get("contents").Array()
	if u.Err != nil || !check.IsComplete(t, u.Answer.Message) || len(items) != 1 ||
		items[0].Get("uri").String() != u.URI {
		return item, 0, false
	}
	item = items[0]
	if text := item.Get("text"); text.Type == gjson.String {
		return item, len(text.Str), true
	}
	data, err := base64.StdEncoding.DecodeString(item.Get("blob").String())
	return item, len(data), err == nil && item.Get("blob").Type == gjson.String
}

// canBeSize reports whether a size can be that of the raw content of an item that has
// n bytes: a text may be stored in another encoding, or with other line endings.
func canBeSize(item gjson.Result, n, size int) bool {
	if n == size {
		return true
	}
	text := item.Get("text")
	if text.Type != gjson.String {
		return false
	}
	byteOrderMark, carriageReturns := len("\xef\xbb\xbf"), strings.Count(text.Str, "\n")
	latin1 := utf8.RuneCountInString(text.Str)
	utf16 := 2 * latin1
	return slices.Contains([]int{n + byteOrderMark, n + carriageReturns, latin1, utf16, utf16 + 2}, size)
}
