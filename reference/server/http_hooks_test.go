package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// briefStocktake is a call that reports its progress.
var briefStocktake = toolCallLine("a", "stocktake", `{"duration_ms":20,"steps":2}`)

// httpHooks are hooks, each with a way to see its effect.
var httpHooks = []struct {
	name string
	http HTTP
	// deviates reports whether the server deviates; the conforming one must not.
	deviates func(s *httpTestSession) bool
}{
	{
		"a foreign Origin is served",
		HTTP{Middleware: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("Origin")
				next.ServeHTTP(w, r)
			})
		}},
		func(s *httpTestSession) bool { return s.post(pingRequest, "Origin: http://evil.example").status == 200 },
	},
	{
		"an unknown session is answered with 400",
		HTTP{Middleware: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(statusRewriter{w}, r)
			})
		}},
		func(s *httpTestSession) bool { return s.post(pingRequest, "Mcp-Session-Id: nobody").status == 400 },
	},
	{
		"session ids are consecutive numbers",
		HTTP{NewSessionID: func(func() string) func() string {
			n := 0
			return func() string { n++; return fmt.Sprint(n) }
		}},
		func(s *httpTestSession) bool { return s.id == "1" },
	},
	{
		"messages of a call are on the GET stream too",
		HTTP{Route: func(next Router) Router {
			return func(f Frame, p OpenStreams) []*Stream { return slices.Concat(next(f, p), p.GetStreams) }
		}},
		func(s *httpTestSession) bool {
			l := s.openGetStream()
			waitUntil(s.t, "the GET stream is open", func() bool { return s.openGetStreams() == 1 })
			s.post(briefStocktake)
			s.send("DELETE", pathMCP, "", s.headers...)
			hasProgress := func(e event) bool { return strings.Contains(e.data, progressMethod) }
			return slices.ContainsFunc(l.readRest(), hasProgress)
		},
	},
	{
		"events of another stream are replayed",
		HTTP{Replay: func(next Replayer) Replayer {
			return func(s *Stream, missed []Event, others []*Stream) []Event {
				for _, o := range others {
					missed = append(missed, o.Events()...)
				}
				return next(s, missed, others)
			}
		}},
		func(s *httpTestSession) bool {
			s.post(briefStocktake)
			r := s.post(strings.ReplaceAll(briefStocktake, `"a"`, `"b"`))
			again := s.openGetStream("Last-Event-ID: " + r.events[0].id).readRest()
			return slices.ContainsFunc(
				again, func(e event) bool { return strings.Contains(e.data, `"progressToken":"a"`) },
			)
		},
	},
	{
		"no stream is primed",
		HTTP{EncodeEvent: func(next EventEncoder) EventEncoder {
			return func(e Event) []byte {
				if e.Frame == nil && e.ID != "" {
					return nil
				}
				return next(e)
			}
		}},
		func(s *httpTestSession) bool { return s.post(briefStocktake).events[0].data != "" },
	},
}

// Each hook of HTTP can produce a deviation of its kind.
func TestHTTPHooks(t *testing.T) {
	for _, c := range httpHooks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.deviates(startHTTP(t, Options{}).openSession(spec.V2025_11_25, "{}")) {
				t.Error("the conforming server deviates too")
			}
			if !c.deviates(startHTTP(t, Options{HTTP: c.http}).openSession(spec.V2025_11_25, "{}")) {
				t.Error("the hook has no effect")
			}
		})
	}
}

// The hook cancels a call of a session whose client leaves. Without the hook the call goes
// on: TestDisconnectCancelsOnlyStatelessRequests.
func TestDisconnectHook(t *testing.T) {
	t.Parallel()
	called, ended := make(chan bool), make(chan bool)
	s := startHTTP(t, Options{
		HTTP: HTTP{Disconnect: func(DisconnectHandler) DisconnectHandler {
			return func(_ bool, cancel func()) { cancel() }
		}},
		Handler: func(next Handler) Handler {
			return func(ctx context.Context, r *Request) (any, *Error) {
				if r.Method == "tools/call" {
					close(called)
					<-ctx.Done()
					close(ended)
				}
				return next(ctx, r)
			}
		},
	}).openSession(spec.V2025_11_25, "{}")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- s.postAndLeave(ctx, briefStocktake, s.headers...) }()
	<-called
	leave()
	<-ended
	if err := <-left; err == nil {
		t.Error("the call was answered")
	}
}

// A statusRewriter turns 404 into 400.
type statusRewriter struct{ http.ResponseWriter }

func (u statusRewriter) WriteHeader(status int) {
	if status == http.StatusNotFound {
		status = http.StatusBadRequest
	}
	u.ResponseWriter.WriteHeader(status)
}

func (u statusRewriter) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func TestMessageHooksOverHTTP(t *testing.T) {
	sendsAfterPing := func(o *Options) {
		o.Frames = func(next FrameSink) FrameSink {
			return func(f Frame) {
				next(f)
				if f.Method == "ping" {
					next(Frame{Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/late"}`)})
				}
			}
		}
	}
	answersNotification := func(o *Options) {
		o.Incoming = func(next Receiver, out FrameSink) Receiver {
			return func(line []byte) error {
				if bytes.Contains(line, []byte("notifications/x")) {
					out(Frame{Raw: []byte(`{"jsonrpc":"2.0","id":"x","result":{}}`)})
				}
				return next(line)
			}
		}
	}
	dropsNotification := func(o *Options) {
		o.Incoming = func(next Receiver, _ FrameSink) Receiver {
			return func(line []byte) error {
				if bytes.Contains(line, []byte("notifications/x")) {
					return nil
				}
				return next(line)
			}
		}
	}
	for _, c := range []struct {
		name, body, says string
		with             func(*Options)
	}{
		{"after an answer", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, "notifications/late", sendsAfterPing},
		{"to a notification", `{"jsonrpc":"2.0","method":"notifications/x"}`, `"id":"x"`, answersNotification},
		{"nothing", `{"jsonrpc":"2.0","method":"notifications/x"}`, "", dropsNotification},
	} {
		var o Options
		c.with(&o)
		s := startHTTP(t, o).openSession(spec.V2025_11_25, "{}")
		if r := s.post(c.body); !strings.Contains(r.body, c.says) || (c.says == "") != (r.status == 202) {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
	}
}

func TestCloseEndsAllWork(t *testing.T) {
	before := runtime.NumGoroutine()
	func() {
		b := startHTTP(t, Options{Grace: 20 * time.Millisecond, Official: true})
		s := b.openSession(spec.V2025_11_25, `{"sampling":{}}`)
		body, headers := statelessRequest(1, "subscriptions/listen", `"notifications":{}`)
		streams := []*liveStream{
			s.openGetStream(), s.openGetStream(),
			b.openStream("GET", pathSSE, "", "Accept: text/event-stream"),
			b.openStream("POST", pathMCP, body, headers...),
			s.openStream("POST", pathMCP, toolCallLine("a", "suggest_reading", `{"mood":"calm"}`), s.headers...),
		}
		slow := make(chan httpResponse, 1)
		go func() { slow <- s.post(toolCallLine("b", "stocktake", `{"duration_ms":5000,"steps":1}`)) }()
		waitUntil(t, "two calls are in flight", func() bool { return s.inFlight() == 2 })
		began := time.Now()
		b.server.handler.Close()
		for _, l := range streams {
			l.readRest()
			l.cancel()
		}
		if r := <-slow; r.status != 404 && r.status != 200 {
			t.Errorf("the interrupted call is answered with %d %s", r.status, r.body)
		}
		b.wantStatus(b.send("POST", pathMCP, body, headers...), 503)
		if took := time.Since(began); took > testTimeout {
			t.Errorf("closing took %s", took)
		}
		b.client.CloseIdleConnections()
		if err := b.server.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	waitUntil(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// The hook sees the bytes of a connection before net/http, which removes white space
// around header values.
func TestConnectionsHook(t *testing.T) {
	for _, o := range []Options{
		{},
		{HTTP: HTTP{Connections: func(next net.Listener) net.Listener { return spacedListener{next} }}},
	} {
		l, err := Listen("127.0.0.1:0", o)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := statelessRequest(1, "server/discover")
		c, err := net.Dial("tcp", l.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method:   server/discover\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(body), body)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if changed := r.StatusCode == http.StatusBadRequest; changed != (o.HTTP.Connections != nil) {
			t.Errorf("status %d", r.StatusCode)
		}
		r.Body.Close()
		c.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A spacedListener replaces the white space before a header value by underscores.
type spacedListener struct{ net.Listener }

func (l spacedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return spacedConn{c}, err
}

type spacedConn struct{ net.Conn }

func (c spacedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return copy(b, bytes.ReplaceAll(b[:n], []byte(":   "), []byte(": __"))), err
}
