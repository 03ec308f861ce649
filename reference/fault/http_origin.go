package fault

import (
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The revisions that have streamable HTTP, and those of them with sessions.
var (
	streamable = spec.Since(spec.V2025_03_26)
	sessions   = streamable & spec.Handshake
)

// httpOrigins are the faults of basic/transports#security-warning.
func httpOrigins() []Fault {
	return append(originsLetIn(), originsRefused()...)
}

// letIn has the server not see the Origin of requests that fit.
func letIn(fits ...func(r *http.Request) bool) apply {
	return onRequestOf(both(fits...), func(r *http.Request) { r.Header.Del("Origin") })
}

// from fits requests whose Origin is one of some.
func from(some func(host string) bool) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		_, host, ok := strings.Cut(r.Header.Get("Origin"), "://")
		return ok && some(host)
	}
}

func originsLetIn() []Fault {
	let := func(name, does string, in spec.Set, fits ...func(r *http.Request) bool) Fault {
		return Fault{
			Name: name, Does: does, In: in, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-validate-origin"},
			CaughtBy: []string{"streamable-http.origin.validated"},
			Apply:    letIn(fits...),
		}
	}
	return []Fault{
		let("origin-ignored", "looks at no Origin", streamable, has("Origin")),
		let("origin-ignored-by-post", "looks at the Origin of GET and DELETE alone", streamable, by(http.MethodPost)),
		let("origin-ignored-by-get", "opens an event stream for any Origin", sessions, by(http.MethodGet)),
		let("origin-ignored-by-delete", "lets any Origin end a session", sessions, by(http.MethodDelete)),
		let("origin-ignored-by-initialize", "opens sessions for any Origin", sessions, posts(wire.Request, "initialize")),
		let("origin-compared-by-beginning", "takes an Origin for its own that begins with its name", streamable,
			from(func(host string) bool { return strings.HasPrefix(host, "localhost") })),
		let("origin-compared-by-address", "takes an Origin for its own that begins with its address", streamable,
			from(func(host string) bool { return strings.HasPrefix(host, "127.0.0.1") })),
		let("origin-compared-by-end", "takes an Origin for its own that ends with its name and port", streamable,
			func(r *http.Request) bool {
				_, port, _ := strings.Cut(r.Host, ":")
				return strings.HasSuffix(r.Header.Get("Origin"), "localhost:"+port)
			}),
		let("origin-compared-by-port", "takes an Origin for its own that has its port", streamable,
			func(r *http.Request) bool {
				_, port, _ := strings.Cut(r.Host, ":")
				return strings.HasSuffix(r.Header.Get("Origin"), "evil.example:"+port)
			}),
		let("origin-of-https-trusted", "takes any Origin of https for its own", streamable,
			func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Origin"), "https://") }),
	}
}

func originsRefused() []Fault {
	refuse := func(name, does string, status int) Fault {
		return Fault{
			Name: name, Does: does, In: spec.Since(spec.V2025_11_25), Over: transport.HTTP,
			Breaks:   []string{"streamable-http-origin-403"},
			CaughtBy: []string{"streamable-http.origin.forbidden"},
			Apply:    onStatus(both(has("Origin"), by(http.MethodPost)), http.StatusForbidden, status),
		}
	}
	return []Fault{
		refuse("origin-refused-with-400", "answers a foreign Origin with 400", http.StatusBadRequest),
		refuse("origin-refused-with-401", "answers a foreign Origin with 401", http.StatusUnauthorized),
		refuse("origin-refused-with-404", "answers a foreign Origin with 404", http.StatusNotFound),
		refuse("origin-refused-with-500", "answers a foreign Origin with 500", http.StatusInternalServerError),
		refuse("origin-refused-with-200", "answers a foreign Origin with an error and 200", http.StatusOK),
	}
}
