package authorization

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// challengeProbes returns the probes of the challenge to a request without a token
// (basic/authorization#authorization-server-location, #scope-selection-strategy).
func challengeProbes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.challenge.metadata",
			Says:  "the challenge of a 401 names the URL of the protected resource metadata",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_06_18),
			On:    onWeb,
			Rules: []string{"authorization-www-authenticate-resource-metadata"},
			Idle:  "no challenge was judged",
			Hint:  answer401,
			Probe: func(t *check.T) {
				requireChallenge(t)
				switch m := metadataOf(t); {
				case m.named == "":
					requireOAuth(t)
					t.Fail("resource_metadata", requireProtected(t).challengeFields(),
						"the challenge does not name the URL of the protected resource metadata")
				case m.problem != "" && m.elsewhere:
					t.Note("the challenge names %s for the metadata, but %s", wire.Clip(m.named, 120), m.problem)
				case m.problem != "":
					t.Fail("the URL of a JSON object", m.named, "the challenge names a URL for the metadata, but %s",
						m.problem)
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.challenge.scope",
			Says:  "the challenge of a 401 names the scopes that are needed",
			Level: spec.Should,
			In:    scoping,
			On:    onWeb,
			Rules: []string{"authorization-challenge-scope"},
			Idle:  "no challenge was judged",
			Hint:  answer401,
			Probe: func(t *check.T) {
				if requireChallenge(t).params["scope"] == "" {
					t.Fail("scope", requireProtected(t).challengeFields(),
						"the challenge to a request without a token names no scope")
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.challenge.consistent",
			Says:  "the server challenges the same request for the same scopes each time",
			Level: spec.Should,
			In:    scoping,
			On:    onWeb,
			Rules: []string{"authorization-server-scope-consistency"},
			Idle:  "the challenge names no scope",
			Hint:  `name the needed scopes in WWW-Authenticate: scope="…"`,
			Probe: func(t *check.T) {
				first, named := requireChallenge(t).params["scope"]
				if !named {
					return
				}
				const differs = "the same first request without a token was sent again, and the scopes of its " +
					"challenge differ"
				for range 3 {
					again := postOpening(t, "no token", withoutToken()).challenge()
					if again == nil {
						t.Fail(first, "no challenge", differs)
					}
					if scope := again.params["scope"]; !offer.EqualNames(strings.Fields(scope), strings.Fields(first)) {
						t.Fail(first, scope, differs)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.challenge.offline",
			Says:  "neither the challenge nor the metadata names the scope offline_access",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    onWeb,
			Rules: []string{"authorization-no-offline-access-in-challenge"},
			Idle:  "neither the challenge nor the metadata names a scope",
			Hint:  "name the needed scopes: scope in WWW-Authenticate, or scopes_supported in the metadata",
			Probe: func(t *check.T) {
				const offline = "offline_access"
				if scope := requireChallenge(t).params["scope"]; scope != "" {
					if slices.Contains(strings.Fields(scope), offline) {
						t.Fail("no offline_access", scope, "the challenge names the scope %s, which no resource needs",
							offline)
					}
					t.Saw()
				}
				if m := metadataOf(t); m.url != nil && len(m.document.Get("scopes_supported").Array()) > 0 {
					list := m.document.Get("scopes_supported")
					if slices.ContainsFunc(list.Array(), func(s gjson.Result) bool { return s.String() == offline }) {
						t.Fail("no offline_access", describeJSON(list),
							"scopes_supported of %s holds %s, which no resource needs", m.url, offline)
					}
					t.Saw()
				}
			},
		},
	}
}
