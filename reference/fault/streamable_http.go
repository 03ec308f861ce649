package fault

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// streamableHTTPFaults are the faults of basic/transports#streamable-http.
func streamableHTTPFaults() []Fault {
	return overHTTP(slices.Concat(
		streamableEndpoint(), originsAccepted(), originsRefused(), versionHeader(),
		answerTypes(), answerBodies(), sharedIDs(), acceptedAnswers(), refusedMessages(), headerFields(),
		messagesRefused(), sessionIDs(), sessionsMissing(), sessionsEnded(), sessionsUnknown(), sessionsMixed(),
		streamEnds(), streamPolling(), streamEvents(), eventIDs(), primingEvents(),
		streamRoutes(), streamCopies(), streamReplays(), streamDisconnects(),
		closedConnections(), statelessHTTP(), statelessStreams(), refusalStatus(),
		streamableSemantics(),
	)...)
}

// streamableEndpoint are faults of the endpoint itself.
func streamableEndpoint() []Fault {
	return []Fault{
		{
			Name: "get-on-another-path", Does: "answers GET with status 404 on the path that accepts POST",
			In:       spec.Handshake,
			CaughtBy: []string{"streamable-http.endpoint"},
			Apply:    combine(withoutListChanged, respondNotFound(isGet)),
		},
		{
			Name:     "answers-kept-by-id",
			Does:     "answers a request with a string id like the earlier request of any client with that id",
			CaughtBy: []string{"streamable-http.clients"},
			Apply:    answerByID,
		},
		{
			Name: "listens-on-another-address", Does: "listens on another address besides 127.0.0.1",
			CaughtBy: []string{"streamable-http.bind.loopback"},
			Apply:    listenBeside,
		},
	}
}

// listenBeside listens on an address of this machine other than 127.0.0.1 as well.
func listenBeside(o *server.Options) {
	if other, ok := server.SecondLoopbackAddress(); ok {
		o.HTTP.ExtraHosts = append(o.HTTP.ExtraHosts, other.String())
	}
}

// answerByID repeats the first answer to a request with a string id.
func answerByID(o *server.Options) {
	onHTTP(func(next http.Handler) http.Handler {
		var mu sync.Mutex
		kept := map[string]*httpAnswer{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, ok := posted(r)
			if !ok || m.Kind != wire.Request || !strings.HasPrefix(m.ID().Raw, `"`) {
				next.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			id := m.ID().Key()
			if kept[id] == nil {
				kept[id] = answerOf(next, r)
			}
			kept[id].send(w)
		})
	})(o)
}

// hostPort returns the port of the host of a request.
func hostPort(r *http.Request) string {
	_, port, _ := strings.Cut(r.Host, ":")
	return port
}

// originHasPrefix matches requests whose Origin, without its scheme, has the prefix.
func originHasPrefix(prefix string) httpMatcher {
	return func(r *http.Request) bool {
		_, host, ok := strings.Cut(r.Header.Get("Origin"), "://")
		return ok && strings.HasPrefix(host, prefix)
	}
}

// originsAccepted are faults of basic/transports#security-warning: Origins that the
// server accepts and must not.
func originsAccepted() []Fault {
	accept := func(name, does string, matchers ...httpMatcher) Fault {
		return newFault(name, does, "streamable-http.origin.validated",
			onHTTPRequest(allOf(matchers...), func(r *http.Request) { r.Header.Del("Origin") }))
	}
	inSessions := func(f Fault) Fault {
		f.In = spec.Handshake
		return f
	}
	return []Fault{
		accept("origin-ignored", "ignores Origin", hasField("Origin")),
		accept("origin-ignored-by-post", "ignores the Origin of POST", isPost),
		inSessions(accept("origin-ignored-by-get", "ignores the Origin of GET", isGet)),
		inSessions(accept("origin-ignored-by-delete", "ignores the Origin of DELETE", isDelete)),
		inSessions(accept("origin-ignored-by-initialize", "ignores the Origin of initialize",
			posts(isMessage(wire.Request, "initialize")))),
		accept("origin-compared-by-beginning", "accepts an Origin that begins with its name",
			originHasPrefix("localhost")),
		accept("origin-compared-by-address", "accepts an Origin that begins with its address",
			originHasPrefix("127.0.0.1")),
		accept("origin-compared-by-end", "accepts an Origin that ends with its name and port",
			func(r *http.Request) bool {
				return strings.HasSuffix(r.Header.Get("Origin"), "localhost:"+hostPort(r))
			}),
		accept("origin-compared-by-port", "accepts an Origin that has its port", func(r *http.Request) bool {
			return strings.HasSuffix(r.Header.Get("Origin"), "evil.example:"+hostPort(r))
		}),
		newFault("origin-compared-with-host", "accepts an Origin that is equal to Host",
			"streamable-http.origin.rebound", onHTTPRequest(func(r *http.Request) bool {
				return r.Header.Get("Origin") == "http://"+r.Host
			}, ownOrigin)),
		accept("origin-of-https-trusted", "accepts any Origin of https", func(r *http.Request) bool {
			return strings.HasPrefix(r.Header.Get("Origin"), "https://")
		}),
	}
}

// originsRefused are faults in the status of a refused Origin.
func originsRefused() []Fault {
	refuse := func(name, does string, status int) Fault {
		return newFault(name, does, "streamable-http.origin.forbidden",
			replaceStatus(allOf(hasField("Origin"), isPost), http.StatusForbidden, status))
	}
	return []Fault{
		refuse("origin-refused-with-400", "refuses a foreign Origin with status 400", http.StatusBadRequest),
		refuse("origin-refused-with-401", "refuses a foreign Origin with status 401", http.StatusUnauthorized),
		refuse("origin-refused-with-404", "refuses a foreign Origin with status 404", http.StatusNotFound),
		refuse("origin-refused-with-500", "refuses a foreign Origin with status 500", http.StatusInternalServerError),
		refuse("origin-refused-with-200", "refuses a foreign Origin with an error under status 200", http.StatusOK),
	}
}

// versionHeader are the faults of basic/transports#protocol-version-header.
func versionHeader() []Fault {
	isUnknown := func(r *http.Request) bool { v := r.Header.Get(versionField); return v != "" && !isPublished(v) }
	begins := func(r *http.Request, digits string) bool {
		return strings.ContainsRune(digits, rune(r.Header.Get(versionField)[0]))
	}
	invalid := func(name, does string, apply apply) Fault {
		return newFault(name, does, "streamable-http.version.invalid", apply)
	}
	serve := func(matches httpMatcher) apply {
		return onHTTPRequest(allOf(isUnknown, matches), func(r *http.Request) { r.Header.Del(versionField) })
	}
	refuse := func(status int) apply { return replaceStatus(isUnknown, http.StatusBadRequest, status) }
	absent := func(name, does string, status int) Fault {
		isPing := allOf(posts(isMessage(wire.Request, "ping")),
			func(r *http.Request) bool { return r.Header.Get(versionField) == "" })
		return Fault{
			Name: name, Does: does + ", and has no sessions that name it",
			CaughtBy: []string{"streamable-http.version.absent"},
			Also: map[string]string{
				"streamable-http.event.priming": "without sessions it keeps no events to resume from",
			},
			Apply: combine(withoutSessions, respond(isPing, status, "application/json",
				`{"jsonrpc":"2.0","error":{"code":-32600,"message":"The header MCP-Protocol-Version is missing"}}`)),
		}
	}
	return []Fault{
		invalid("unknown-version-served", "serves requests of any version in the header", serve(anyHTTP)),
		invalid("invalid-version-served", "ignores a version header that is not a date",
			serve(func(r *http.Request) bool { return !begins(r, "12") })),
		invalid("future-version-served", "serves requests of any later version", serve(func(r *http.Request) bool {
			return r.Header.Get(versionField) > string(spec.Every.Newest()) && begins(r, "2")
		})),
		invalid("version-of-notifications-ignored", "ignores the version of notifications",
			serve(posts(isMessage(wire.Notification, "")))),
		newFault("version-of-get-ignored", "ignores the version of GET", "streamable-http.version.invalid.get",
			serve(isGet)),
		newFault("version-of-delete-ignored", "ignores the version of DELETE",
			"streamable-http.version.invalid.delete", serve(isDelete)),
		invalid("unknown-version-refused-with-404", "refuses an unknown version with status 404",
			refuse(http.StatusNotFound)),
		invalid("unknown-version-refused-with-406", "refuses an unknown version with status 406",
			refuse(http.StatusNotAcceptable)),
		invalid("unknown-version-refused-with-200", "refuses an unknown version with an error under status 200",
			refuse(http.StatusOK)),
		absent("absent-version-refused", "refuses requests without a version", http.StatusBadRequest),
		absent("absent-version-refused-with-200", "refuses requests without a version with status 200", http.StatusOK),
	}
}
