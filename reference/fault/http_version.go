package fault

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const versionField = "MCP-Protocol-Version"

// httpVersions are the faults of basic/transports#protocol-version-header.
func httpVersions() []Fault {
	in := spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	unknown := both(has(versionField), func(r *http.Request) bool { return !published(r.Header.Get(versionField)) })
	invalid := func(name, does string, apply apply) Fault {
		return Fault{
			Name: name, Does: does, In: in, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-version-header-invalid-400"},
			CaughtBy: []string{"streamable-http.version.invalid"},
			Apply:    apply,
		}
	}
	absent := func(name, does string, status int) Fault {
		return Fault{
			Name: name, Does: does, In: in, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-version-header-default"},
			CaughtBy: []string{"streamable-http.version.absent"},
			Also:     map[string]string{"streamable-http.event.priming": "a server without sessions keeps no events that a client could come back for"},
			Apply: all(func(o *server.Options) { o.HTTP.SessionLess = true }, whenHTTP(both(posts(wire.Request, "ping"), func(r *http.Request) bool { return r.Header.Get(versionField) == "" }),
				func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					_, _ = w.Write([]byte(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"The header MCP-Protocol-Version is missing"}}`))
				})),
		}
	}
	drop := func(r *http.Request) { r.Header.Del(versionField) }
	return []Fault{
		invalid("unknown-version-served", "serves requests of whatever version their header names", onRequestOf(unknown, drop)),
		invalid("garbage-for-a-version-served", "takes a header for absent that holds no date", onRequestOf(both(unknown, func(r *http.Request) bool {
			return r.Header.Get(versionField)[0] != '1' && r.Header.Get(versionField)[0] != '2'
		}), drop)),
		invalid("future-version-served", "serves requests of any later version", onRequestOf(both(unknown, func(r *http.Request) bool {
			return r.Header.Get(versionField) > string(spec.Every.Newest()) && r.Header.Get(versionField)[0] == '2'
		}), drop)),
		invalid("version-of-notifications-ignored", "looks at the version of requests alone", onRequestOf(both(unknown, posts(wire.Notification, "")), drop)),
		invalid("unknown-version-refused-with-404", "answers an unknown version with 404", onStatus(unknown, http.StatusBadRequest, http.StatusNotFound)),
		invalid("unknown-version-refused-with-406", "answers an unknown version with 406", onStatus(unknown, http.StatusBadRequest, http.StatusNotAcceptable)),
		invalid("unknown-version-refused-with-200", "answers an unknown version with an error and 200", onStatus(unknown, http.StatusBadRequest, http.StatusOK)),
		absent("absent-version-refused", "refuses requests without a version, and has no sessions that tell it", http.StatusBadRequest),
		absent("absent-version-refused-with-200", "refuses requests without a version with status 200, and has no sessions that tell it", http.StatusOK),
	}
}
