package server

import (
	"bufio"
	"bytes"
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

// Each seam of HTTP reaches what it is for, in a few lines.
func TestTheSeamsOfHTTP(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	watched := toolCall("a", "stocktake", `{"duration_ms":20,"steps":2}`)
	for _, c := range []struct {
		name string
		http HTTP
		// deviates tells whether the server does; the honest one must not.
		deviates func(s *session) bool
	}{
		{
			"a foreign Origin is served",
			HTTP{Middleware: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.Header.Del("Origin")
					next.ServeHTTP(w, r)
				})
			}},
			func(s *session) bool { return s.post(ping, "Origin: http://evil.example").status == 200 },
		},
		{
			"an unknown session is answered with 400",
			HTTP{Middleware: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					next.ServeHTTP(unfound{w}, r)
				})
			}},
			func(s *session) bool { return s.post(ping, "Mcp-Session-Id: nobody").status == 400 },
		},
		{
			"session ids are counted",
			HTTP{Mint: func(func() string) func() string {
				n := 0
				return func() string { n++; return fmt.Sprint(n) }
			}},
			func(s *session) bool { return s.id == "1" },
		},
		{
			"messages of a call are on the GET stream too",
			HTTP{Route: func(next Router) Router {
				return func(f Frame, p Places) []*Stream { return slices.Concat(next(f, p), p.Standing) }
			}},
			func(s *session) bool {
				l := s.listen()
				web := s.server.handler.findSession(s.id)
				eventually(s.t, "the stream stands", func() bool { web.mu.Lock(); defer web.mu.Unlock(); return len(web.getStreams) == 1 })
				s.post(watched)
				s.send("DELETE", pathMCP, "", s.headers...)
				return slices.ContainsFunc(l.rest(), func(e event) bool { return strings.Contains(e.data, progress) })
			},
		},
		{
			"another stream is replayed",
			HTTP{Replay: func(next Replayer) Replayer {
				return func(s *Stream, missed []Event, others []*Stream) []Event {
					for _, o := range others {
						missed = append(missed, o.Events()...)
					}
					return next(s, missed, others)
				}
			}},
			func(s *session) bool {
				s.post(watched)
				r := s.post(strings.ReplaceAll(watched, `"a"`, `"b"`))
				again := s.listen("Last-Event-ID: " + r.events[0].id).rest()
				return slices.ContainsFunc(again, func(e event) bool { return strings.Contains(e.data, `"progressToken":"a"`) })
			},
		},
		{
			"no stream is primed",
			HTTP{Event: func(next Eventer) Eventer {
				return func(e Event) []byte {
					if e.Frame == nil && e.ID != "" {
						return nil
					}
					return next(e)
				}
			}},
			func(s *session) bool { return s.post(watched).events[0].data != "" },
		},
		{
			"who leaves cancels",
			HTTP{Disconnect: func(Leaver) Leaver { return func(_ bool, cancel func()) { cancel() } }},
			func(s *session) bool {
				l := s.open("POST", pathMCP, toolCall("a", "stocktake", `{"duration_ms":100,"steps":2}`), s.headers...)
				e, _ := l.next()
				l.cancel()
				events := s.listen("Last-Event-ID: " + e.id).rest()
				return len(events) == 0 || !strings.Contains(events[len(events)-1].data, "result")
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.deviates(listening(t, Options{}).session(spec.V2025_11_25, "{}")) {
				t.Error("the honest server does so too")
			}
			if !c.deviates(listening(t, Options{HTTP: c.http}).session(spec.V2025_11_25, "{}")) {
				t.Error("the seam does not reach it")
			}
		})
	}
}

// unfound turns 404 into 400.
type unfound struct{ http.ResponseWriter }

func (u unfound) WriteHeader(status int) {
	if status == http.StatusNotFound {
		status = http.StatusBadRequest
	}
	u.ResponseWriter.WriteHeader(status)
}

func (u unfound) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// The seams of messages reach over HTTP what they reach over stdio.
func TestTheSeamsOfMessagesHoldOverHTTP(t *testing.T) {
	after := func(o *Options) {
		o.Frames = func(next FrameSink) FrameSink {
			return func(f Frame) {
				next(f)
				if f.Method == "ping" {
					next(Frame{Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/late"}`)})
				}
			}
		}
	}
	answered := func(o *Options) {
		o.Incoming = func(next Receiver, out FrameSink) Receiver {
			return func(line []byte) error {
				if bytes.Contains(line, []byte("notifications/x")) {
					out(Frame{Raw: []byte(`{"jsonrpc":"2.0","id":"x","result":{}}`)})
				}
				return next(line)
			}
		}
	}
	swallowed := func(o *Options) {
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
		{"behind an answer", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, "notifications/late", after},
		{"to a notification", `{"jsonrpc":"2.0","method":"notifications/x"}`, `"id":"x"`, answered},
		{"nothing at all", `{"jsonrpc":"2.0","method":"notifications/x"}`, "", swallowed},
	} {
		var o Options
		c.with(&o)
		s := listening(t, o).session(spec.V2025_11_25, "{}")
		if r := s.post(c.body); !strings.Contains(r.body, c.says) || (c.says == "") != (r.status == 202) {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
	}
}

func TestAllEndsWithTheServer(t *testing.T) {
	before := runtime.NumGoroutine()
	func() {
		b := listening(t, Options{Grace: 20 * time.Millisecond, Official: true})
		s := b.session(spec.V2025_11_25, `{"sampling":{}}`)
		body, headers := statelessly(1, "subscriptions/listen", `"notifications":{}`)
		streams := []*live{
			s.listen(), s.listen(),
			b.open("GET", pathSSE, "", "Accept: text/event-stream"),
			b.open("POST", pathMCP, body, headers...),
			s.open("POST", pathMCP, toolCall("a", "suggest_reading", `{"mood":"calm"}`), s.headers...),
		}
		slow := make(chan reply, 1)
		go func() { slow <- s.post(toolCall("b", "stocktake", `{"duration_ms":5000,"steps":1}`)) }()
		web := b.server.handler.findSession(s.id)
		eventually(t, "two calls are in flight", func() bool {
			web.conn.mu.Lock()
			defer web.conn.mu.Unlock()
			return len(web.conn.inflight) == 2
		})
		began := time.Now()
		b.server.handler.Close()
		for _, l := range streams {
			l.rest()
			l.cancel()
		}
		if r := <-slow; r.status != 404 && r.status != 200 {
			t.Errorf("a call that was broken off is answered with %d %s", r.status, r.body)
		}
		b.want(b.send("POST", pathMCP, body, headers...), 503)
		if took := time.Since(began); took > patience {
			t.Errorf("it took %s", took)
		}
		b.client.CloseIdleConnections()
		if err := b.server.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// The bytes of a connection can be changed before net/http reads them, which
// takes white space off that stands around a value.
func TestTheSeamOfConnections(t *testing.T) {
	for _, o := range []Options{{}, {HTTP: HTTP{Connections: func(next net.Listener) net.Listener { return spaced{next} }}}} {
		l, err := Listen("127.0.0.1:0", o)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := statelessly(1, "server/discover")
		c, err := net.Dial("tcp", l.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method:   server/discover\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
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

// spaced makes underscores of the white space before a value.
type spaced struct{ net.Listener }

func (l spaced) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return spacedConn{c}, err
}

type spacedConn struct{ net.Conn }

func (c spacedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return copy(b, bytes.ReplaceAll(b[:n], []byte(":   "), []byte(": __"))), err
}
