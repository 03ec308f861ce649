package session

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// Answers of servers, and the beginning of a detail.
const (
	discovered  = `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`
	unsupported = `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}`
	notFound    = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`
	notAllowed  = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method not allowed."}}`
	streamed    = "id: 1\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n"
	ok          = "by POST was answered with HTTP status 200 OK "
)

type detectionCase struct {
	serve http.HandlerFunc
	kind  transport.Kind
	want  string
}

func detectionCases() map[string]detectionCase {
	discover := func(status int, mediaType, body string, more ...rule) http.HandlerFunc {
		rules := append([]rule{{"server/discover", mediaType, body}}, more...)
		return serveRules(map[string]int{"server/discover": status}, rules...)
	}
	return map[string]detectionCase{
		"stateless server": {
			discover(200, jsonType, discovered), transport.HTTP,
			"server/discover " + ok + "(application/json) and result for id 1",
		},
		"another stateless revision": {
			discover(400, jsonType, unsupported), transport.HTTP,
			"HTTP status 400 Bad Request (application/json) and error -32022",
		},
		"initialize answered on a stream": {
			discover(404, "text/plain", "", rule{"initialize", streamType, streamed}), transport.HTTP,
			"initialize " + ok + "(text/event-stream) and result",
		},
		"status 404 with the id of the request": {
			discover(404, jsonType, notFound), transport.HTTP,
			"server/discover by POST was answered with HTTP status 404",
		},
		"status 405 without an id": {
			serveRules(map[string]int{"": 405}, rule{"", jsonType, notAllowed}), "",
			"GET opened no stream of HTTP+SSE: GET",
		},
		"status 405 without a message": {
			serveRules(map[string]int{"": 405}, rule{"", "text/plain", ""}), "",
			"GET opened no stream of HTTP+SSE: GET",
		},
		"no answer to server/discover": {
			answerOnlyInitialize, transport.HTTP, "initialize " + ok + "(application/json) and result",
		},
		"no answer": {
			func(_ http.ResponseWriter, r *http.Request) { hold(r) }, "",
			"serves no MCP: server/discover by POST was not answered within 200ms, " +
				"initialize by POST was not answered within 600ms",
		},
		"empty stream": {
			func(w http.ResponseWriter, r *http.Request) { stream(w, r, "") }, "",
			"initialize " + ok + "(text/event-stream) and no response in it within 600ms",
		},
		"every method opens the stream": {
			func(w http.ResponseWriter, r *http.Request) { stream(w, r, "event: endpoint\ndata: /messages\n\n") },
			transport.SSE,
			"HTTP+SSE: server/discover " + ok + "(text/event-stream) and an endpoint event, " +
				"GET with a stream that names the endpoint",
		},
		"stream with a comment": {
			serveRules(nil, rule{"", streamType, ": nothing\n\n"}), "",
			"serves no MCP: server/discover " + ok + "(text/event-stream), initialize " + ok + "(text/event-stream)",
		},
	}
}

func TestDetectTransport(t *testing.T) {
	for name, c := range detectionCases() {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			at, err := transport.NewEndpoint(server.URL, transport.HTTPOptions{})
			if err != nil {
				t.Fatal(err)
			}
			o := DefaultOptions()
			o.Timeout, o.Grace = 200*time.Millisecond, 200*time.Millisecond
			kind, found, err := DetectTransport(t.Context(), at, o)
			if err != nil {
				found = err.Error()
			}
			if kind != c.kind || !strings.Contains(found, c.want) {
				t.Errorf("%q: %s", kind, found)
			}
		})
	}
}

// hold reads a request and waits until the client ends it.
func hold(r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	<-r.Context().Done()
}

// stream answers any request with the beginning of an event stream.
func stream(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", streamType)
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
	hold(r)
}

// answerOnlyInitialize answers initialize, and neither server/discover nor DELETE.
func answerOnlyInitialize(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodDelete || strings.Contains(string(body), "server/discover") {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Mcp-Session-Id", "s1")
	w.Header().Set("Content-Type", jsonType)
	fmt.Fprint(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
}
