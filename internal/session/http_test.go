package session

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// unopenedHTTP returns a session over streamable HTTP to which nothing was sent.
func unopenedHTTP(t *testing.T, rev spec.Revision, serve http.HandlerFunc) *Session {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	at, err := transport.NewEndpoint(server.URL, transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Timeout, o.Grace = 2*time.Second, 200*time.Millisecond
	l := NewLauncher(transport.HTTPTarget{Endpoint: at, Kind: transport.HTTP}, o)
	t.Cleanup(l.Close)
	s, err := NewPool(l, rev).Unopened(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A rule is the answer to a POST whose body contains a text.
type rule struct{ contains, mediaType, body string }

// truncated is the body of an answer that ends before its Content-Length.
const truncated = "truncated"

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
)

// initialized is an answer to initialize.
const initialized = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`

// serveRules answers a POST by the first matching rule, with the status of the rule
// or 200. It answers any other POST with 202, and GET and DELETE with 405.
func serveRules(status map[string]int, rules ...rule) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, rule := range rules {
			if r.Method == http.MethodPost && strings.Contains(string(body), rule.contains) {
				w.Header().Set("Content-Type", rule.mediaType)
				if rule.body == truncated {
					w.Header().Set("Content-Length", "100")
				}
				if s := status[rule.contains]; s != 0 {
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

// A refused opening describes the answer of the server.
func TestRefusedOpeningDescribesTheAnswer(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"go away"},"id":null}`
	for name, c := range map[string]struct {
		rev      spec.Revision
		kind     string
		body     string
		answered bool
		valid    bool
		why      string
	}{
		"error without id": {
			spec.V2025_11_25, jsonType, refusal, true, false,
			`initialize was answered with error -32000 "go away" for id null and HTTP status 400`,
		},
		"text": {
			spec.V2025_11_25, "text/plain", "go away", false, false,
			`initialize was answered with HTTP status 400 Bad Request without a message: "go away"`,
		},
		"text at a stateless revision": {
			spec.V2026_07_28, "text/plain", "go away", false, true,
			`server/discover was answered with HTTP status 400 Bad Request without a message: "go away"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := unopenedHTTP(t, c.rev, serveRules(map[string]int{"": 400}, rule{"", c.kind, c.body}))
			o := s.Open(t.Context(), time.Minute)
			if o.Reason != c.why || o.Spoken || o.ValidAnswer != c.valid {
				t.Errorf("%+v", o)
			}
			if o.Answered != c.answered || (o.StatusError == nil) != c.answered {
				t.Errorf("%+v", o)
			}
		})
	}
}

// A request that HTTP alone answers fails at once, with a description of the answer.
func TestRequestAnsweredByHTTPAloneFailsAtOnce(t *testing.T) {
	const notification = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
		want   string
	}{
		"refused": {
			404, "text/plain", "no such page",
			`tools/list (id 1) was answered with HTTP status 404 Not Found without a message: "no such page"; ` +
				`the server answers other requests (mute)`,
		},
		"no message": {200, "text/html", "<p>", `was answered with HTTP status 200 OK without a message: "<p>"`},
		"truncated": {
			200, jsonType, truncated,
			"was answered with the end of its exchange (unexpected EOF); the server answers other requests (mute)",
		},
		"empty stream":             {200, streamType, "", "the end of its exchange (the stream ended)"},
		"stream of a notification": {200, streamType, notification, "the end of its exchange (the stream ended)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := unopenedHTTP(t, spec.V2025_11_25, serveRules(map[string]int{"tools/list": c.status},
				rule{"tools/list", c.kind, c.body}, rule{"ping", jsonType, `{"jsonrpc":"2.0","id":2,"result":{}}`}))
			began := time.Now()
			_, err := s.Request(t.Context(), "tools/list", nil)
			var none *NoAnswerError
			if !errors.As(err, &none) || none.State != Mute || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("the request took %s", took)
			}
		})
	}
}

// An error without id in the answer to a POST answers that POST, and no other.
func TestErrorWithoutIDAnswersItsPost(t *testing.T) {
	s := unopenedHTTP(t, spec.V2025_11_25, serveRules(map[string]int{"": 400},
		rule{"", jsonType, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}`}))
	at, err := s.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":}`))
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Request(t.Context(), "ping", nil)
	if sent := s.Frames(at)[0]; err != nil || e.HTTP.Exchange == sent.HTTP.Exchange || e.HTTP.Status != 400 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A late error without id in the answer to another POST is no answer to this one.
func TestLateErrorWithoutIDAnswersItsOwnPost(t *testing.T) {
	t.Parallel()
	second, answered := make(chan struct{}), make(chan struct{})
	s := unopenedHTTP(t, spec.V2025_11_25, func(w http.ResponseWriter, r *http.Request) {
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
	anonymous := func(m wire.Message) bool { return m.Kind == wire.Error && m.ID().IsNull() }
	if _, err := s.Send(t.Context(), []byte(`{"first":}`)); err != nil {
		t.Fatal(err)
	}
	at, err := s.Send(t.Context(), []byte(`{"second":}`))
	if err != nil {
		t.Fatal(err)
	}
	expected := s.ExpectLater(at, anonymous)
	first, err := s.AwaitMessage(t.Context(), 0, time.Second, anonymous)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := first.Message.ErrorCode(); code != -32600 {
		t.Errorf("the first message was answered with %d", code)
	}
	got, err := s.AwaitMessage(t.Context(), at, time.Second, anonymous)
	if code, _ := got.Message.ErrorCode(); err != nil || code != -32700 {
		t.Errorf("the second message was answered with %d, %v", code, err)
	}
	if found := expected.Found(); found == nil {
		t.Error("the watch found no answer to the second message")
	} else if code, _ := found.Message.ErrorCode(); code != -32700 {
		t.Errorf("the watch found the error %d for the second message", code)
	}
}

// A server may refuse a notification with a failure status and a response without
// id. The same response with a status of success is a forbidden answer.
func TestForbiddenAnswersOverHTTP(t *testing.T) {
	const body = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}`
	for status, broken := range map[int]bool{400: false, 200: true} {
		s := unopenedHTTP(t, spec.V2025_11_25, serveRules(map[string]int{"notifications/x": status},
			rule{"notifications/x", jsonType, body}, rule{"ping", jsonType, `{"jsonrpc":"2.0","id":1,"result":{}}`}))
		at, err := s.Notify(t.Context(), "notifications/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		withoutID := func(m wire.Message) bool { return m.IsResponse() && m.ID().IsNull() }
		forbidden, expected := s.Forbid("no answer", at, withoutID), s.ExpectLater(at, withoutID)
		// The answer belongs to its POST also after another message without id.
		if _, err := s.Notify(t.Context(), "notifications/y", nil); err != nil {
			t.Fatal(err)
		}
		if err := s.AwaitBarrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.AwaitExchangeEnd(t.Context(), at, time.Second)
		if (forbidden.Found() != nil) != broken || expected.Found() == nil {
			t.Errorf("status %d: forbidden %v, expected %v", status, forbidden.Found(), expected.Found())
		}
	}
}

// A session that the server has ended is dead.
func TestSessionEndedByTheServerIsDead(t *testing.T) {
	var ended atomic.Bool
	s := unopenedHTTP(t, spec.V2025_11_25, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(string(body), `"initialize"`):
			w.Header().Set("Mcp-Session-Id", "s1")
			w.Header().Set("Content-Type", jsonType)
			fmt.Fprint(w, initialized)
		case ended.Load():
			http.Error(w, "unknown session", http.StatusNotFound)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	if o := s.Open(t.Context(), time.Second); !o.Spoken {
		t.Fatal(o.Reason)
	}
	ended.Store(true)
	if live := s.CheckLiveness(t.Context()); live == Alive {
		t.Errorf("the session is %s", live)
	}
	if err := s.AwaitEnd(t.Context()); err == nil || !strings.Contains(err.Error(), "no longer knows the session") {
		t.Errorf("%v", err)
	}
	if live := s.CheckLiveness(t.Context()); live != Dead || !s.EndedByServer() {
		t.Errorf("the session is %s, ended by the server: %v", live, s.EndedByServer())
	}
}

// A request that does not reach the server is not unanswered.
func TestUnsentRequestIsNotUnanswered(t *testing.T) {
	server := httptest.NewServer(serveRules(nil))
	defer server.Close()
	at, err := transport.NewEndpoint(strings.Replace(server.URL, "http:", "https:", 1), transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(NewLauncher(transport.HTTPTarget{Endpoint: at, Kind: transport.HTTP}, DefaultOptions()),
		spec.V2025_11_25)
	defer p.Close()
	s, err := p.Unopened(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var unsent *NotSentError
	o := s.Open(t.Context(), time.Second)
	if !errors.As(o.Err, &unsent) || !strings.Contains(o.Reason, "HTTP response to HTTPS client") {
		t.Errorf("the opening failed with %q, %v", o.Reason, o.Err)
	}
	_, err = s.Request(t.Context(), "tools/list", nil)
	if !errors.As(err, &unsent) || !strings.Contains(err.Error(), "tools/list (id 2) could not be sent") {
		t.Errorf("the request failed with %v", err)
	}
	if s.EndedByServer() {
		t.Error("the session is reported as ended by the server")
	}
}

// The end of a session sends one DELETE, also if the session is killed.
func TestEndOfASessionSendsDELETE(t *testing.T) {
	for name, end := range map[string]func(*Session){"closed": (*Session).Close, "killed": (*Session).Kill} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var deleted []string
			s := unopenedHTTP(t, spec.V2025_11_25, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					mu.Lock()
					deleted = append(deleted, r.Header.Get("Mcp-Session-Id"))
					mu.Unlock()
					return
				}
				w.Header().Set("Mcp-Session-Id", "s1")
				serveRules(nil, rule{`"initialize"`, jsonType, initialized})(w, r)
			})
			if o := s.Open(t.Context(), time.Second); !o.Spoken {
				t.Fatal(o.Reason)
			}
			end(s)
			s.Close()
			if e := s.Ending(); e == nil || !e.Requested || e.Graceful != (name == "closed") {
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

func TestChunksCannotBeSentOverHTTP(t *testing.T) {
	s := unopenedHTTP(t, spec.V2025_11_25, serveRules(nil))
	if _, err := s.SendChunks(t.Context(), []byte("{"), []byte("}\n")); !errors.Is(err, errNoBytes) {
		t.Errorf("%v", err)
	}
}

// A message URL of another origin opens no session.
func TestMessageURLOfAnotherOriginIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", streamType)
		fmt.Fprint(w, "event: endpoint\ndata: http://127.0.0.2:1/messages\n\n")
		w.(http.Flusher).Flush()
		for r.Context().Err() == nil { // it keeps sending
			fmt.Fprint(w, ": here\n\n")
		}
	}))
	defer server.Close()
	at, err := transport.NewEndpoint(server.URL, transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLauncher(transport.HTTPTarget{Endpoint: at, Kind: transport.SSE}, DefaultOptions())
	defer l.Close()
	_, err = NewPool(l, spec.V2024_11_05).Unopened(t.Context())
	if !errors.Is(err, transport.ErrCrossOrigin) || !strings.Contains(err.Error(), "127.0.0.2") {
		t.Errorf("the error is %v", err)
	}
}

// Comments of a stream count as output too.
func TestCommentsCountTowardFloodLimit(t *testing.T) {
	s := unopenedHTTP(t, spec.V2025_11_25, func(w http.ResponseWriter, r *http.Request) {
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
