package fault

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// hosting is the revision in which a server is its own authorization server.
var hosting = spec.Only(spec.V2025_03_26)

// hostFaults are about the authorization server that a protected server hosts.
func hostFaults() []Fault {
	all := []Fault{
		{
			Name: "server-metadata-missing", Does: "has no metadata of its authorization server",
			CaughtBy: []string{"authorization.host.metadata"},
			Apply:    goneAt(serverMetadata),
		},
		{
			Name: "server-metadata-without-endpoint", Does: "leaves the token endpoint out of the metadata of its authorization server",
			CaughtBy: []string{"authorization.host.metadata"},
			Apply:    onDocument(serverMetadata, func(o server.Object) { delete(o, "token_endpoint") }),
		},
		{
			Name: "server-metadata-behind-path", Does: "has the metadata of its authorization server behind the path of the MCP endpoint",
			CaughtBy: []string{"authorization.host.root"},
			Apply: atPath(serverMetadata, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
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
			Name: "server-endpoints-hidden", Does: "has neither metadata of its authorization server nor the default endpoints",
			CaughtBy: []string{"authorization.host.defaults"},
			Also:     map[string]string{"authorization.host.metadata": "the default endpoints are looked for where there is no metadata"},
			Apply:    goneAt(serverMetadata, "/authorize", "/token"),
		},
		{
			Name: "server-endpoint-http", Does: "names an authorization endpoint that is reached over http",
			CaughtBy: []string{"authorization.host.https"},
			Apply:    onDocument(serverMetadata, func(o server.Object) { o["authorization_endpoint"] = "http://auth.example/authorize" }),
		},
		{
			Name: "redirect-open", Does: "sends anybody on to any redirect URI",
			CaughtBy: []string{"authorization.host.redirect"},
			Apply:    redirecting(func(string) bool { return true }),
		},
		{
			Name: "redirect-by-prefix", Does: "takes a redirect URI that begins like one of the loopback interface",
			CaughtBy: []string{"authorization.host.redirect"},
			Apply:    redirecting(func(to string) bool { return strings.HasPrefix(to, "http://127.0.0.1") }),
		},
		{
			Name: "registration-missing", Does: "does not register clients",
			CaughtBy: []string{"authorization.host.registration"},
			Apply: atDoor(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/register":
						http.NotFound(w, r)
					case serverMetadata:
						k := heldBack(next, r)
						k.send(w, []byte(strings.Replace(k.body.String(), `"registration_endpoint"`, `"no_registration_endpoint"`, 1)))
					default:
						next.ServeHTTP(w, r)
					}
				})
			}),
		},
		{
			Name: "registration-without-id", Does: "registers clients without telling their id",
			CaughtBy: []string{"authorization.host.registration"},
			Apply:    onDocument("/register", func(o server.Object) { delete(o, "client_id") }),
		},
		{
			Name: "pkce-ignored", Does: "exchanges a code for a token whatever its verifier",
			CaughtBy: []string{"authorization.host.pkce"},
			Apply:    unverified(),
		},
		{
			Name: "refresh-token-reusable", Does: "takes a refresh token any number of times",
			CaughtBy: []string{"authorization.host.rotation"},
			Apply:    unrotated(),
		},
	}
	for i := range all {
		all[i].In = hosting
	}
	return all
}

// redirecting sends on to redirect URIs that are refused.
func redirecting(to func(uri string) bool) apply {
	return atPath("/authorize", func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		k := heldBack(next, r)
		if back := r.URL.Query().Get("redirect_uri"); k.status == http.StatusBadRequest && to(back) {
			http.Redirect(w, r, back+"#code=open", http.StatusFound)
			return
		}
		k.send(w, nil)
	})
}

// unverified has each client's challenge be that of a verifier of its own.
func unverified() apply {
	const verifier = "a-verifier-that-nobody-but-the-fault-itself-knows"
	sum := sha256.Sum256([]byte(verifier))
	return atDoor(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/authorize":
				q := r.URL.Query()
				q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
				r.URL.RawQuery = q.Encode()
			case "/token":
				values, err := url.ParseQuery(string(bodyOf(r)))
				if err == nil && values.Get("grant_type") == "authorization_code" {
					values.Set("code_verifier", verifier)
					withBody(r, values.Encode())
				}
			}
			next.ServeHTTP(w, r)
		})
	})
}

func withBody(r *http.Request, body string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
}

// unrotated gives every client the refresh token back that it had.
func unrotated() apply {
	var mu sync.Mutex
	current := map[string]string{} // by the one that the client knows
	return atPath("/token", func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		values, err := url.ParseQuery(string(bodyOf(r)))
		known := values.Get("refresh_token")
		if err != nil || known == "" {
			next.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if now := current[known]; now != "" {
			values.Set("refresh_token", now)
			withBody(r, values.Encode())
		}
		k := heldBack(next, r)
		var o server.Object
		if json.Unmarshal(k.body.Bytes(), &o) == nil && o["refresh_token"] != nil {
			current[known] = o["refresh_token"].(string)
			o["refresh_token"] = known
			k.body = *bytes.NewBuffer(encode(o))
		}
		k.send(w, nil)
	})
}
