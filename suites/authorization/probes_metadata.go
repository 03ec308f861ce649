package authorization

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// metadataProbes returns the probes of the protected resource metadata
// (basic/authorization#authorization-server-discovery).
func metadataProbes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.metadata.published",
			Says:  "a protected server publishes protected resource metadata",
			Level: spec.Must,
			In:    binding,
			On:    onWeb,
			Rules: []string{
				"authorization-prm-server", "authorization-prm-server-location",
				"authorization-prm-discovery-mechanism",
			},
			Idle: noMetadata,
			Hint: publishMetadata,
			Probe: func(t *check.T) {
				m := metadataOf(t)
				if m.url == nil {
					requireOAuth(t)
					if m.elsewhere {
						t.NotObserved(
							fmt.Sprintf("the challenge names %s for the metadata: %s", wire.Clip(m.named, 120),
								configuredFor),
							deployedHint)
					}
					t.Fail("a JSON object", "none", "no protected resource metadata was found at %s",
						strings.Join(m.tried, ", "))
				}
				if m.problem != "" {
					t.Note("the challenge names %s for the metadata, but %s", wire.Clip(m.named, 120), m.problem)
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.metadata.servers",
			Says:  "the metadata names at least one authorization server by its URL",
			Level: spec.Must,
			In:    binding,
			On:    onWeb,
			Rules: []string{"authorization-prm-authorization-servers"},
			Idle:  noMetadata,
			Hint:  publishMetadata,
			Probe: func(t *check.T) {
				m := requireMetadata(t)
				list := m.document.Get("authorization_servers")
				if !list.IsArray() || len(list.Array()) == 0 {
					t.Fail("a list of at least one URL", describeJSON(list),
						"authorization_servers of %s is %s", m.url, describeJSON(list))
				}
				for _, server := range list.Array() {
					u, err := url.Parse(server.String())
					if server.Type != gjson.String || err != nil || u.Scheme != "http" && u.Scheme != "https" ||
						u.Host == "" {
						t.Fail("a URL of http or https", describeJSON(server),
							"authorization_servers of %s holds %s", m.url, describeJSON(server))
					}
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.metadata.resource",
			Says:  "the resource of the metadata identifies the server",
			Level: spec.Must,
			In:    binding,
			On:    onWeb,
			Rules: []string{"authorization-prm-resource-field"},
			Idle:  noMetadata,
			Hint:  publishMetadata,
			Probe: func(t *check.T) {
				m := requireMetadata(t)
				resource := m.document.Get("resource")
				u, err := url.Parse(resource.String())
				if resource.Type != gjson.String || err != nil || !u.IsAbs() {
					t.Fail("the URL of the server", describeJSON(resource),
						"resource of %s is %s", m.url, describeJSON(resource))
				}
				if isElsewhere(t, u) {
					t.NotObserved(fmt.Sprintf("resource of %s is %s: %s", m.url, describeJSON(resource), configuredFor),
						deployedHint)
				}
				if own := t.HTTP().URL(); !identifies(u, own) {
					t.Fail("the URL of the server, "+own.Redacted(), describeJSON(resource),
						"resource of %s is %s, which is not the server", m.url, describeJSON(resource))
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.metadata.https",
			Says:  "the URLs that the server names for authorization are of https",
			Level: spec.Must,
			In:    binding,
			On:    onWeb,
			Rules: []string{"authorization-communication-security"},
			Idle:  "all of them are on the loopback interface",
			Hint:  deployedHint,
			// Servers on the loopback interface are under development.
			Probe: func(t *check.T) {
				m := requireMetadata(t)
				named := []namedURL{{"the metadata", m.url.String()}, {"resource", m.document.Get("resource").String()}}
				for _, server := range m.document.Get("authorization_servers").Array() {
					named = append(named, namedURL{"an entry of authorization_servers", server.String()})
				}
				judgeHTTPS(t, named)
			},
		},
	}
}

// A namedURL is a URL that a server names for authorization.
type namedURL struct{ what, url string }

// judgeHTTPS judges that the URLs that are not on the loopback interface are of
// https.
func judgeHTTPS(t *check.T, all []namedURL) {
	for _, named := range all {
		u, err := url.Parse(named.url)
		switch {
		case err != nil || u.Host == "" || check.IsLoopback(u):
		case u.Scheme == "https":
			t.Saw()
		case u.Scheme == "http":
			t.Fail("https", wire.Clip(named.url, 120), "%s is served over http", named.what)
		}
	}
}
