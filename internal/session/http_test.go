package session

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// over returns a session over streamable HTTP to which nothing was sent.
func over(t *testing.T, rev spec.Revision, serve http.HandlerFunc) *Session {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	at, err := transport.NewEndpoint(server.URL, transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := Defaults()
	o.Timeout, o.Grace = 2*time.Second, 200*time.Millisecond
	l := NewLauncher(transport.Site{Endpoint: at, Kind: transport.HTTP}, o)
	t.Cleanup(l.Close)
	s, err := NewPool(l, rev).Bare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// says answers a POST that holds a text, by status, media type and body; what
// no rule names is accepted, and GET and DELETE are not.
type says struct{ of, kind, body string }

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
)

func answering(status map[string]int, rules ...says) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, rule := range rules {
			if r.Method == http.MethodPost && strings.Contains(string(body), rule.of) {
				w.Header().Set("Content-Type", rule.kind)
				if rule.body == "cut" { // and broken off
					w.Header().Set("Content-Length", "100")
				}
				if s := status[rule.of]; s != 0 {
					w.WriteHeader(s)
				}
				fmt.Fprint(w, rule.body)
				return
			}
		}
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

// What refuses initialize is told as it came, at once, and not as silence.
func TestARefusedOpeningIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		rev      spec.Revision
		kind     string
		body     string
		answered bool
		valid    bool
		why      string
	}{
		"error without id":    {spec.V2025_11_25, jsonType, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"go away"},"id":null}`, true, false, `initialize was answered with error -32000 "go away" for id null and HTTP status 400`},
		"text":                {spec.V2025_11_25, "text/plain", "go away", false, false, `initialize was answered with HTTP status 400 Bad Request without a message: "go away"`},
		"text of the new era": {spec.V2026_07_28, "text/plain", "go away", false, true, `server/discover was answered with HTTP status 400 Bad Request without a message: "go away"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := over(t, c.rev, answering(map[string]int{"": 400}, says{"", c.kind, c.body}))
			o := s.Open(t.Context(), time.Minute)
			if o.Why != c.why || o.Answered != c.answered || o.Valid != c.valid || o.Spoken || (o.Refusal == nil) != c.answered {
				t.Errorf("%+v", o)
			}
		})
	}
}

// Each way in which HTTP alone answers a request has its words, and no wait.
func TestRequestsThatHTTPAnswersAreNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
		says   string
	}{
		"refused":            {404, "text/plain", "no such page", `tools/list (id 1) was answered with HTTP status 404 Not Found without a message: "no such page"; the server answers other requests (mute)`},
		"no message":         {200, "text/html", "<p>", `was answered with HTTP status 200 OK without a message: "<p>"`},
		"broken off":         {200, jsonType, "cut", "was answered with the end of its exchange (unexpected EOF); the server answers other requests (mute)"},
		"stream of nothing":  {200, streamType, "", "was answered with the end of its exchange (the stream ended)"},
		"stream of a report": {200, streamType, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n", "was answered with the end of its exchange (the stream ended)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := over(t, spec.V2025_11_25, answering(map[string]int{"tools/list": c.status},
				says{"tools/list", c.kind, c.body}, says{"ping", jsonType, `{"jsonrpc":"2.0","id":2,"result":{}}`}))
			began := time.Now()
			_, err := s.Request(t.Context(), "tools/list", nil)
			var none *NoAnswer
			if !errors.As(err, &none) || none.State != Mute || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// An error without id that comes in answer to a POST is meant for it; one that
// came in answer to another is not.
func TestAnErrorWithoutIDAnswersItsPost(t *testing.T) {
	s := over(t, spec.V2025_11_25, answering(map[string]int{"": 400},
		says{"", jsonType, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}`}))
	at, err := s.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":}`))
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Request(t.Context(), "ping", nil)
	if sent := s.Frames(at)[0]; err != nil || e.HTTP.Exchange == sent.HTTP.Exchange || e.HTTP.Status != 400 {
		t.Errorf("%+v, %v", e, err)
	}
}

// What answers another POST late is no answer to this one, though neither has an
// id.
func TestALateErrorWithoutIDIsOfItsOwnPost(t *testing.T) {
	t.Parallel()
	second, answered := make(chan struct{}), make(chan struct{})
	s := over(t, spec.V2025_11_25, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		code := -32600
		switch first := strings.Contains(string(body), "first"); {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case first:
			<-second
			defer close(answered)
		default:
			close(second)
			<-answered
			code = -32700
		}
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":%d,"message":"no"},"id":null}`, code)
	})
	anonymous := func(m wire.Message) bool { return m.Kind == wire.Error && m.ID().Null() }
	if _, err := s.Send(t.Context(), []byte(`{"first":}`)); err != nil {
		t.Fatal(err)
	}
	at, err := s.Send(t.Context(), []byte(`{"second":}`))
	if err != nil {
		t.Fatal(err)
	}
	hope := s.Hope(at, anonymous)
	first, err := s.Await(t.Context(), 0, time.Second, anonymous)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := first.Message.Code(); code != -32600 {
		t.Errorf("the first message got %d", code)
	}
	got, err := s.Await(t.Context(), at, time.Second, anonymous)
	if code, _ := got.Message.Code(); err != nil || code != -32700 {
		t.Errorf("the second message got %d, %v", code, err)
	}
	if hit := hope.Hit(); hit == nil {
		t.Error("nothing came for the second message")
	} else if code, _ := hit.Message.Code(); code != -32700 {
		t.Errorf("the second message was hoped to get %d", code)
	}
}

// A failure status forbids nothing: so a server says that it cannot accept a
// notification. Success with a response is an answer to it.
func TestBansOverHTTP(t *testing.T) {
	const body = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}`
	for status, broken := range map[int]bool{400: false, 200: true} {
		s := over(t, spec.V2025_11_25, answering(map[string]int{"notifications/x": status},
			says{"notifications/x", jsonType, body}, says{"ping", jsonType, `{"jsonrpc":"2.0","id":1,"result":{}}`}))
		at, err := s.Notify(t.Context(), "notifications/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		ban := s.Forbid("no answer", at, func(m wire.Message) bool { return m.IsResponse() && m.ID().Null() })
		hope := s.Hope(at, func(m wire.Message) bool { return m.IsResponse() && m.ID().Null() })
		// Another message without id does not make the answer anybody's.
		if _, err := s.Notify(t.Context(), "notifications/y", nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Settle(t.Context(), at, time.Second)
		if (ban.Hit() != nil) != broken || hope.Hit() == nil {
			t.Errorf("status %d: ban %v, hope %v", status, ban.Hit(), hope.Hit())
		}
	}
}

// A session that the server has forgotten is over, and who asks is told so.
func TestAForgottenSessionIsDead(t *testing.T) {
	var mu sync.Mutex
	forgotten := false
	s := over(t, spec.V2025_11_25, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(string(body), `"initialize"`):
			w.Header().Set("Mcp-Session-Id", "s1")
			w.Header().Set("Content-Type", jsonType)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		case forgotten:
			http.Error(w, "who?", http.StatusNotFound)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	if o := s.Open(t.Context(), time.Second); !o.Spoken {
		t.Fatal(o.Why)
	}
	mu.Lock()
	forgotten = true
	mu.Unlock()
	if live := s.Liveness(t.Context()); live == Alive {
		t.Errorf("it is %s", live)
	}
	if err := s.gone(t.Context()); err == nil || !strings.Contains(err.Error(), "no longer knows the session") {
		t.Errorf("%v", err)
	}
	if live := s.Liveness(t.Context()); live != Dead || !s.Forgotten() {
		t.Errorf("it is %s, forgotten: %v", live, s.Forgotten())
	}
}

// What does not reach the server is no answer that it owes.
func TestWhatCannotBeSentIsNotUnanswered(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer up.Close()
	at, err := transport.NewEndpoint(strings.Replace(up.URL, "http:", "https:", 1), transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(NewLauncher(transport.Site{Endpoint: at, Kind: transport.HTTP}, Defaults()), spec.V2025_11_25)
	defer p.Close()
	s, err := p.Bare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var unsent *Unsent
	if o := s.Open(t.Context(), time.Second); !errors.As(o.Err, &unsent) || !strings.Contains(o.Why, "HTTP response to HTTPS client") {
		t.Errorf("the opening came to %q, %v", o.Why, o.Err)
	}
	if _, err := s.Request(t.Context(), "tools/list", nil); !errors.As(err, &unsent) || !strings.Contains(err.Error(), "tools/list (id 2) could not be sent") {
		t.Errorf("the request came to %v", err)
	}
	if s.Forgotten() {
		t.Error("it is said to have forgotten the session")
	}
}

// Whoever ends a session tells the server once, also in haste.
func TestSessionsAreEndedAtTheServer(t *testing.T) {
	for name, end := range map[string]func(*Session){"closed": (*Session).Close, "killed": (*Session).Kill} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var deleted []string
			s := over(t, spec.V2025_11_25, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					mu.Lock()
					deleted = append(deleted, r.Header.Get("Mcp-Session-Id"))
					mu.Unlock()
					return
				}
				w.Header().Set("Mcp-Session-Id", "s1")
				answering(nil, says{`"initialize"`, jsonType, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`})(w, r)
			})
			if o := s.Open(t.Context(), time.Second); !o.Spoken {
				t.Fatal(o.Why)
			}
			end(s)
			s.Close()
			if e := s.Ending(); e == nil || !e.Asked || e.Graceful != (name == "closed") {
				t.Errorf("%+v", e)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(deleted) != 1 || deleted[0] != "s1" {
				t.Errorf("deleted %q", deleted)
			}
		})
	}
}

// Bytes cannot be sent over HTTP, and nobody waits for a server that goes.
func TestWhatHTTPDoesNotHave(t *testing.T) {
	s := over(t, spec.V2025_11_25, answering(nil))
	if _, err := s.SendChunks(t.Context(), []byte("{"), []byte("}\n")); !errors.Is(err, errNoBytes) {
		t.Errorf("%v", err)
	}
}

// A server of the new era is found by its answer to server/discover, whatever
// that is; what redirects is not followed.
func TestDetect(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		kind  transport.Kind
		says  string
	}{
		"modern":         {answering(nil, says{"server/discover", jsonType, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`}), transport.HTTP, "server/discover by POST was answered with HTTP status 200 OK (application/json) and result for id 1"},
		"other version":  {answering(map[string]int{"server/discover": 400}, says{"server/discover", jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}`}), transport.HTTP, "HTTP status 400 Bad Request (application/json) and error -32022"},
		"on a stream":    {answering(map[string]int{"server/discover": 404}, says{"server/discover", "text/plain", ""}, says{"initialize", streamType, "id: 1\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n"}), transport.HTTP, "initialize by POST was answered with HTTP status 200 OK (text/event-stream) and result"},
		"not found":      {answering(map[string]int{"server/discover": 404}, says{"server/discover", jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`}), transport.HTTP, "server/discover by POST was answered with HTTP status 404"},
		"of another":     {answering(map[string]int{"": 405}, says{"", jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method not allowed."}}`}), "", "GET opened no stream of HTTP+SSE: GET"},
		"a wrong stream": {answering(map[string]int{"": 405}, says{"", "text/plain", ""}), "", "GET opened no stream of HTTP+SSE: GET"},
		"silent at first": {func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); r.Method == http.MethodDelete || strings.Contains(string(body), "server/discover") {
				<-r.Context().Done()
				return
			}
			w.Header().Set("Mcp-Session-Id", "s1") // whose end is met with silence
			w.Header().Set("Content-Type", jsonType)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		}, transport.HTTP, "initialize by POST was answered with HTTP status 200 OK (application/json) and result"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
		}, "", "serves no MCP: server/discover by POST was not answered within 200ms, initialize by POST was not answered within 600ms"},
		"held": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", streamType)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "", "initialize by POST was answered with HTTP status 200 OK (text/event-stream) and no response in it within 600ms"},
		"every method opens the stream": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", streamType)
			fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, transport.SSE, "HTTP+SSE: server/discover by POST was answered with HTTP status 200 OK (text/event-stream) and an endpoint event, GET with a stream that names the endpoint"},
		"silent stream": {answering(nil, says{"", streamType, ": nothing\n\n"}), "", "serves no MCP: server/discover by POST was answered with HTTP status 200 OK (text/event-stream), initialize by POST was answered with HTTP status 200 OK (text/event-stream)"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			at, err := transport.NewEndpoint(server.URL, transport.HTTPOptions{})
			if err != nil {
				t.Fatal(err)
			}
			o := Defaults()
			o.Timeout, o.Grace = 200*time.Millisecond, 200*time.Millisecond
			kind, found, err := Detect(t.Context(), at, o)
			if err != nil {
				found = err.Error()
			}
			if kind != c.kind || !strings.Contains(found, c.says) {
				t.Errorf("%q: %s", kind, found)
			}
		})
	}
}

// A server of HTTP+SSE that wants messages at another origin is not spoken to,
// and that is no answer of it.
func TestAnEndpointElsewhereOpensNoSession(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", streamType)
		fmt.Fprint(w, "event: endpoint\ndata: http://127.0.0.2:1/messages\n\n")
		w.(http.Flusher).Flush()
		for r.Context().Err() == nil { // it goes on to talk
			fmt.Fprint(w, ": here\n\n")
		}
	}))
	defer server.Close()
	at, err := transport.NewEndpoint(server.URL, transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLauncher(transport.Site{Endpoint: at, Kind: transport.SSE}, Defaults())
	defer l.Close()
	if _, err := NewPool(l, spec.V2024_11_05).Bare(t.Context()); !errors.Is(err, transport.ErrElsewhere) || !strings.Contains(err.Error(), "127.0.0.2") {
		t.Errorf("the error is %v", err)
	}
}

// What stands beside messages counts as output too.
func TestCommentsFloodASession(t *testing.T) {
	s := over(t, spec.V2025_11_25, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", streamType)
		for r.Context().Err() == nil {
			fmt.Fprintf(w, ": %s\n\n", strings.Repeat("x", 1<<20))
		}
	})
	s.opts.MaxBytes = 8 << 20
	_, err := s.Request(t.Context(), "ping", nil)
	if err == nil || !strings.Contains(err.Error(), "server flooded its output") || s.Len() > 20 {
		t.Errorf("%v, after %d frames", err, s.Len())
	}
}
