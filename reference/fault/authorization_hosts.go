package fault

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// hostedServers are faults of the authorization server that a server hosts.
func hostedServers() []Fault {
	return []Fault{
		{
			Name: "server-metadata-missing", Does: "has no metadata of its authorization server",
			CaughtBy: []string{"authorization.server.metadata"},
			Apply:    notFoundAt(serverMetadata),
		},
		{
			Name:     "server-metadata-without-endpoint",
			Does:     "leaves token_endpoint out of the metadata of its authorization server",
			CaughtBy: []string{"authorization.server.metadata"},
			Apply:    onDocument(serverMetadata, remove("token_endpoint")),
		},
		{
			Name:     "server-metadata-behind-path",
			Does:     "has the metadata of its authorization server below the path of the MCP endpoint",
			CaughtBy: []string{"authorization.server.root"},
			Apply: whenHTTP(atOrBelow(serverMetadata), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != serverMetadata+"/mcp" {
					http.NotFound(w, r)
					return
				}
				root := r.Clone(r.Context())
				root.URL.Path = serverMetadata
				next.ServeHTTP(w, root)
			}),
		},
		{
			Name:     "server-endpoints-hidden",
			Does:     "has neither metadata of its authorization server nor the default endpoints",
			CaughtBy: []string{"authorization.server.defaults"},
			Also:     map[string]string{"authorization.server.metadata": "it has no metadata either"},
			Apply:    notFoundAt(serverMetadata, "/authorize", "/token"),
		},
		{
			Name: "server-endpoint-http", Does: "names an authorization endpoint at a URL of http",
			CaughtBy: []string{"authorization.server.https"},
			Apply:    onDocument(serverMetadata, set("authorization_endpoint", "http://auth.example/authorize")),
		},
		{
			Name: "redirect-open", Does: "redirects to any redirect URI",
			CaughtBy: []string{"authorization.server.redirect"},
			Apply:    redirectTo(func(string) bool { return true }),
		},
		{
			Name:     "redirect-by-prefix",
			Does:     "redirects to a redirect URI that begins like one of the loopback interface",
			CaughtBy: []string{"authorization.server.redirect"},
			Apply:    redirectTo(func(uri string) bool { return strings.HasPrefix(uri, "http://127.0.0.1") }),
		},
		{
			Name: "registration-missing", Does: "does not register clients",
			CaughtBy: []string{"authorization.server.registration"},
			Apply: combine(notFoundAt("/register"),
				onHTTPAnswer(atPath(serverMetadata), editDocument(remove("registration_endpoint")))),
		},
		{
			Name: "registration-without-id", Does: "leaves client_id out of the answer to a registration",
			CaughtBy: []string{"authorization.server.registration"},
			Apply:    onDocument("/register", remove("client_id")),
		},
		{
			Name: "pkce-ignored", Does: "exchanges a code for a token with any verifier",
			CaughtBy: []string{"authorization.server.pkce"},
			Apply:    ignoreVerifier,
		},
		{
			Name: "refresh-token-reusable", Does: "accepts a refresh token any number of times",
			CaughtBy: []string{"authorization.server.rotation"},
			Apply:    keepRefreshTokens,
		},
	}
}

// redirectTo redirects to the redirect URIs that match and that the server refuses.
func redirectTo(matches func(uri string) bool) apply {
	return whenHTTP(atOrBelow("/authorize"), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		a := answerOf(next, r)
		if uri := r.URL.Query().Get("redirect_uri"); a.status == http.StatusBadRequest && matches(uri) {
			http.Redirect(w, r, uri+"#code=open", http.StatusFound)
			return
		}
		a.send(w)
	})
}

// ignoreVerifier replaces the challenge and the verifier of each client by its own.
func ignoreVerifier(o *server.Options) {
	const verifier = "a-verifier-that-only-the-fault-itself-knows"
	sum := sha256.Sum256([]byte(verifier))
	combine(
		onHTTPRequest(atPath("/authorize"), func(r *http.Request) {
			q := r.URL.Query()
			q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
			r.URL.RawQuery = q.Encode()
		}),
		onHTTPRequest(atPath("/token"), func(r *http.Request) {
			if form := formOf(r); form.Get("grant_type") == "authorization_code" {
				form.Set("code_verifier", verifier)
				setBody(r, []byte(form.Encode()))
			}
		}),
	)(o)
}

// formOf returns the form in the body of a request, which can still be read.
func formOf(r *http.Request) url.Values {
	body, err := bodyOf(r)
	if err != nil {
		return nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil
	}
	return form
}

// keepRefreshTokens returns to every client the refresh token that it has.
func keepRefreshTokens(o *server.Options) {
	var mu sync.Mutex
	current := map[string]string{} // by the token that the client knows
	whenHTTP(atOrBelow("/token"), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		form := formOf(r)
		known := form.Get("refresh_token")
		if known == "" {
			next.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if now := current[known]; now != "" {
			form.Set("refresh_token", now)
			setBody(r, []byte(form.Encode()))
		}
		a := answerOf(next, r)
		var granted server.Object
		if json.Unmarshal(a.body.Bytes(), &granted) == nil && granted["refresh_token"] != nil {
			current[known] = granted["refresh_token"].(string)
			granted["refresh_token"] = known
			a.setBody(wire.Encode(granted))
		}
		a.send(w)
	})(o)
}
