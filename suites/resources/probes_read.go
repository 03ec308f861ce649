package resources

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onsi/gomega"
	"github.com/tidwall/gjson"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// onTheWeb tells whether a client may fetch a resource by itself
// (server/resources#common-uri-schemes).
func onTheWeb(uri string) bool {
	return strings.HasPrefix(uri, "https:") || strings.HasPrefix(uri, "http:")
}

// sole returns the one item of contents that stands for a resource, and how
// many bytes it has.
func sole(t *check.T, u usage.Use) (item gjson.Result, bytes int, ok bool) {
	list := u.Answer.Message.Result().Get("contents").Array()
	if u.Err != nil || !check.IsComplete(t, u.Answer.Message) || len(list) != 1 || list[0].Get("uri").String() != u.Uri {
		return item, 0, false
	}
	item = list[0]
	if text := item.Get("text"); text.Type == gjson.String {
		return item, len(text.Str), true
	}
	data, err := base64.StdEncoding.DecodeString(item.Get("blob").String())
	return item, len(data), err == nil && item.Get("blob").Type == gjson.String
}

// sizeOf tells whether a size may be that of the raw content. Of text it is not
// known in which encoding, and with which ends of lines, it is kept.
func sizeOf(item gjson.Result, bytes, size int) bool {
	if bytes == size {
		return true
	}
	text := item.Get("text")
	if text.Type != gjson.String {
		return false
	}
	runes := utf8.RuneCountInString(text.Str)
	return slices.Contains([]int{bytes + len("\xef\xbb\xbf"), bytes + strings.Count(text.Str, "\n"), runes, 2 * runes, 2*runes + 2}, size)
}

// noSuchResource is under a scheme that nobody has.
const noSuchResource = "mcpcheck-no-such-scheme://mcpcheck/no-such-resource"

// known tells whether a URI may be one that the server offers.
func known(t *check.T, uri string) bool {
	if _, ok := usage.ListedResource(offer.Walked(t, offer.ResourcesList), uri); ok {
		return true
	}
	return slices.ContainsFunc(usage.Entries(t, offer.TemplatesList), func(r gjson.Result) bool {
		parsed, err := uritemplate.New(r.Get("uriTemplate").Str)
		return err != nil || parsed.Match(uri) != nil // of what cannot be parsed nobody knows
	})
}

var missingResourceKey = check.NewKey[wire.Entry]("missing resource")

// missing reads a resource that there is not, once at this revision, and ends
// the body where nothing is told by that.
func missing(t *check.T) wire.Message {
	if known(t, noSuchResource) {
		t.NotObserved("a template of the server takes every URI", "")
	}
	e := check.Once(t, missingResourceKey, func() wire.Entry {
		e, err := usage.ReadResource(t, noSuchResource)
		if err != nil {
			t.NotObserved("reading a resource that does not exist was not answered: "+err.Error(), "")
		}
		return e
	})
	t.Mark(e)
	contents := e.Message.Result().Get("contents")
	switch {
	case e.Message.Kind == wire.Error:
	case !check.IsComplete(t, e.Message) || !contents.IsArray():
		t.NotObserved("reading a resource that does not exist was answered with "+e.Message.Summary(), "")
	case len(contents.Array()) > 0:
		t.NotObserved("the server has a resource under every URI", "")
	}
	return e.Message
}

// readMissing leaves empty contents, where a rule forbids them, to that.
func readMissing(t *check.T) {
	m := missing(t)
	if m.Kind == wire.Result && t.Facts.Stateless {
		t.NotObserved("reading a resource that does not exist was answered with empty contents", "")
	}
	gomega.NewWithT(t).Expect(m).To(match.BeError(t.Facts.ResourceNotFound), "reading a resource that does not exist")
}

// A misread is what came of reading what is no URI.
type misread struct {
	uri    string
	answer wire.Entry
	err    error
}

var misreadsKey = check.NewKey[[]misread]("misreads")

// misreads asks up to the first that is not answered.
func misreads(t *check.T) []misread {
	return check.Once(t, misreadsKey, func() []misread {
		var out []misread
		for _, uri := range []string{"", "not a uri", "mcpcheck:\x01\x7f", "file://"} {
			e, err := usage.ReadResource(t, uri)
			out = append(out, misread{uri, e, err})
			if err != nil {
				break
			}
		}
		return out
	})
}
