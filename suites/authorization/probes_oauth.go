package authorization

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// oauthOnly is the revision whose servers are authorization servers themselves.
var oauthOnly = spec.Only(spec.V2025_03_26)

// oauthProbes returns the probes of a server as its own authorization server, which
// it is at 2025-03-26 unless another one is deployed beside it (basic/authorization
// of 2025-03-26). What leaves something on the server, such as a registered client,
// is done on the loopback interface alone.
func oauthProbes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.server.metadata",
			Says:  "a protected server publishes the metadata of its authorization server",
			Level: spec.Should,
			In:    oauthOnly,
			On:    onWeb,
			Rules: []string{"authorization-server-as-metadata", "authorization-server-metadata-discovery"},
			Idle:  noServerMetadata,
			Hint:  publishServerMetadata,
			Probe: func(t *check.T) {
				s := ownAuthServer(t)
				if s.url == nil {
					t.Fail("a JSON object with an issuer", "none",
						"no metadata of an authorization server was found at %s",
						onHost(t, authServerPath))
				}
				for _, name := range []string{"issuer", "authorization_endpoint", "token_endpoint"} {
					if v := s.metadata.Get(name); v.Type != gjson.String {
						t.Fail("a URL", describeJSON(v), "%s of %s is %s", name, s.url, describeJSON(v))
					}
				}
				if v := s.metadata.Get("response_types_supported"); !v.IsArray() {
					t.Fail("a list", describeJSON(v), "response_types_supported of %s is %s", s.url, describeJSON(v))
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.server.root",
			Says:  "the metadata of the authorization server is at the root of the host, whatever the server path",
			Level: spec.Must,
			In:    oauthOnly,
			On:    onWeb,
			Rules: []string{"authorization-metadata-at-root"},
			Idle:  noServerMetadata,
			Hint:  publishServerMetadata,
			Probe: func(t *check.T) {
				s := ownAuthServer(t)
				if s.url == nil {
					return
				}
				if !s.atRoot {
					t.Fail(onHost(t, authServerPath).String(), s.url.String(),
						"the metadata of the authorization server is not at the root of the host")
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.server.defaults",
			Says:  "a server without metadata of its authorization server has the endpoints at the default paths",
			Level: spec.Must,
			In:    oauthOnly,
			On:    onWeb,
			Rules: []string{"authorization-server-default-uris", "authorization-server-fallback-urls"},
			Idle:  "no default path was requested",
			Hint:  publishServerMetadata,
			Probe: func(t *check.T) {
				if ownAuthServer(t).url != nil {
					t.NotApplicable("the server has metadata of its authorization server")
				}
				for _, e := range defaultEndpoints(t) {
					if e.exchange.Status == http.StatusNotFound {
						t.HTTP().Mark(e.exchange)
						t.Fail("anything but 404", check.Describe(e.exchange),
							"the server has no metadata, and answered %s with %s",
							e.path, check.Describe(e.exchange))
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.server.https",
			Says:  "the endpoints of the authorization server are served over https",
			Level: spec.Must,
			In:    oauthOnly,
			On:    onWeb,
			Rules: []string{"authorization-as-endpoints-https"},
			Idle:  "the metadata names no endpoint that is not on the loopback interface",
			Hint:  deployedHint,
			Probe: func(t *check.T) {
				s := ownAuthServer(t)
				var named []namedURL
				for _, name := range []string{
					"issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint",
					"revocation_endpoint", "introspection_endpoint",
				} {
					named = append(named, namedURL{name, s.metadata.Get(name).String()})
				}
				judgeHTTPS(t, named)
			},
		},
		{
			ID:    "authorization.server.redirect",
			Says:  "the authorization endpoint does not redirect to a URI that was not registered",
			Level: spec.Must,
			In:    oauthOnly,
			On:    onWeb,
			Rules: []string{"authorization-validate-redirect-uris"},
			Idle:  "the server has no authorization endpoint",
			Hint:  "serve an authorization endpoint: authorization_endpoint of the metadata, or /authorize",
			Probe: func(t *check.T) {
				s := ownAuthServer(t)
				x := s.authorize(t, "mcpcheck-unknown-client", unregisteredURI)
				if x.Status == http.StatusNotFound {
					return
				}
				if redirectsTo(x, unregisteredURI) {
					t.Fail("no redirect", check.Describe(x), "an unknown client was redirected to %s", unregisteredURI)
				}
				t.Saw()
				client, ok := s.register(t)
				if !ok {
					return
				}
				for _, uri := range []string{unregisteredURI, registeredURI + "/more", registeredURI + "?more=1"} {
					if x := s.authorize(t, client, uri); redirectsTo(x, uri) {
						t.Fail("no redirect", check.Describe(x), "a client that registered %s was redirected to %s",
							registeredURI, uri)
					}
				}
			},
		},
		{
			ID:    "authorization.server.registration",
			Says:  "the authorization server lets a client register itself",
			Level: spec.Should,
			In:    oauthOnly,
			On:    onWeb,
			Rules: []string{"authorization-dcr"},
			Idle:  "no client tried to register itself",
			Hint:  registerClients,
			Probe: func(t *check.T) {
				s := ownAuthServer(t)
				posting.RequireLoopback(t, staysRegistered)
				if s.url == nil {
					defaultEndpoints(t)
				} else if !s.metadata.Get("registration_endpoint").Exists() {
					t.Fail("a registration_endpoint", "none",
						"the metadata of the authorization server names no registration_endpoint")
				}
				if _, ok := s.register(t); !ok {
					t.Fail("a client_id", "none", "a client that registered itself got no client_id")
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.server.pkce",
			Says:  "the authorization server exchanges a code for a token with its verifier, and not without",
			Level: spec.Must,
			In:    oauthOnly,
			On:    onWeb,
			Rules: []string{"authorization-oauth21"},
			Idle:  "no code was exchanged",
			Hint:  registerClients,
			Probe: func(t *check.T) {
				s := ownAuthServer(t)
				client := s.requireClient(t)
				for _, wrong := range []struct{ what, verifier string }{
					{"no verifier", ""},
					{"another verifier", strings.Repeat("mcpcheck", 8)},
				} {
					answer, status := s.exchangeCode(t, client, wrong.verifier)
					if answer.Get("access_token").Exists() {
						t.Fail("an error", http.StatusText(status), "a code was exchanged for a token with %s",
							wrong.what)
					}
				}
				answer, status := s.exchangeCode(t, client, pkceVerifier)
				if !answer.Get("access_token").Exists() {
					t.Fail("an access_token", describeJSON(answer.Get("error")),
						"a code with its verifier was answered with status %d and no token", status)
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.server.rotation",
			Says:  "the authorization server accepts a refresh token once",
			Level: spec.Should,
			In:    oauthOnly,
			On:    onWeb,
			Rules: []string{"authorization-token-rotation"},
			Idle:  "the server issued no refresh token",
			Hint:  "issue a refresh token together with the access token",
			// A server may accept the old token for a while, as the answer may be lost.
			Probe: func(t *check.T) {
				s := ownAuthServer(t)
				client := s.requireClient(t)
				answer, _ := s.exchangeCode(t, client, pkceVerifier)
				token := answer.Get("refresh_token").String()
				if token == "" {
					return
				}
				form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {client}}
				first, _ := s.requestToken(t, form)
				if !first.Get("access_token").Exists() {
					t.NotObserved("the server issued no access token for the refresh token",
						"issue a new access token for a refresh token")
				}
				if second, _ := s.requestToken(t, form); second.Get("access_token").Exists() {
					if next := first.Get("refresh_token").String(); next == "" || next == token {
						t.Fail("another refresh token", "the same",
							"a refresh token was accepted twice, and is not replaced")
					}
					t.Note("the refresh token was replaced, and was accepted a second time")
				}
				t.Saw()
			},
		},
	}
}

// Why several probes are not observed, and what helps.
const (
	noServerMetadata      = "no metadata of an authorization server was found"
	publishServerMetadata = "publish the metadata of the authorization server: " + authServerPath
	registerClients       = "let clients register themselves: registration_endpoint of the metadata, or /register"
)
