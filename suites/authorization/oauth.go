package authorization

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// An authServer is the authorization server on the host of a server
// (basic/authorization of 2025-03-26).
type authServer struct {
	metadata gjson.Result
	url      *url.URL // of the metadata, nil if none was found
	atRoot   bool     // of the host
}

const authServerPath = "/.well-known/oauth-authorization-server"

var authServerKey = check.NewKey[*authServer]("authorization server")

// ownAuthServer returns the authorization server of a protected server. The rules
// about it do not apply if the server names one on another host in protected
// resource metadata, as in later revisions.
func ownAuthServer(t *check.T) *authServer {
	requireProtected(t)
	s := check.Once(t, authServerKey, func() *authServer {
		s := &authServer{}
		path := strings.TrimSuffix(t.HTTP().URL().Path, "/")
		for _, at := range []string{authServerPath, authServerPath + path, path + authServerPath} {
			if metadata, ok := fetchDocument(t, onHost(t, at)); ok && metadata.Get("issuer").Exists() {
				s.metadata, s.url, s.atRoot = metadata, onHost(t, at), at == authServerPath
				break
			}
		}
		return s
	})
	if s.url == nil && namesOtherAuthServer(t) {
		t.NotApplicable("the protected resource metadata names an authorization server on another host")
	}
	return s
}

// namesOtherAuthServer reports whether the protected resource metadata names an
// authorization server on another host.
func namesOtherAuthServer(t *check.T) bool {
	m := metadataOf(t)
	if m.url == nil {
		return false
	}
	for _, server := range m.document.Get("authorization_servers").Array() {
		if u, err := url.Parse(server.String()); err == nil && u.Host != "" && u.Host != t.HTTP().URL().Host {
			return true
		}
	}
	return false
}

// An endpointAnswer is what the server answers at a path.
type endpointAnswer struct {
	path     string
	exchange *check.PendingExchange
}

var defaultEndpointsKey = check.NewKey[[]endpointAnswer]("default endpoints")

// defaultEndpoints returns the answers at the default paths of the endpoints that
// are required; registration is not. If nothing of OAuth is found the body ends: the
// server may issue its tokens in another way (basic#auth).
func defaultEndpoints(t *check.T) []endpointAnswer {
	all := check.Once(t, defaultEndpointsKey, func() []endpointAnswer {
		var out []endpointAnswer
		for _, endpoint := range []struct{ path, method string }{
			{"/authorize", http.MethodGet}, {"/token", http.MethodPost},
		} {
			x := t.HTTP().Request(endpoint.method, check.WithoutGivenHeaders(),
				check.At(onHost(t, endpoint.path)), check.Without("Mcp-Session-Id"))
			out = append(out, endpointAnswer{endpoint.path, x})
		}
		return out
	})
	exists := func(e endpointAnswer) bool { return e.exchange.Status != http.StatusNotFound }
	if metadataOf(t).url == nil && !slices.ContainsFunc(all, exists) {
		t.NotObserved(noOAuth, publishServerMetadata)
	}
	return all
}

// endpoint returns the URL of an endpoint by its name in the metadata or by its
// default path. If it is not on the host of the server, or the metadata does not name
// it, the body ends.
func (s *authServer) endpoint(t *check.T, name, path string) *url.URL {
	named := s.metadata.Get(name)
	switch {
	case named.Exists():
		u, err := url.Parse(named.String())
		if err != nil || u.Host != t.HTTP().URL().Host {
			t.NotObserved(name+" is not on the host of the server, and was not requested",
				"serve "+name+" on the host of the server")
		}
		return u
	case s.url != nil:
		t.NotObserved("the metadata names no "+name, "name "+name+" in the metadata of the authorization server")
	}
	return onHost(t, path)
}

// The redirect URIs of our clients, where nothing listens.
const (
	registeredURI   = "http://127.0.0.1:9/mcpcheck/callback"
	unregisteredURI = "https://mcpcheck.invalid/callback"
)

// pkceVerifier is a code verifier (RFC 7636).
const pkceVerifier = "mcpcheck-verifier-0123456789-abcdefghijklmnopqrstuvwxyz"

// pkceChallenge returns the code challenge of pkceVerifier by the method S256.
func pkceChallenge() string {
	sum := sha256.Sum256([]byte(pkceVerifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// authorize requests a code for a client, to be sent to a redirect URI.
func (s *authServer) authorize(t *check.T, client, redirect string) *check.PendingExchange {
	at := *s.endpoint(t, "authorization_endpoint", "/authorize")
	q := at.Query()
	for key, v := range map[string]string{
		"response_type": "code", "client_id": client, "redirect_uri": redirect, "state": "mcpcheck",
		"code_challenge": pkceChallenge(), "code_challenge_method": "S256",
	} {
		q.Set(key, v)
	}
	at.RawQuery = q.Encode()
	return t.HTTP().Request(http.MethodGet, check.WithoutGivenHeaders(), check.At(&at), check.Without("Mcp-Session-Id"))
}

// redirectsTo reports whether a response redirects to a URI.
func redirectsTo(x *check.PendingExchange, uri string) bool {
	return x.Status >= 300 && x.Status < 400 && strings.HasPrefix(x.Header.Get("Location"), uri)
}

// post posts to an endpoint and returns the JSON of the response, whose tokens are
// hidden in reports; the status is 0 if there is no response.
func (s *authServer) post(t *check.T, at *url.URL, mediaType, body string) (answer gjson.Result, status int) {
	x, err := t.HTTP().TryRequest(http.MethodPost,
		check.WithoutGivenHeaders(), check.At(at), check.Without("Mcp-Session-Id"),
		check.With("Content-Type", mediaType), check.With("Accept", "application/json"),
		func(r *transport.HTTPRequest) { r.Body = []byte(body) })
	if err != nil || !t.HTTP().Complete(x) {
		return answer, 0
	}
	answer = gjson.ParseBytes(x.Snapshot().PlainBody())
	for _, name := range []string{"access_token", "refresh_token"} {
		t.Auth().Hide(answer.Get(name).String())
	}
	return answer, x.Status
}

// requestToken posts a form to the token endpoint.
func (s *authServer) requestToken(t *check.T, form url.Values) (answer gjson.Result, status int) {
	return s.post(t, s.endpoint(t, "token_endpoint", "/token"), "application/x-www-form-urlencoded", form.Encode())
}

var registeredClientKey = check.NewKey[string]("registered client")

// register returns the id of our client, which registers itself once on the loopback
// interface; ok is false if it has none.
func (s *authServer) register(t *check.T) (client string, ok bool) {
	if !onLoopback(t) {
		return "", false
	}
	client = check.Once(t, registeredClientKey, func() string {
		at := s.endpoint(t, "registration_endpoint", "/register")
		answer, _ := s.post(t, at, "application/json",
			`{"client_name":"mcpcheck","redirect_uris":["`+registeredURI+`"],`+
				`"grant_types":["authorization_code","refresh_token"],"response_types":["code"],`+
				`"token_endpoint_auth_method":"none"}`)
		return answer.Get("client_id").String()
	})
	return client, client != ""
}

// staysRegistered is why clients register themselves on the loopback interface only.
const staysRegistered = "a client that registers itself stays registered on a server that others use"

// requireClient returns the id of our client; without one the body ends.
func (s *authServer) requireClient(t *check.T) string {
	posting.RequireLoopback(t, staysRegistered)
	id, ok := s.register(t)
	if !ok {
		t.NotObserved("no client could be registered", registerClients)
	}
	return id
}

// requireCode returns a code. If the server asks its user before it gives one, the
// body ends.
func (s *authServer) requireCode(t *check.T, client string) string {
	x := s.authorize(t, client, registeredURI)
	to, err := url.Parse(x.Header.Get("Location"))
	if err != nil || !redirectsTo(x, registeredURI) || to.Query().Get("code") == "" {
		t.NotObserved("the authorization endpoint gives no code without its user",
			"let a test instance give a code without a login")
	}
	return to.Query().Get("code")
}

// exchangeCode exchanges a code for tokens, with a verifier if there is one.
func (s *authServer) exchangeCode(t *check.T, client, verifier string) (answer gjson.Result, status int) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {s.requireCode(t, client)},
		"client_id": {client}, "redirect_uri": {registeredURI},
	}
	if verifier != "" {
		form.Set("code_verifier", verifier)
	}
	return s.requestToken(t, form)
}
