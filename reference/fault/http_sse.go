package fault

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// httpSSEFaults are the faults of basic/transports#http-with-sse of 2024-11-05.
func httpSSEFaults() []Fault {
	faults := slices.Concat(sseOrigins(), sseStreams(), sseEndpoints(), sseMessages(), ssePosts(), sseClients())
	for i := range faults {
		faults[i].Over = transport.SSE
	}
	return append(faults, overHTTP(sseBeside()...)...)
}

// The endpoints of the transport.
const (
	ssePath     = "/sse"
	ssePostPath = "/messages"
)

// ownOrigin makes a request one of the server's own page.
func ownOrigin(r *http.Request) {
	r.Host = "localhost:" + hostPort(r)
	r.Header.Del("Origin")
}

// hasOwnHost matches requests whose Host is no other site.
func hasOwnHost(r *http.Request) bool { return !strings.HasPrefix(r.Host, "evil.") }

// sseOrigins accept requests of other sites, each by a wrong comparison at one
// endpoint.
func sseOrigins() []Fault {
	accept := func(name, does, path, caughtBy string, matches func(origin string, r *http.Request) bool) Fault {
		isAccepted := allOf(atPath(path), hasField("Origin"), func(r *http.Request) bool {
			return matches(r.Header.Get("Origin"), r)
		})
		return newFault(name, does, caughtBy, onHTTPRequest(isAccepted, ownOrigin))
	}
	onGet := func(name, does string, matches func(origin string, r *http.Request) bool) Fault {
		return accept(name, "opens a stream for "+does, ssePath, "http-sse.origin.stream", matches)
	}
	onPost := func(name, does string, matches func(origin string, r *http.Request) bool) Fault {
		return accept(name, "accepts messages from "+does, ssePostPath, "http-sse.origin.post", matches)
	}
	// The server refuses a foreign Host all the same.
	any := func(_ string, r *http.Request) bool { return hasOwnHost(r) }
	begins := func(origin string, _ *http.Request) bool { return strings.HasPrefix(origin, "http://localhost") }
	ends := func(origin string, r *http.Request) bool { return strings.HasSuffix(origin, "localhost:"+hostPort(r)) }
	port := func(origin string, r *http.Request) bool {
		return strings.HasSuffix(origin, ":"+hostPort(r)) && hasOwnHost(r)
	}
	isHost := func(origin string, r *http.Request) bool { return origin == "http://"+r.Host }
	isHTTPS := func(origin string, _ *http.Request) bool { return strings.HasPrefix(origin, "https://") }
	return []Fault{
		onGet("sse-origin-ignored-by-get", "any Origin", any),
		onGet("sse-origin-compared-by-beginning", "an Origin that begins with its name", begins),
		onGet("sse-origin-compared-by-end", "an Origin that ends with its name and port", ends),
		accept("sse-origin-compared-with-host", "opens a stream for an Origin that is equal to Host", ssePath,
			"http-sse.origin.stream.rebound", isHost),
		onGet("sse-origin-of-https", "any Origin of https", isHTTPS),
		onPost("sse-origin-ignored-by-post", "any Origin", any),
		onPost("sse-origin-of-post-compared-by-beginning", "an Origin that begins with its name", begins),
		onPost("sse-origin-of-post-compared-by-port", "an Origin that has its port", port),
		accept("sse-origin-of-post-compared-with-host", "accepts messages from an Origin that is equal to Host",
			ssePostPath, "http-sse.origin.post.rebound", isHost),
		{
			Name:     "sse-origin-refused-late",
			Does:     "refuses a message from another Origin with status 403 after it processed the message",
			CaughtBy: []string{"http-sse.origin.post"},
			Apply: whenHTTP(allOf(atPath(ssePostPath), hasField("Origin"), hasOwnHost),
				func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					ownOrigin(r)
					next.ServeHTTP(httptest.NewRecorder(), r)
					w.WriteHeader(http.StatusForbidden)
				}),
		},
	}
}

// sseStreams are faults in how a stream is opened.
func sseStreams() []Fault {
	typed := func(mediaTypes ...string) apply {
		return onHeader(atPath(ssePath), func(h http.Header) { h["Content-Type"] = mediaTypes })
	}
	return []Fault{
		{
			Name: "sse-listens-on-another-address", Does: "listens on another address besides 127.0.0.1",
			CaughtBy: []string{"http-sse.bind.loopback"},
			Apply:    listenBeside,
		},
		{
			Name: "sse-stream-created", Does: "opens its stream with status 201",
			CaughtBy: []string{"http-sse.stream.opened"},
			Apply:    replaceStatus(atPath(ssePath), http.StatusOK, http.StatusCreated),
		},
		{
			Name: "sse-stream-untyped", Does: "sends its stream without a media type",
			CaughtBy: []string{"http-sse.stream.type"},
			Apply:    typed(),
		},
		{
			Name: "sse-stream-plain", Does: "sends its stream as text/plain",
			CaughtBy: []string{"http-sse.stream.type"},
			Apply:    typed("text/plain; charset=utf-8"),
		},
	}
}

// sseEndpoints are faults of the endpoint event.
func sseEndpoints() []Fault {
	endpoint := func(format string) apply {
		return onEventWhen(func(e server.Event) bool { return e.Name == "endpoint" },
			func(_ server.EventEncoder, e server.Event) []byte {
				return fmt.Appendf(nil, format, e.Data)
			})
	}
	invalid := func(name, does, suffix string) Fault {
		return newFault(name, does, "http-sse.endpoint.uri", endpoint("event: endpoint\ndata: %s"+suffix+"\n\n"))
	}
	return []Fault{
		{
			Name: "sse-log-before-endpoint", Does: "sends a log message before the endpoint event",
			CaughtBy: []string{"http-sse.endpoint.first"},
			Apply: endpoint("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"," +
				"\"params\":{\"level\":\"error\",\"data\":\"the server starts\"}}\n\nevent: endpoint\ndata: %s\n\n"),
		},
		invalid("sse-endpoint-template", "sends a URI template as endpoint", "&desk={desk}"),
		invalid("sse-endpoint-unescaped", "sends an endpoint with characters that a URI cannot hold", "&desk=žofín"),
		invalid("sse-endpoint-lines", "writes the endpoint over two lines", "\ndata: &desk=2"),
	}
}

// sseMessages are faults in how messages are sent and accepted.
func sseMessages() []Fault {
	log := func(name, does, format string) Fault {
		write := func(_ server.EventEncoder, e server.Event) []byte { return fmt.Appendf(nil, format, e.Data) }
		return newFault(name, does, "http-sse.message.event", onMessageEvent(isNotification(logMethod), write))
	}
	isNotificationPost := allOf(atPath(ssePostPath), posts(isMessage(wire.Notification, "")))
	return []Fault{
		log("sse-log-events", "sends log messages as events of the type log", "event: log\ndata: %s\n\n"),
		log("sse-log-lines", "writes log messages into the stream without the name of a field", "%s\n\n"),
		{
			Name: "sse-answers-twice", Does: "answers a ping in the answer to the POST, and on the stream as well",
			CaughtBy: []string{"http-sse.message.event"},
			Also:     map[string]string{"http-sse.session.unknown": "it answers a ping for any connection"},
			Apply: onHTTPAnswer(allOf(atPath(ssePostPath), posts(isMessage(wire.Request, "ping"))),
				withAnswer(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":"twice","result":{}}`)),
		},
		{
			Name: "sse-notifications-refused", Does: "accepts notifications and answers their POST with status 400",
			Breaks:   []string{"http-sse-post-endpoint"},
			CaughtBy: []string{"http-sse.post.taken"},
			Apply:    replaceStatus(isNotificationPost, http.StatusAccepted, http.StatusBadRequest),
		},
		{
			Name: "sse-posts-redirected", Does: "accepts notifications and answers their POST with a redirect",
			Breaks:   []string{"http-sse-endpoint-uri"},
			CaughtBy: []string{"http-sse.post.taken"},
			Apply:    replaceStatus(isNotificationPost, http.StatusAccepted, http.StatusSeeOther),
		},
	}
}

// sseBeside are faults in how a server with streamable HTTP serves clients of this
// transport as well.
func sseBeside() []Fault {
	fault := func(name, does string, status int) Fault {
		return newFault(name, does, "http-sse.hosted.post", respond(atPath(ssePostPath), status, "", ""))
	}
	return []Fault{
		fault("sse-hosted-without-post", "opens streams for older clients and has no POST endpoint for them",
			http.StatusNotFound),
		fault("sse-hosted-silent", "accepts messages of older clients and answers none", http.StatusAccepted),
	}
}
