package server

import (
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// foreign tells why a request may come from a page of somebody else, or "".
// Host must be a name of this server, so that a name that was rebound to it
// does not do; Origin, where a browser sends it, must be that of the server
// under such a name (basic/transports#security-warning).
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

// named tells whether a name is one of this server.
func (h *HTTPHandler) isOwnName(host string) bool {
	return isLoopback(host) || slices.ContainsFunc(h.options.HTTP.Hosts, func(s string) bool { return strings.EqualFold(s, host) })
}

// isLoopback tells whether a name, as it stands in Host without its port, is
// one of the loopback interface.
func isLoopback(host string) bool {
	return slices.Contains(loopbackNames(), strings.ToLower(host))
}

func loopbackNames() []string { return []string{"localhost", "127.0.0.1", "[::1]"} }

// splitHost splits a Host, the port being "" if there is none. Anything but a
// plain name, IPv4 address or bracketed IPv6 address and a number is no Host.
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

// domestic tells whether an origin is the server's own, or one that the
// options allow. An origin is scheme, host and port and nothing else (RFC 6454
// section 6.2); null is that of nobody.
func (h *HTTPHandler) isOwnOrigin(origin, port string, tls bool) bool {
	if slices.Contains(h.options.HTTP.Origins, origin) {
		return true
	}
	scheme, usual := "http", "80"
	if tls {
		scheme, usual = "https", "443"
	}
	rest, ok := strings.CutPrefix(origin, scheme+"://")
	if u, err := url.Parse(origin); !ok || err != nil || u.Host != rest {
		return false
	}
	host, of, ok := splitHost(rest)
	if !ok || !h.isOwnName(host) {
		return false
	}
	if of == "" {
		of = usual
	}
	if port == "" {
		port = usual
	}
	return of == port
}

// accepts tells whether the client takes all of the types. Without the header
// it takes any (RFC 9110 section 12.5.1).
func accepts(r *http.Request, types ...string) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true
	}
	taken := map[string]bool{}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q, err := strconv.ParseFloat(parameters["q"], 64)
		taken[name] = err != nil || q > 0
	}
	for _, name := range types {
		kind, _, _ := strings.Cut(name, "/")
		takes := false
		for _, pattern := range []string{"*/*", kind + "/*", name} { // the most specific one counts
			if v, ok := taken[pattern]; ok {
				takes = v
			}
		}
		if !takes {
			return false
		}
	}
	return true
}

// isJSON tells whether the body is said to be JSON in UTF-8.
func isJSON(r *http.Request) bool {
	name, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, given := parameters["charset"]
	return err == nil && name == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}
