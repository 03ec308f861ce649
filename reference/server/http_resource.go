package server

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// document answers with the protected resource metadata
// (basic/authorization#authorization-server-location, RFC 9728 section 2).
func (p *authorization) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuseMethod(w, "GET, HEAD")
		return
	}
	writeJSON(w, http.StatusOK, encode(Object{
		"resource":                 p.calledOrigin(r) + endpointPath(r),
		"authorization_servers":    []any{p.guard.Authority.Issuer()},
		"scopes_supported":         []any{ScopeEnter, ScopeRead},
		"bearer_methods_supported": []any{"header"},
		"resource_name":            "Harbour Street Library",
	}))
}

// endpointOf is the path of the endpoint that a request is made to, or to whose
// metadata: RFC 9728 section 3.3 wants the resource to be what the client calls.
func endpointPath(r *http.Request) string {
	switch strings.TrimPrefix(r.URL.Path, wellKnownResource) {
	case pathSSE, pathMessages:
		return pathSSE
	}
	return pathMCP
}

// origins are those that the server has: its names at the port that is listened
// on, and at the usual one of the scheme those that may be of a proxy. What port a
// caller names counts for nothing: a token for another server of this machine
// would come with that of the other.
func (p *authorization) origins(r *http.Request) (out []string) {
	scheme := schemeOf(r)
	port := ""
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		port = ":" + strconv.Itoa(addr.Port)
	}
	for _, name := range append(loopbackNames(), p.hosts...) {
		out = append(out, scheme+name+port)
	}
	for _, name := range p.hosts {
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

// origin is the one of them that a request calls the server by, or at another
// port.
func (p *authorization) calledOrigin(r *http.Request) string {
	called := schemeOf(r) + r.Host
	name, _, _ := splitHost(r.Host)
	named := ""
	for _, origin := range p.origins(r) {
		if sameResource(called, origin) {
			return called
		}
		if of, _, _ := splitHost(strings.TrimPrefix(origin, schemeOf(r))); strings.EqualFold(of, name) {
			named = origin
		}
	}
	return named
}

// identifies tells whether an audience is this server, by whichever name and
// endpoint.
func (p *authorization) isOwnAudience(r *http.Request, audience string) bool {
	for _, origin := range p.origins(r) {
		if sameResource(audience, origin+pathMCP) || sameResource(audience, origin+pathSSE) {
			return true
		}
	}
	return false
}

// sameResource tells whether two URIs identify one server: scheme and host are
// compared without case (basic/authorization#canonical-server-uri).
func sameResource(a, b string) bool {
	x, err := url.Parse(a)
	y, bad := url.Parse(b)
	return err == nil && bad == nil && strings.EqualFold(x.Scheme, y.Scheme) && strings.EqualFold(x.Hostname(), y.Hostname()) && effectivePort(x) == effectivePort(y) &&
		x.EscapedPath() == y.EscapedPath() && x.RawQuery == y.RawQuery && x.Fragment == "" && x.User == nil
}

// portOf is the port of a URL, that of its scheme if it names none.
func effectivePort(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}
