package resources

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// probes returns the probes of server/resources. Judges judge the shape of the lists
// and the contents of every session.
func probes() []check.Check {
	return slices.Concat(probesOfLists(), probesOfListed(), probesOfMissing(), probesOfURIs(), probesOfPaths(),
		probesOfTemplates())
}

// probesOfLists returns the probes of #capabilities and #listing-resources.
func probesOfLists() []check.Check {
	return []check.Check{
		{
			ID:    "resources.capability.declared",
			Says:  "a server that lists resources or templates declares the capability resources",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-capability-declared"},
			Idle:  noList,
			Hint:  "offer resources, and answer resources/list",
			Probe: func(t *check.T) { expect.OfferedIsDeclared(t, offer.ResourcesList, offer.TemplatesList) },
		},
		{
			ID:    "resources.list.answered",
			Says:  "the server answers resources/list with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-list-answered"},
			Idle:  noList,
			Hint:  "offer resources, and answer resources/list",
			Probe: func(t *check.T) { expect.ListAnswered(t, offer.ResourcesList) },
		},
		{
			ID:    "resources.list.everywhere",
			Says:  "the server lists the same resources on every connection, whatever other requests it received there",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-list-not-per-connection"},
			Idle:  noList,
			Hint:  "offer resources, and answer resources/list",
			Probe: func(t *check.T) { expect.ListedEverywhere(t, offer.ResourcesList) },
		},
		{
			ID:    "resources.list.succeeds",
			Says:  "resources/list does not fail on a server that declares resources: clients begin with it",
			Level: spec.Robust,
			In:    spec.Handshake, // since 2026-07-28 resources.list.answered judges it
			Needs: "resources",
			Spec:  "server/resources#listing-resources",
			Idle:  noList,
			Hint:  "offer resources, and answer resources/list",
			Probe: func(t *check.T) { expect.ListSucceeds(t, offer.ResourcesList) },
		},
		{
			ID: "resources.templates.succeeds",
			Says: "resources/templates/list of a server that declares resources does not fail: no capability" +
				" says whether there are templates, so that clients request the list of each such server",
			Level: spec.Robust,
			In:    spec.Every,
			Needs: "resources",
			Spec:  "server/resources#resource-templates",
			Idle:  "the server returned no list of templates",
			Hint:  "answer resources/templates/list with a result",
			Probe: func(t *check.T) {
				r := offer.RequestPage(t, offer.TemplatesList.Method, nil)
				if r.Err == nil && !expect.IsRefusedByHTTP(r.Entry) {
					match.Expect(t, r).To(match.BeResult(),
						"the server declares resources; a server without templates returns an empty list")
					t.Saw()
				}
			},
		},
	}
}

// probesOfListed returns the probes that read what the server lists.
func probesOfListed() []check.Check {
	return []check.Check{
		{
			ID:    "resources.listed.readable",
			Says:  "a resource that the server lists can be read",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources",
			Rules: []string{"resources-listed-readable"},
			Idle:  "no listed resource was read",
			Hint:  offerReadable,
			// Some errors ask the client for more. Any other is confirmed by a second
			// request, if the resource is still listed.
			Probe: func(t *check.T) {
				for _, u := range usage.UseOffer(t).Resources {
					m := u.Answer.Message
					code, _ := m.ErrorCode()
					switch {
					case u.Err != nil || isWebURI(u.URI):
						continue
					case code == spec.MissingClientCapability || code == spec.LegacyURLElicitationError:
						continue
					case m.Kind == wire.Result:
						t.Saw()
						continue
					}
					if _, listed := usage.ListedResource(offer.WalkNow(t, offer.ResourcesList), u.URI); !listed {
						continue
					}
					if r := usage.ReadResource(t, u.URI); r.Err == nil && r.Message.Kind == wire.Error {
						t.Mark(r.Entry)
						t.Fail("its contents", r.Message.Summary(),
							"%s is listed, and resources/read for it was answered with %s",
							wire.Clip(u.URI, 120), r.Message.Summary())
					}
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
			Idle:  "no resource that was read has a size",
			Hint:  "list a resource with its size",
			// A size of contents that change may be outdated: a wrong one is confirmed by
			// a second list and a second read.
			Probe: func(t *check.T) {
				for _, u := range usage.UseOffer(t).Resources {
					size := u.Entry.Get("size")
					item, n, ok := onlyItem(t, u)
					if !ok || !wire.IsInteger(size) {
						continue
					}
					if canBeSize(item, n, int(size.Int())) {
						t.Saw()
						continue
					}
					entry, listed := usage.ListedResource(offer.WalkNow(t, offer.ResourcesList), u.URI)
					r := usage.ReadResource(t, u.URI)
					u.Answer, u.Err = r.Entry, r.Err
					again, _, ok := onlyItem(t, u)
					if ok && listed && again.Raw == item.Raw && entry.Get("size").Raw == size.Raw {
						t.Mark(u.Answer)
						t.Fail(size.Raw+" bytes", fmt.Sprintf("%d bytes", n),
							"%s is listed with a size of %s bytes and has %d",
							wire.Clip(u.URI, 120), size.Raw, n)
					}
				}
			},
		},
		{
			ID:    "resources.template.uniform",
			Says:  "all resources of a template with a mimeType have that media type",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources",
			Rules: []string{"resources-template-mime-type-uniform"},
			Idle:  "no resource of a template with a mimeType could be read",
			Hint:  "list a template with a mimeType, and give its variables: templates in --config",
			// A resource that is also listed, or that is returned under another URI, may
			// have come from elsewhere than the template.
			Probe: func(t *check.T) {
				for _, u := range usage.UseOffer(t).Templates {
					named := u.Entry.Get("mimeType")
					_, listed := usage.ListedResource(offer.WalkOnce(t, offer.ResourcesList), u.URI)
					if listed || named.Type != gjson.String || u.Err != nil || !check.IsComplete(t, u.Answer.Message) {
						continue
					}
					for _, item := range u.Answer.Message.Result().Get("contents").Array() {
						has := item.Get("mimeType")
						if has.Type != gjson.String || item.Get("uri").String() != u.URI {
							continue
						}
						if format.MediaTypeOf(has.Str) != format.MediaTypeOf(named.Str) {
							t.Mark(u.Answer)
							t.Fail(named.Str, has.Str, "the template %s has the mimeType %s, and %s has %s",
								wire.Clip(u.Entry.Get("uriTemplate").Str, 120), named.Str, wire.Clip(u.URI, 120),
								has.Str)
						}
						t.Saw()
					}
				}
			},
		},
	}
}
