package server

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// foreignCaller returns why a request may come from a page of another site, or "".
// Host must be a name of this server, which excludes DNS rebinding. Origin, if a
// browser sends it, must be that of the server under such a name
// (basic/transports#security-warning).
func (h *HTTPHandler) foreignCaller(r *http.Request) string {
	host, port, ok := splitHost(r.Host)
	if !ok || !h.isOwnName(host) {
		return "The header Host names another server"
	}
	origins := r.Header.Values("Origin")
	switch len(origins) {
	case 0:
		return ""
	case 1:
		if h.isOwnOrigin(origins[0], port, r.TLS != nil) {
			return ""
		}
	}
	return "The header Origin names another site"
}

// isOwnName reports whether a name is one of this server.
func (h *HTTPHandler) isOwnName(host string) bool {
	return isLoopback(host) ||
		slices.ContainsFunc(h.options.HTTP.AllowedHosts, func(s string) bool { return strings.EqualFold(s, host) })
}

// isLoopback reports whether a name, as Host holds it without its port, is one of
// the loopback interface.
func isLoopback(host string) bool {
	return slices.Contains(loopbackNames(), strings.ToLower(host))
}

func loopbackNames() []string { return []string{"localhost", "127.0.0.1", "[::1]"} }

// splitHost splits a Host into name and port, which is "" if there is none. ok is
// false unless the name is a plain name, an IPv4 address or a bracketed IPv6
// address, and the port a number.
func splitHost(s string) (host, port string, ok bool) {
	host = s
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		host, port = s[:i], s[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return "", "", false
		}
	}
	if strings.HasPrefix(host, "[") {
		ip := net.ParseIP(strings.Trim(host, "[]"))
		return host, port, ip != nil && strings.HasSuffix(host, "]")
	}
	return host, port, host != "" && !strings.ContainsAny(host, "[]@/\\ :%?#,")
}

// isOwnOrigin reports whether an origin is the server's own, or one that the
// options allow. An origin is scheme, host and port and nothing else (RFC 6454
// section 6.2); null is the origin of no server.
func (h *HTTPHandler) isOwnOrigin(origin, port string, tls bool) bool {
	if slices.Contains(h.options.HTTP.AllowedOrigins, origin) {
		return true
	}
	scheme, defaultPort := "http", "80"
	if tls {
		scheme, defaultPort = "https", "443"
	}
	rest, ok := strings.CutPrefix(origin, scheme+"://")
	if u, err := url.Parse(origin); !ok || err != nil || u.Host != rest {
		return false
	}
	host, originPort, ok := splitHost(rest)
	if !ok || !h.isOwnName(host) {
		return false
	}
	if originPort == "" {
		originPort = defaultPort
	}
	if port == "" {
		port = defaultPort
	}
	return originPort == port
}
