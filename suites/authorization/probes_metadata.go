package authorization

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// authorizationMetadata are the probes of how a protected server tells of its
// authorization server, and of what it asks for
// (basic/authorization#authorization-server-discovery).
func authorizationMetadata() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.metadata.published",
			Says:  "a protected server publishes protected resource metadata",
			Level: spec.Must, In: audience, On: overWeb,
			Rules: []string{"authorization-prm-server", "authorization-prm-server-location", "authorization-prm-discovery-mechanism"},
			Probe: func(t *check.T) {
				p := publishedBy(t)
				if p.at == nil {
					ownWay(t)
					if p.away {
						t.NotObserved(fmt.Sprintf("the challenge names %s for the metadata: the server is set up for another place than the loopback interface", wire.Clip(p.named, 120)), "judge the server where it is deployed")
					}
					t.Fail("a JSON object", "none", "no protected resource metadata was found at %s", strings.Join(p.tried, ", "))
				}
				if p.broken != "" {
					t.Note("the challenge names %s for the metadata, but %s", wire.Clip(p.named, 120), p.broken)
				}
			},
		},
		{
			ID:    "authorization.metadata.servers",
			Says:  "the metadata names at least one authorization server by its URL",
			Level: spec.Must, In: audience, On: overWeb,
			Rules: []string{"authorization-prm-authorization-servers"},
			Probe: func(t *check.T) {
				p := metadataFound(t)
				list := p.doc.Get("authorization_servers")
				if !list.IsArray() || len(list.Array()) == 0 {
					t.Fail("a list of at least one URL", shownJSON(list), "authorization_servers of %s is %s", p.at, shownJSON(list))
				}
				for _, one := range list.Array() {
					if u, err := url.Parse(one.String()); one.Type != gjson.String || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
						t.Fail("a URL of http or https", shownJSON(one), "authorization_servers of %s holds %s", p.at, shownJSON(one))
					}
				}
			},
		},
		{
			ID:    "authorization.metadata.resource",
			Says:  "the metadata identifies the server that it is of",
			Level: spec.Must, In: audience, On: overWeb,
			Rules: []string{"authorization-prm-resource-field"},
			// metadataResource takes the server by any of its names on the loopback
			// interface, and a resource that holds the endpoint in its path: what belongs to
			// the resource is for the server to say (RFC 9728 section 3.3).
			Probe: func(t *check.T) {
				p := metadataFound(t)
				resource := p.doc.Get("resource")
				u, err := url.Parse(resource.String())
				if resource.Type != gjson.String || err != nil || !u.IsAbs() {
					t.Fail("the URL of the server", shownJSON(resource), "resource of %s is %s", p.at, shownJSON(resource))
				}
				if deployedAway(t, u) {
					t.NotObserved(fmt.Sprintf("resource of %s is %s: the server is set up for another place than the loopback interface", p.at, shownJSON(resource)), "judge the server where it is deployed")
				}
				own := t.HTTP().URL()
				same := strings.EqualFold(u.Host, own.Host) || isLoopback(u) && isLoopback(own) && u.Port() == own.Port()
				within := strings.TrimSuffix(u.Path, "/")
				if !same || !strings.EqualFold(u.Scheme, own.Scheme) || own.Path != within && !strings.HasPrefix(own.Path, within+"/") {
					t.Fail("the URL of the server, "+own.Redacted(), shownJSON(resource), "resource of %s is %s, which is not the server", p.at, shownJSON(resource))
				}
			},
		},
		{
			ID:    "authorization.metadata.https",
			Says:  "what the server names for authorization is served over https",
			Level: spec.Must, In: audience, On: overWeb,
			Rules: []string{"authorization-communication-security"},
			// metadataHTTPS leaves the loopback interface out, on which servers are tried.
			Probe: func(t *check.T) {
				p := metadataFound(t)
				all := map[string]string{"the metadata": p.at.String(), "resource": p.doc.Get("resource").String()}
				for _, one := range p.doc.Get("authorization_servers").Array() {
					all["authorization_servers: "+one.String()] = one.String()
				}
				secure := false
				for what, raw := range all {
					u, err := url.Parse(raw)
					switch {
					case err != nil || isLoopback(u):
					case u.Scheme == "https":
						secure = true
					case u.Scheme == "http":
						t.Fail("https", raw, "%s is served over http: %s", what, wire.Clip(raw, 120))
					}
				}
				if !secure {
					t.NotObserved("all of it is on the loopback interface", "judge the server where it is deployed")
				}
			},
		},
		{
			ID:    "authorization.challenge.metadata",
			Says:  "a 401 names where the protected resource metadata is",
			Level: spec.Must, In: spec.Only(spec.V2025_06_18), On: overWeb,
			Rules: []string{"authorization-www-authenticate-resource-metadata"},
			Probe: func(t *check.T) {
				challenged(t)
				switch p := publishedBy(t); {
				case p.named == "":
					ownWay(t)
					t.Fail("resource_metadata", quoted(nobody(t).x.Header.Values("WWW-Authenticate")), "the challenge does not say where the protected resource metadata is")
				case p.broken != "" && p.away:
					t.Note("the challenge names %s for the metadata, but %s", wire.Clip(p.named, 120), p.broken)
				case p.broken != "":
					t.Fail("the URL of a JSON object", p.named, "the challenge names %s for the metadata, but %s", wire.Clip(p.named, 120), p.broken)
				}
			},
		},
		{
			ID:    "authorization.challenge.scope",
			Says:  "a 401 names the scopes that are needed",
			Level: spec.Should, In: scoping, On: overWeb,
			Rules: []string{"authorization-challenge-scope"},
			Probe: func(t *check.T) {
				if c := challenged(t); c.params["scope"] == "" {
					t.Fail("scope", quoted(nobody(t).x.Header.Values("WWW-Authenticate")), "the challenge to a request without a token names no scope")
				}
			},
		},
		{
			ID:    "authorization.challenge.consistent",
			Says:  "one and the same request is challenged for the same scopes each time",
			Level: spec.Should, In: scoping, On: overWeb,
			Rules: []string{"authorization-server-scope-consistency"},
			Probe: func(t *check.T) {
				first, named := challenged(t).params["scope"]
				if !named {
					t.NotObserved("the challenge names no scope", "")
				}
				for range 3 {
					c := bearerChallenge(firstWords(t, "no token", withoutToken).x.Header)
					if c == nil || !offer.SameNames(strings.Fields(c.params["scope"]), strings.Fields(first)) {
						got := "no challenge"
						if c != nil {
							got = c.params["scope"]
						}
						t.Fail(first, got, "a first request without a token was challenged for %q, and the same again for %q", first, got)
					}
				}
			},
		},
		{
			ID:    "authorization.challenge.offline",
			Says:  "neither a challenge nor the metadata asks for offline_access",
			Level: spec.Should, In: spec.Stateless, On: overWeb,
			Rules: []string{"authorization-no-offline-access-in-challenge"},
			Probe: func(t *check.T) {
				c := challenged(t)
				const offline = "offline_access"
				if slices.Contains(strings.Fields(c.params["scope"]), offline) {
					t.Fail("no offline_access", c.params["scope"], "the challenge asks for the scope %s, which no resource needs", offline)
				}
				if p := publishedBy(t); p.at != nil {
					for _, s := range p.doc.Get("scopes_supported").Array() {
						if s.String() == offline {
							t.Fail("no offline_access", shownJSON(p.doc.Get("scopes_supported")), "scopes_supported of %s holds %s, which no resource needs", p.at, offline)
						}
					}
				}
			},
		},
	}
}

// A published is the protected resource metadata, and where it was found.
type published struct {
	doc    gjson.Result
	at     *url.URL
	named  string // by the challenge, "" for none
	broken string // why what the challenge names gave none, "" if it did
	away   bool   // what the challenge names is not where the server is judged
	tried  []string
}

const resourceWellKnown = "/.well-known/oauth-protected-resource"

var protectedResourceMetadataKey = check.NewKey[*published]("protected resource metadata")

// publishedBy returns the metadata: that which the challenge names, else that at
// the URIs of RFC 9728 section 3.1, behind the path of the server and at the root.
func publishedBy(t *check.T) *published {
	nobody(t)
	return check.Once(t, protectedResourceMetadataKey, func() *published { return seekPublished(t) })
}

func seekPublished(t *check.T) *published {
	p := &published{}
	try := func(at *url.URL) bool {
		p.tried = append(p.tried, at.String())
		doc, _, ok := fetchOpen(t, at)
		if ok {
			p.doc, p.at = doc, at
		}
		return ok
	}
	if c := bearerChallenge(nobody(t).x.Header); c != nil {
		p.named = c.params["resource_metadata"]
	}
	if p.named != "" {
		at, err := t.HTTP().URL().Parse(p.named)
		p.away = err == nil && deployedAway(t, at)
		switch {
		case err != nil || at.Scheme != "http" && at.Scheme != "https":
			p.broken = "it is no URL of http or https"
		case p.away:
			p.broken = "that is not where the server is judged, and was not fetched"
		case !mayFetch(t, at):
			p.broken = "it is neither on the host of the server nor of https, and was not fetched"
		case try(at):
			return p
		default:
			p.broken = "no JSON object was found there"
		}
	}
	path := strings.TrimSuffix(t.HTTP().URL().Path, "/")
	for _, suffix := range slices.Compact([]string{path, ""}) {
		at := *t.HTTP().URL()
		at.Path, at.RawPath, at.RawQuery, at.Fragment, at.User = resourceWellKnown+suffix, "", "", "", nil
		if try(&at) {
			return p
		}
	}
	return p
}

// ownWay ends the body where nothing is found of OAuth: no metadata, and a
// challenge that has nothing of it. Then the server may give its tokens in a way
// of its own (basic#auth).
func ownWay(t *check.T) {
	if publishedBy(t).at != nil {
		return
	}
	if c := bearerChallenge(nobody(t).x.Header); c != nil {
		for name := range c.params {
			if name != "realm" {
				return
			}
		}
	}
	t.NotObserved("nothing shows that the server gives its tokens by OAuth", "")
}

// metadataFound returns the document for checks of what stands in it.
func metadataFound(t *check.T) *published {
	p := publishedBy(t)
	if p.at == nil {
		t.NotObserved("no protected resource metadata was found", "")
	}
	return p
}

func shownJSON(v gjson.Result) string {
	if !v.Exists() {
		return "missing"
	}
	return wire.Clip(v.Raw, 120)
}

// deployedAway tells whether a URL is of another place than that where the server
// is judged, on the loopback interface: it is set up for where it will be deployed.
func deployedAway(t *check.T, at *url.URL) bool { return isLoopback(t.HTTP().URL()) && !isLoopback(at) }

// challenged returns the challenge to the first words without a token.
func challenged(t *check.T) *challenge {
	k := nobody(t)
	c := bearerChallenge(k.x.Header)
	if k.x.Status != http.StatusUnauthorized || c == nil {
		t.NotObserved("a request without a token is not answered with 401 and a challenge", "")
	}
	return c
}
