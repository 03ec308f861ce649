package resources

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
	"github.com/onsi/gomega"
	"github.com/tidwall/gjson"
)

// probes are the probes of server/resources. The shape of what is listed
// and read is judged in every session.
func probes() []check.Check {
	return slices.Concat(resourcesListing(), resourcesReading(), resourcesMissing())
}

func resourcesListing() []check.Check {
	return []check.Check{
		{
			ID:    "resources.capability.declared",
			Says:  "a server that lists resources or templates declares the capability resources",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-capability-declared"},
			Probe: func(t *check.T) { expect.OfferedIsDeclared(t, offer.ResourcesList, offer.TemplatesList) },
		},
		{
			ID:    "resources.list.answered",
			Says:  "resources/list is answered with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-list-answered"},
			Probe: func(t *check.T) { expect.ListAnswered(t, offer.ResourcesList) },
		},
		{
			ID:    "resources.list.everywhere",
			Says:  "the same resources are listed on every connection, whatever else was asked there",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-list-not-per-connection"},
			Probe: func(t *check.T) { expect.ListedEverywhere(t, offer.ResourcesList) },
		},
	}
}

func resourcesReading() []check.Check {
	return []check.Check{
		{
			ID:    "resources.listed.readable",
			Says:  "a resource that is listed can be read",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources",
			Rules: []string{"resources-listed-readable"},
			// listedReadable asks again for what could not be read, while it is still
			// listed. Codes that ask the client for more are no failures.
			Probe: func(t *check.T) {
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
			},
		},
		{
			ID:    "resources.size.bytes",
			Says:  "the size of a resource is the number of its bytes",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources",
			Rules: []string{"resources-size-bytes"},
			// sizeInBytes asks for list and resource again before it judges: of contents
			// that change no list can tell the size.
			Probe: func(t *check.T) {
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
			},
		},
		{
			ID:    "resources.template.uniform",
			Says:  "a template that names a media type is one whose resources all have it",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources",
			Rules: []string{"resources-template-mime-type-uniform"},
			// templateUniform leaves out what is also listed on its own, and what is read
			// but not under the URI that was asked for.
			Probe: func(t *check.T) {
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
			},
		},
	}
}

func resourcesMissing() []check.Check {
	return []check.Check{
		{
			ID:    "resources.read.not-found",
			Says:  "reading a resource that does not exist is answered with error -32602",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-not-found-32602"},
			Probe: func(t *check.T) { readMissing(t) },
		},
		{
			ID:    "resources.read.not-found.advised",
			Says:  "reading a resource that does not exist is answered with error -32002",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources",
			Rules: []string{"resources-not-found-code"},
			Probe: func(t *check.T) { readMissing(t) },
		},
		{
			ID:    "resources.read.not-found.empty",
			Says:  "reading a resource that does not exist is not answered with empty contents",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-not-found-no-empty-contents"},
			Probe: func(t *check.T) {
				if m := missing(t); m.Kind == wire.Result {
					t.Fail("an error", m.Summary(), "reading a resource that does not exist was answered with empty contents")
				}
			},
		},
		{
			ID:       "resources.read.uri.missing",
			Says:     "resources/read without uri is answered with error -32602",
			Level:    spec.Should,
			In:       spec.Since(spec.V2025_11_25),
			Needs:    "resources",
			Malforms: true,
			Rules:    []string{"resources-read-missing-uri-32602"},
			// readNothing leaves it to jsonrpc.params.invalid that there is an error at all.
			// readNothing accepts over HTTP that the header for the uri is missed first
			// (basic/transports/streamable-http#server-validation).
			Probe: func(t *check.T) {
				m := t.Request("resources/read", check.Params{})
				code, _ := m.Code()
				switch {
				case m.Kind == wire.Result:
					t.NotObserved("resources/read without uri was answered with a result", "")
				case code == spec.HeaderMismatch && t.Transport() != transport.Stdio:
					t.NotObserved("the header Mcp-Name, which repeats the uri, was missed first: "+m.Summary(), "")
				}
				gomega.NewWithT(t).Expect(m).To(match.BeError(spec.InvalidParams), "resources/read without uri")
			},
		},
		{
			ID:       "resources.read.uri.survived",
			Says:     "reading what is no URI is answered, and the server goes on",
			Level:    spec.Robust,
			In:       spec.Every,
			Needs:    "resources",
			Malforms: true,
			Spec:     "server/resources#security-considerations",
			Probe: func(t *check.T) {
				for _, r := range misreads(t) {
					if r.err != nil {
						t.Fail("an answer", "none", "reading %q: %v", r.uri, r.err)
					}
				}
				t.Survives("reading what is no URI")
			},
		},
		{
			ID:       "resources.read.uri.validated",
			Says:     "nothing is read under what is no URI",
			Level:    spec.Must,
			In:       spec.Every,
			Needs:    "resources",
			Malforms: true,
			Rules:    []string{"resources-validate-uris"},
			// urisValidated takes any error for a refusal, and contents without items too.
			// What a listed URI or a template leads to is offered, be it a URI or not.
			Probe: func(t *check.T) {
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
			},
		},
		{
			ID:    "resources.read.path",
			Says:  "no path that leads out of what is offered is read under a file:// URI",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-path-traversal"},
			// pathsSanitized lays out a file of its own that nobody offers, and asks for
			// it by paths that begin where the server's files are. A server that reads it
			// by its plain URI offers the whole disk, and one whose files are not on this
			// disk would refuse it in any case: neither tells anything.
			Probe: func(t *check.T) {
				if posting.OverHTTP(t) && !check.IsLoopback(t.HTTP().URL()) {
					t.NotObserved("the server is not spoken to over the loopback interface: the file that must not be read is one of this machine", "give a URL with localhost or 127.0.0.1")
				}
				bases := fileBases(t)
				if len(bases) == 0 {
					t.NotObserved("the server lists no file:// resource that is on this disk", "")
				}
				canary, token, err := layCanary()
				if err != nil {
					t.NotObserved("no file could be laid out: "+err.Error(), "")
				}
				defer os.Remove(canary)
				if e, err := usage.ReadResource(t, format.FileURI(canary)); err != nil || holds(e, token) {
					t.NotObserved("the server reads any file, or did not answer", "")
				}
				refused := false
				for _, base := range bases {
					for _, uri := range astray(base, filepath.ToSlash(canary)) {
						e, err := usage.ReadResource(t, uri)
						switch {
						case err != nil:
							t.NotObserved("reading "+wire.Clip(uri, 120)+" was not answered", "")
						case holds(e, token):
							t.Mark(e)
							t.Fail("an error", e.Message.Summary(), "%s, which leads out of what is offered, was read", wire.Clip(uri, 200))
						}
						refused = refused || e.Message.Kind == wire.Error
					}
				}
				if !refused {
					t.NotObserved("no path was refused", "")
				}
			},
		},
	}
}
