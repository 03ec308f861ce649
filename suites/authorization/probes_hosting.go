package authorization

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// hosting is the revision in which a server is its own authorization server,
// unless another is deployed beside it (basic/authorization of 2025-03-26).
var hosting = spec.Only(spec.V2025_03_26)

// authorizationHosting are the probes of a server as authorization server. What
// leaves something behind there, such as a client, is done on the loopback
// interface alone.
func authorizationHosting() []check.Check {
	all := []check.Check{
		{
			ID:    "authorization.host.metadata",
			Says:  "a protected server publishes the metadata of its authorization server",
			Level: spec.Should,
			Rules: []string{"authorization-server-as-metadata", "authorization-server-metadata-discovery"},
			Probe: func(t *check.T) {
				h := hosted(t)
				if h.at == nil {
					t.Fail("a JSON object with an issuer", "none", "no metadata of an authorization server was found at %s", onHost(t, serverWellKnown))
				}
				for _, name := range []string{"issuer", "authorization_endpoint", "token_endpoint"} {
					if v := h.doc.Get(name); v.Type != gjson.String {
						t.Fail("a URL", shownJSON(v), "%s of %s is %s", name, h.at, shownJSON(v))
					}
				}
				if v := h.doc.Get("response_types_supported"); !v.IsArray() {
					t.Fail("a list", shownJSON(v), "response_types_supported of %s is %s", h.at, shownJSON(v))
				}
			},
		},
		{
			ID:    "authorization.host.root",
			Says:  "that metadata is at the root of the host, whatever the path of the server",
			Level: spec.Must,
			Rules: []string{"authorization-metadata-at-root"},
			Probe: func(t *check.T) {
				switch h := hosted(t); {
				case h.at == nil:
					t.NotObserved("no metadata of an authorization server was found", "")
				case !h.atRoot:
					t.Fail(onHost(t, serverWellKnown).String(), h.at.String(), "the metadata of the authorization server is at %s, and not at the root of the host", h.at)
				}
			},
		},
		{
			ID:    "authorization.host.defaults",
			Says:  "a server without that metadata has its endpoints at the default paths",
			Level: spec.Must,
			Rules: []string{"authorization-server-default-uris", "authorization-server-fallback-urls"},
			Probe: func(t *check.T) {
				if hosted(t).at != nil {
					t.NotApplicable("the server has metadata of its authorization server")
				}
				for path, x := range withoutMetadata(t) {
					if x.Status == http.StatusNotFound {
						t.Fail("anything but 404", check.Describe(x), "without metadata, %s was answered with %s", path, check.Describe(x))
					}
				}
			},
		},
		{
			ID:    "authorization.host.https",
			Says:  "the endpoints of authorization are served over https",
			Level: spec.Must,
			Rules: []string{"authorization-as-endpoints-https"},
			Probe: func(t *check.T) {
				h := hosted(t)
				secure := false
				for _, name := range []string{"issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint", "introspection_endpoint"} {
					u, err := url.Parse(h.doc.Get(name).String())
					switch {
					case err != nil || u.Host == "" || isLoopback(u):
					case u.Scheme == "https":
						secure = true
					case u.Scheme == "http":
						t.Fail("https", u.String(), "%s is served over http: %s", name, wire.Clip(u.String(), 120))
					}
				}
				if !secure {
					t.NotObserved("no endpoint is named that is not on the loopback interface", "judge the server where it is deployed")
				}
			},
		},
		{
			ID:    "authorization.host.redirect",
			Says:  "nobody is sent on to a redirect URI that was not registered",
			Level: spec.Must,
			Rules: []string{"authorization-validate-redirect-uris"},
			Probe: func(t *check.T) {
				h := hosted(t)
				x := h.authorize(t, "mcpcheck-unknown-client", strangeURI)
				if x.Status == http.StatusNotFound {
					t.NotObserved("the server has no authorization endpoint", "")
				}
				if sentTo(x, strangeURI) {
					t.Fail("no redirect", check.Describe(x), "an unknown client was sent on to %s", strangeURI)
				}
				if client, ok := h.registered(t); ok {
					for _, back := range []string{strangeURI, redirectURI + "/more", redirectURI + "?more=1"} {
						if x := h.authorize(t, client, back); sentTo(x, back) {
							t.Fail("no redirect", check.Describe(x), "a client that registered %s was sent on to %s", redirectURI, back)
						}
					}
				}
			},
		},
		{
			ID:    "authorization.host.registration",
			Says:  "a client can register itself",
			Level: spec.Should,
			Rules: []string{"authorization-dcr"},
			Probe: func(t *check.T) {
				h := hosted(t)
				onLoopback(t)
				if h.at == nil {
					withoutMetadata(t)
				}
				if h.at != nil && !h.doc.Get("registration_endpoint").Exists() {
					t.Fail("a registration_endpoint", "none", "the metadata of the authorization server names no registration_endpoint")
				}
				if _, ok := h.registered(t); !ok {
					t.Fail("a client_id", "none", "a client that registered itself got no client_id")
				}
			},
		},
		{
			ID:    "authorization.host.pkce",
			Says:  "a code is exchanged for a token with its verifier, and not without",
			Level: spec.Must,
			Rules: []string{"authorization-oauth21"},
			Probe: func(t *check.T) {
				h := hosted(t)
				id := ownClient(t, h)
				for what, verifier := range map[string]string{"no verifier": "", "another verifier": strings.Repeat("mcpcheck", 8)} {
					if o, status := h.exchanged(t, id, verifier); o.Get("access_token").Exists() {
						t.Fail("an error", http.StatusText(status), "a code was exchanged for a token with %s", what)
					}
				}
				if o, status := h.exchanged(t, id, pkceVerifier); !o.Get("access_token").Exists() {
					t.Fail("an access_token", shownJSON(o.Get("error")), "a code with its verifier was answered with status %d and no token", status)
				}
			},
		},
		{
			ID:    "authorization.host.rotation",
			Says:  "a refresh token is good once",
			Level: spec.Should,
			Rules: []string{"authorization-token-rotation"},
			Probe: func(t *check.T) {
				h := hosted(t)
				id := ownClient(t, h)
				o, _ := h.exchanged(t, id, pkceVerifier)
				token := o.Get("refresh_token").String()
				if token == "" {
					t.NotObserved("no refresh token was given", "")
				}
				refresh := func() (o gjson.Result, ok bool) {
					o, _ = postForm(t, h.endpoint(t, "token_endpoint", "/token"), "application/x-www-form-urlencoded",
						url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {id}}.Encode())
					return o, o.Get("access_token").Exists()
				}
				first, ok := refresh()
				if !ok {
					t.NotObserved("the refresh token gave no access token", "")
				}
				if _, ok := refresh(); !ok {
					return
				}
				// A server may take the old one for a while longer, should the answer be lost.
				if next := first.Get("refresh_token").String(); next == "" || next == token {
					t.Fail("another refresh token in its place", "the same", "a refresh token was good twice, and is not replaced")
				}
				t.Note("the refresh token was replaced, and was good a second time all the same")
			},
		},
	}
	for i := range all {
		all[i].In, all[i].On = hosting, overWeb
	}
	return all
}

const serverWellKnown = "/.well-known/oauth-authorization-server"

// An authority is what is found of the authorization server on the host of a server.
type authority struct {
	doc    gjson.Result
	at     *url.URL // of the metadata, nil if none was found
	atRoot bool
}

func onHost(t *check.T, path string) *url.URL {
	at := *t.HTTP().URL()
	at.Path, at.RawPath, at.RawQuery, at.Fragment, at.User = path, "", "", "", nil
	return &at
}

var authorizationServerKey = check.NewKey[*authority]("authorization server")

// hosted returns it. A server that names another in protected resource metadata,
// as later revisions have it, hosts none.
func hosted(t *check.T) *authority {
	nobody(t)
	h := check.Once(t, authorizationServerKey, func() *authority {
		h := &authority{}
		path := strings.TrimSuffix(t.HTTP().URL().Path, "/")
		for _, at := range []string{serverWellKnown, serverWellKnown + path, path + serverWellKnown} {
			if doc, _, ok := fetchOpen(t, onHost(t, at)); ok && doc.Get("issuer").Exists() {
				h.doc, h.at, h.atRoot = doc, onHost(t, at), at == serverWellKnown
				break
			}
		}
		return h
	})
	if h.at == nil && namesAnother(t) {
		t.NotApplicable("the authorization server is another one, which the protected resource metadata names")
	}
	return h
}

func namesAnother(t *check.T) bool {
	p := publishedBy(t)
	return p.at != nil && slices.ContainsFunc(p.doc.Get("authorization_servers").Array(), func(one gjson.Result) bool {
		u, err := url.Parse(one.String())
		return err == nil && u.Host != "" && u.Host != t.HTTP().URL().Host
	})
}

var defaultEndpointsKey = check.NewKey[map[string]*check.Exchange]("default endpoints")

// atDefaults returns what the default endpoints answer, by path; registration is
// left out, which is not a must.
func atDefaults(t *check.T) map[string]*check.Exchange {
	return check.Once(t, defaultEndpointsKey, func() map[string]*check.Exchange {
		out := map[string]*check.Exchange{}
		for path, method := range map[string]string{"/authorize": http.MethodGet, "/token": http.MethodPost} {
			out[path] = t.HTTP().Request(method, check.WithoutGivenHeaders(), check.At(onHost(t, path)), check.Without("Mcp-Session-Id"))
		}
		return out
	})
}

// withoutMetadata returns what the default endpoints of a server answer that has
// no metadata. Where nothing at all is found of OAuth the server gives its tokens
// in a way of its own, as it may (basic#auth).
func withoutMetadata(t *check.T) map[string]*check.Exchange {
	all := atDefaults(t)
	found := publishedBy(t).at != nil
	for _, x := range all {
		found = found || x.Status != http.StatusNotFound
	}
	if !found {
		t.NotObserved("nothing shows that the server gives its tokens by OAuth", "")
	}
	return all
}

// endpoint returns an endpoint of the authorization server that may be called:
// one on the host of the server.
func (h *authority) endpoint(t *check.T, name, usual string) *url.URL {
	at := onHost(t, usual)
	if named := h.doc.Get(name); named.Exists() {
		u, err := url.Parse(named.String())
		if err != nil || u.Host != t.HTTP().URL().Host {
			t.NotObserved(name+" is not on the host of the server, where alone it would be called", "")
		}
		at = u
	} else if h.at != nil {
		t.NotObserved("the metadata names no "+name, "")
	}
	return at
}

// Where a client of ours is sent back to. Nobody listens there.
const (
	redirectURI = "http://127.0.0.1:9/mcpcheck/callback"
	strangeURI  = "https://mcpcheck.invalid/callback"
)

// pkce is a verifier of RFC 7636 and its challenge by S256.
const pkceVerifier = "mcpcheck-verifier-0123456789-abcdefghijklmnopqrstuvwxyz"

func pkceChallenge() string {
	sum := sha256.Sum256([]byte(pkceVerifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// authorize asks for a code as a client, to be sent back to a URI.
func (h *authority) authorize(t *check.T, client, back string) *check.Exchange {
	at := *h.endpoint(t, "authorization_endpoint", "/authorize")
	q := at.Query()
	for key, v := range map[string]string{
		"response_type": "code", "client_id": client, "redirect_uri": back, "state": "mcpcheck", "code_challenge": pkceChallenge(), "code_challenge_method": "S256",
	} {
		q.Set(key, v)
	}
	at.RawQuery = q.Encode()
	return t.HTTP().Request(http.MethodGet, check.WithoutGivenHeaders(), check.At(&at), check.Without("Mcp-Session-Id"))
}

// sentTo tells whether an answer sends its reader to a URI.
func sentTo(x *check.Exchange, back string) bool {
	return x.Status >= 300 && x.Status < 400 && strings.HasPrefix(x.Header.Get("Location"), back)
}

// postForm posts a form, or JSON, to an endpoint of the authorization server.
func postForm(t *check.T, at *url.URL, kind, body string) (o gjson.Result, status int) {
	x, err := t.HTTP().TryRequest(http.MethodPost, check.WithoutGivenHeaders(), check.At(at), check.Without("Mcp-Session-Id"),
		check.With("Content-Type", kind), check.With("Accept", "application/json"), func(r *transport.HTTPRequest) { r.Body = []byte(body) })
	if err != nil || !t.HTTP().Complete(x) {
		return o, 0
	}
	o = gjson.ParseBytes(x.Body())
	for _, name := range []string{"access_token", "refresh_token"} {
		t.Auth().Hide(o.Get(name).String())
	}
	return o, x.Status
}

var registeredClientKey = check.NewKey[string]("registered client")

// registered returns a client of ours that registered itself, once; ok is false
// where it could not.
func (h *authority) registered(t *check.T) (client string, ok bool) {
	if !isLoopback(t.HTTP().URL()) {
		return "", false
	}
	client = check.Once(t, registeredClientKey, func() string {
		at := h.endpoint(t, "registration_endpoint", "/register")
		o, _ := postForm(t, at, "application/json", `{"client_name":"mcpcheck","redirect_uris":["`+redirectURI+`"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`)
		return o.Get("client_id").String()
	})
	return client, client != ""
}

// onLoopback ends the body where what it does would stay behind on a server that
// others use.
func onLoopback(t *check.T) {
	if !isLoopback(t.HTTP().URL()) {
		t.NotObserved("a client that registers stays registered, so that it is done on the loopback interface alone", "judge an instance of the server on the loopback interface")
	}
}

// code returns a code that was given at once; a server that asks its user first
// gives none.
func (h *authority) code(t *check.T, client string) string {
	x := h.authorize(t, client, redirectURI)
	to, err := url.Parse(x.Header.Get("Location"))
	if err != nil || !sentTo(x, redirectURI) || to.Query().Get("code") == "" {
		t.NotObserved("the authorization endpoint gives no code without its user", "")
	}
	return to.Query().Get("code")
}

// exchanged exchanges a code for tokens, with the verifier or without.
func (h *authority) exchanged(t *check.T, client, verifier string) (gjson.Result, int) {
	values := url.Values{"grant_type": {"authorization_code"}, "code": {h.code(t, client)}, "client_id": {client}, "redirect_uri": {redirectURI}}
	if verifier != "" {
		values.Set("code_verifier", verifier)
	}
	return postForm(t, h.endpoint(t, "token_endpoint", "/token"), "application/x-www-form-urlencoded", values.Encode())
}

func ownClient(t *check.T, h *authority) string {
	onLoopback(t)
	id, ok := h.registered(t)
	if !ok {
		t.NotObserved("no client could be registered", "")
	}
	return id
}
