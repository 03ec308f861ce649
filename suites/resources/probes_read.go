package resources

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onsi/gomega"
	"github.com/tidwall/gjson"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
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

// listedReadable asks again for what could not be read, while it is still
// listed. Codes that ask the client for more are no failures.
func listedReadable(t *check.T) {
	seen := false
	for _, u := range usage.Used(t).Resources {
		m := u.Answer.Message
		code, _ := m.Code()
		switch {
		case u.Err != nil || onTheWeb(u.Uri) || code == spec.MissingClientCapability || code == spec.LegacyURLElicitationError:
			continue
		case m.Kind == wire.Result:
			seen = true
			continue
		}
		if _, still := usage.ListedResource(offer.WalkNow(t, offer.ResourcesList), u.Uri); !still {
			continue
		}
		if e, err := usage.ReadResource(t, u.Uri); err == nil && e.Message.Kind == wire.Error {
			t.Mark(e)
			t.Fail("its contents", e.Message.Summary(), "%s is listed, and reading it was answered with %s", wire.Clip(u.Uri, 120), e.Message.Summary())
		}
	}
	if !seen {
		t.NotObserved("no listed resource was read", "offer a resource that can be read")
	}
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

// sizeInBytes asks for list and resource again before it judges: of contents
// that change no list can tell the size.
func sizeInBytes(t *check.T) {
	seen := false
	for _, u := range usage.Used(t).Resources {
		size := u.Entry.Get("size")
		item, n, ok := sole(t, u)
		if !ok || !wire.IsInteger(size) {
			continue
		}
		if sizeOf(item, n, int(size.Int())) {
			seen = true
			continue
		}
		entry, still := usage.ListedResource(offer.WalkNow(t, offer.ResourcesList), u.Uri)
		again := u
		again.Answer, again.Err = usage.ReadResource(t, u.Uri)
		if same, _, ok := sole(t, again); ok && still && same.Raw == item.Raw && entry.Get("size").Raw == size.Raw {
			t.Mark(again.Answer)
			t.Fail(size.Raw+" bytes", fmt.Sprintf("%d bytes", n), "%s is listed with a size of %s bytes, and has %d", wire.Clip(u.Uri, 120), size.Raw, n)
		}
	}
	if !seen {
		t.NotObserved("no resource that was read has a size", "tell the size of a resource")
	}
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

// templateUniform leaves out what is also listed on its own, and what is read
// but not under the URI that was asked for.
func templateUniform(t *check.T) {
	seen := false
	for _, u := range usage.Used(t).Templates {
		named := u.Entry.Get("mimeType")
		if _, alone := usage.ListedResource(offer.Walked(t, offer.ResourcesList), u.Uri); alone || named.Type != gjson.String || u.Err != nil || !check.IsComplete(t, u.Answer.Message) {
			continue
		}
		for _, item := range u.Answer.Message.Result().Get("contents").Array() {
			has := item.Get("mimeType")
			if has.Type != gjson.String || item.Get("uri").String() != u.Uri {
				continue
			}
			if format.MediaTypeOf(has.Str) != format.MediaTypeOf(named.Str) {
				t.Mark(u.Answer)
				t.Fail(named.Str, has.Str, "the template %s names the media type %s, and %s has %s", wire.Clip(u.Entry.Get("uriTemplate").Str, 120), named.Str, wire.Clip(u.Uri, 120), has.Str)
			}
			seen = true
		}
	}
	if !seen {
		t.NotObserved("no template with a media type led to a resource that could be read", "complete the variables of a template, or list a resource that it leads to")
	}
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

// missing reads a resource that there is not, once at this revision, and ends
// the body where nothing is told by that.
func missing(t *check.T) wire.Message {
	if known(t, noSuchResource) {
		t.NotObserved("a template of the server takes every URI", "")
	}
	e := check.Memo(t, "missing resource", func() wire.Entry {
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

func readMissingEmpty(t *check.T) {
	if m := missing(t); m.Kind == wire.Result {
		t.Fail("an error", m.Summary(), "reading a resource that does not exist was answered with empty contents")
	}
}

// readNothing leaves it to jsonrpc.params.invalid that there is an error at all.
// readNothing accepts over HTTP that the header for the uri is missed first
// (basic/transports/streamable-http#server-validation).
func readNothing(t *check.T) {
	m := t.Request("resources/read", check.Params{})
	code, _ := m.Code()
	switch {
	case m.Kind == wire.Result:
		t.NotObserved("resources/read without uri was answered with a result", "")
	case code == spec.HeaderMismatch && t.Transport() != transport.Stdio:
		t.NotObserved("the header Mcp-Name, which repeats the uri, was missed first: "+m.Summary(), "")
	}
	gomega.NewWithT(t).Expect(m).To(match.BeError(spec.InvalidParams), "resources/read without uri")
}

// A misread is what came of reading what is no URI.
type misread struct {
	uri    string
	answer wire.Entry
	err    error
}

// misreads asks up to the first that is not answered.
func misreads(t *check.T) []misread {
	return check.Memo(t, "misreads", func() []misread {
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

// urisValidated takes any error for a refusal, and contents without items too.
// What a listed URI or a template leads to is offered, be it a URI or not.
func urisValidated(t *check.T) {
	seen := false
	for _, r := range misreads(t) {
		m := r.answer.Message
		if r.err != nil || r.uri == "file://" || known(t, r.uri) || m.Kind == wire.Result && !check.IsComplete(t, m) {
			continue
		}
		if n := len(m.Result().Get("contents").Array()); n > 0 {
			t.Mark(r.answer)
			t.Fail("an error", m.Summary(), "reading %q, which is no URI, gave contents", r.uri)
		}
		seen = seen || m.Kind == wire.Error
	}
	if !seen {
		t.NotObserved("nothing that is no URI was refused", "")
	}
}

func urisSurvived(t *check.T) {
	for _, r := range misreads(t) {
		if r.err != nil {
			t.Fail("an answer", "none", "reading %q: %v", r.uri, r.err)
		}
	}
	t.Survives("reading what is no URI")
}
