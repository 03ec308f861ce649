package resources

import (
	"slices"

	"github.com/tidwall/gjson"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// noMissing says why the probes of missing resources are not observed.
// refuseMissing is what helps where no missing resource was refused.
const refuseMissing = "answer resources/read for a URI that does not exist with an error"

const noMissing = "the server returned no error for a resource that does not exist"

// probesOfMissing returns the probes of #error-handling for a resource that does not
// exist.
func probesOfMissing() []check.Check {
	return []check.Check{
		{
			ID:    "resources.read.not-found",
			Says:  "the server answers resources/read for a resource that does not exist with error -32602",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-not-found-32602"},
			Idle:  noMissing,
			Hint:  refuseMissing,
			Probe: func(t *check.T) { probeMissing(t) },
		},
		{
			ID:    "resources.read.not-found.advised",
			Says:  "the server answers resources/read for a resource that does not exist with error -32002",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources",
			Rules: []string{"resources-not-found-code"},
			Idle:  noMissing,
			Hint:  refuseMissing,
			Probe: func(t *check.T) { probeMissing(t) },
		},
		{
			ID:    "resources.read.not-found.empty",
			Says:  "the server does not answer resources/read for a resource that does not exist with empty contents",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-not-found-no-empty-contents"},
			Idle:  noMissing,
			Hint:  refuseMissing,
			Probe: func(t *check.T) {
				match.Expect(t, readMissing(t)).To(match.BeError(), "resources/read for a resource that does not exist")
				t.Saw()
			},
		},
	}
}

// probesOfURIs returns the probes of resources/read with a bad uri or none.
func probesOfURIs() []check.Check {
	return []check.Check{
		{
			ID:       "resources.read.uri.missing",
			Says:     "the server answers resources/read without uri with error -32602",
			Level:    spec.Should,
			In:       spec.Since(spec.V2025_11_25),
			Needs:    "resources",
			Malforms: true,
			Rules:    []string{"resources-read-missing-uri-32602"},
			Idle:     "resources/read without uri was not answered with an error about it",
			Hint:     "answer resources/read without uri with error -32602",
			// jsonrpc.params.invalid judges whether the answer is an error at all. Over HTTP
			// the server may validate first the header that repeats the uri
			// (basic/transports/streamable-http#server-validation).
			Probe: func(t *check.T) {
				m := t.Request("resources/read", check.Params{})
				code, _ := m.ErrorCode()
				switch {
				case m.Kind == wire.Result:
					t.NotObserved("resources/read without uri was answered with a result", "")
				case code == spec.HeaderMismatch && t.Transport() != transport.Stdio:
					t.NotObserved("the server validated Mcp-Name, which repeats the uri, first: "+m.Summary(),
						"judge the server over stdio")
				}
				match.Expect(t, m).To(match.BeError(spec.InvalidParams), "resources/read without uri")
				t.Saw()
			},
		},
		{
			ID:       "resources.read.uri.survived",
			Says:     "the server answers resources/read for a text that is not a URI, and goes on",
			Level:    spec.Robust,
			In:       spec.Every,
			Needs:    "resources",
			Malforms: true,
			Spec:     "server/resources#security-considerations",
			Idle:     "no text that is not a URI was sent",
			Hint:     expect.HintReply,
			Probe: func(t *check.T) {
				for _, r := range readNonURIs(t) {
					if r.Err != nil {
						t.Fail("an answer", "none", "resources/read for %q: %v", r.uri, r.Err)
					}
				}
				t.Survives("resources/read for a text that is not a URI")
				t.Saw()
			},
		},
		{
			ID: "resources.read.uri.code",
			Says: "the error for a text that is not a URI is no internal error, by which clients take the server" +
				" to be broken and try again",
			Level:    spec.Robust,
			In:       spec.Every,
			Needs:    "resources",
			Malforms: true,
			Spec:     "server/resources#error-handling",
			Idle:     "no text that is not a URI was answered with an error",
			Hint:     "answer resources/read for a text that is no URI with an error",
			// The page gives -32603 to internal errors, and no code to this cause: it may be an
			// invalid parameter, a resource that does not exist, or a code of the application.
			// A server that answers nothing after it did fail: resources.read.uri.survived
			// reports that.
			Probe: func(t *check.T) {
				read := readNonURIs(t)
				for i, r := range read {
					isLast := i+1 < len(read) && (read[i+1].Err != nil || check.IsErrorWithoutID(read[i+1].Message))
					if _, ok := r.Message.ErrorCode(); !ok || isLast || r.uri == emptyFileURI {
						continue
					}
					match.Expect(t, r).NotTo(match.BeError(spec.InternalError),
						"resources/read for %q, which is not a URI", r.uri)
					t.Saw()
				}
			},
		},
		{
			ID:       "resources.read.uri.validated",
			Says:     "the server returns no contents for a text that is not a URI",
			Level:    spec.Must,
			In:       spec.Every,
			Needs:    "resources",
			Malforms: true,
			Rules:    []string{"resources-validate-uris"},
			Idle:     "the server refused no text that is not a URI",
			Hint:     "answer resources/read for a text that is no URI with an error",
			// Any error is a refusal, and empty contents show nothing. A text that the
			// server lists, or that a template of it matches, is offered, URI or not.
			Probe: func(t *check.T) {
				for _, r := range readNonURIs(t) {
					m := r.Message
					asksForInput := m.Kind == wire.Result && !check.IsComplete(t, m)
					if r.Err != nil || r.uri == emptyFileURI || mayBeOffered(t, r.uri) || asksForInput {
						continue
					}
					if len(m.Result().Get("contents").Array()) > 0 {
						t.Mark(r.Entry)
						t.Fail("an error", m.Summary(), "resources/read for %q, which is not a URI, returned contents",
							r.uri)
					}
					if m.Kind == wire.Error {
						t.Saw()
					}
				}
			},
		},
	}
}

// probeMissing judges the code of the error for a resource that does not exist. Where
// a rule forbids empty contents, the check of that rule judges them.
func probeMissing(t *check.T) {
	m := readMissing(t)
	if m.Kind == wire.Result && t.Facts.Stateless {
		t.NotObserved("resources/read for a resource that does not exist was answered with empty contents", "")
	}
	match.Expect(t, m).To(match.BeError(t.Facts.ResourceNotFound), "resources/read for a resource that does not exist")
	t.Saw()
}

// missingURI is the URI of a resource that does not exist.
const missingURI = "mcpcheck-no-such-scheme://mcpcheck/no-such-resource"

var missingResourceKey = check.NewKey[wire.Entry]("answer for a missing resource")

// readMissing reads a resource that does not exist, once at this revision. It returns
// an error or empty contents and ends the body if the answer is another.
func readMissing(t *check.T) wire.Message {
	if mayBeOffered(t, missingURI) {
		t.NotObserved("a template of the server matches every URI", "narrow the template that matches every URI")
	}
	e := check.Once(t, missingResourceKey, func() wire.Entry {
		r := usage.ReadResource(t, missingURI)
		if r.Err != nil {
			t.NotObserved("resources/read for a resource that does not exist was not answered: "+r.Err.Error(), "")
		}
		return r.Entry
	})
	t.Mark(e)
	contents := e.Message.Result().Get("contents")
	switch {
	case e.Message.Kind == wire.Error:
	case !check.IsComplete(t, e.Message) || !contents.IsArray():
		t.NotObserved("resources/read for a resource that does not exist was answered with "+e.Message.Summary(), "")
	case len(contents.Array()) > 0:
		t.NotObserved("the server returns contents for every URI", "")
	}
	return e.Message
}

// mayBeOffered reports whether the server lists a URI, or has a template that matches
// it or cannot be parsed.
func mayBeOffered(t *check.T, uri string) bool {
	if _, ok := usage.ListedResource(offer.WalkOnce(t, offer.ResourcesList), uri); ok {
		return true
	}
	return slices.ContainsFunc(usage.Entries(t, offer.TemplatesList), func(r gjson.Result) bool {
		parsed, err := uritemplate.New(r.Get("uriTemplate").Str)
		return err != nil || parsed.Match(uri) != nil
	})
}

// emptyFileURI is a URI by RFC 3986, but names no file.
const emptyFileURI = "file://"

// A nonURI is a text that is not a URI, or names nothing, and the answer to
// resources/read for it.
type nonURI struct {
	uri string
	check.Reply
}

var nonURIsKey = check.NewKey[[]nonURI]("answers for texts that are not URIs")

// readNonURIs sends resources/read for texts that are not URIs and for one that names
// nothing. It stops at the first request without an answer.
func readNonURIs(t *check.T) []nonURI {
	return check.Once(t, nonURIsKey, func() []nonURI {
		var out []nonURI
		for _, uri := range []string{"", "not a uri", "mcpcheck:\x01\x7f", emptyFileURI} {
			r := usage.ReadResource(t, uri)
			if out = append(out, nonURI{uri, r}); r.Err != nil {
				break
			}
		}
		return out
	})
}
