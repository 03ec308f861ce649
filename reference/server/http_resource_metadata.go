package server

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// serveMetadata answers with the protected resource metadata
// (basic/authorization#authorization-server-location, RFC 9728 section 2).
func (a *authorization) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuseMethod(w, "GET, HEAD")
		return
	}
	writeJSON(w, http.StatusOK, wire.Encode(Object{
		"resource":                 a.calledOrigin(r) + endpointPath(r),
		"authorization_servers":    []any{a.guard.Authority.Issuer()},
		"scopes_supported":         []any{ScopeEnter, ScopeRead},
		"bearer_methods_supported": []any{"header"},
		"resource_name":            "Harbour Street Library",
	}))
}

// endpointPath returns the path of the endpoint that a request is for, or whose
// metadata it is for: RFC 9728 section 3.3 requires the resource to be the URL that
// the client calls.
func endpointPath(r *http.Request) string {
	switch strings.TrimPrefix(r.URL.Path, wellKnownResource) {
	case pathSSE, pathMessages:
		return pathSSE
	}
	return pathMCP
}

// origins returns the origins of the server: its names at the port of the listener,
// and the names that may be those of a proxy at the default port of the scheme. The
// port that a caller names does not count: otherwise a token for another server of
// this machine would be accepted with the port of that server.
func (a *authorization) origins(r *http.Request) (out []string) {
	scheme := schemeOf(r)
	port := ""
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		port = ":" + strconv.Itoa(addr.Port)
	}
	for _, name := range append(loopbackNames(), a.hosts...) {
		out = append(out, scheme+name+port)
	}
	for _, name := range a.hosts {
		out = append(out, scheme+name)
	}
	return out
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https://"
	}
	return "http://"
}

// calledOrigin returns the origin of the server that a request names, at another
// port if the request names a port that is not the server's.
func (a *authorization) calledOrigin(r *http.Request) string {
	called := schemeOf(r) + r.Host
	name, _, _ := splitHost(r.Host)
	sameName := ""
	for _, origin := range a.origins(r) {
		if sameResource(called, origin) {
			return called
		}
		if host, _, _ := splitHost(strings.TrimPrefix(origin, schemeOf(r))); strings.EqualFold(host, name) {
			sameName = origin
		}
	}
	return sameName
}

// isOwnAudience reports whether an audience is this server, by any of its names and
// endpoints.
func (a *authorization) isOwnAudience(r *http.Request, audience string) bool {
	for _, origin := range a.origins(r) {
		if sameResource(audience, origin+pathMCP) || sameResource(audience, origin+pathSSE) {
			return true
		}
	}
	return false
}

// sameResource reports whether two URIs identify one server: scheme and host are
// compared without case (basic/authorization#canonical-server-uri).
func sameResource(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Fragment == "" && x.User == nil &&
		strings.EqualFold(x.Scheme, y.Scheme) && strings.EqualFold(x.Hostname(), y.Hostname()) &&
		effectivePort(x) == effectivePort(y) && x.EscapedPath() == y.EscapedPath() && x.RawQuery == y.RawQuery
}

// effectivePort returns the port of a URL, the default one of its scheme if it
// names none.
func effectivePort(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}
