package server

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A client that has left before its request was taken up has cancelled it all
// the same.
func TestLeavingBeforeReceiptCancels(t *testing.T) {
	came, left, taken := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	b := startHTTP(t, Options{
		Incoming: func(next Receiver, _ FrameSink) Receiver {
			return func(line []byte) error {
				close(came)
				<-left
				defer close(taken)
				return next(line)
			}
		},
		HTTP: HTTP{Disconnect: func(next Leaver) Leaver {
			return func(stateless bool, cancel func()) {
				next(stateless, cancel)
				once.Do(func() { close(left) })
			}
		}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	body, headers := statelessRequest(1, "subscriptions/listen", `"notifications":{}`)
	go func() { gone <- b.postAndLeave(ctx, body, headers...) }()
	<-came
	cancel()
	if err := <-gone; err == nil {
		t.Fatal("the request was answered")
	}
	<-taken
	waitUntil(t, "the subscription has ended", func() bool {
		c := b.server.handler.statelessConn
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.inflight) == 0 && len(c.subscriptions) == 0
	})
}

// The work on a stateless request whose client was cut off goes on for nobody.
func TestEndedStreamCancelsStatelessRequest(t *testing.T) {
	streams, ended := make(chan *Stream, 1000), make(chan error, 1)
	b := startHTTP(t, Options{
		Handler: func(next Handler) Handler {
			return func(ctx context.Context, r *Request) (any, *Error) {
				v, e := next(ctx, r)
				ended <- ctx.Err()
				return v, e
			}
		},
		HTTP: HTTP{Route: func(next Router) Router {
			return func(f Frame, p Places) []*Stream {
				streams <- p.Own
				return next(f, p)
			}
		}},
	})
	body, headers := statelessRequest(
		1, "tools/call", `"name":"stocktake","arguments":{"duration_ms":5000,"steps":50}`,
	)
	body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	b.openStream("POST", pathMCP, body, append(headers, "Mcp-Name: stocktake")...).nextMessage()
	began := time.Now()
	(<-streams).end()
	if err := <-ended; err == nil {
		t.Errorf("the call went on for %s to its end", time.Since(began))
	}
}

// Without sessions a POST leaves nothing behind, however it ends.
func TestPOSTWithoutSessionLeavesNoGoroutine(t *testing.T) {
	b := startHTTP(t, Options{HTTP: HTTP{SessionLess: true}})
	b.wantStatus(b.send("POST", pathMCP, `{"jsonrpc":"2.0","id":1,"method":"ping"}`), 200)
	b.client.CloseIdleConnections()
	before := runtime.NumGoroutine()
	for range 20 {
		b.wantStatus(b.send("POST", pathMCP, `{"method":"x"}`), 400)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_ = b.postAndLeave(ctx, toolCallLine("a", "stocktake", `{"duration_ms":2,"steps":1}`)) // or it was answered
		cancel()
	}
	b.client.CloseIdleConnections()
	waitUntil(t, "all work has ended", func() bool { return runtime.NumGoroutine() <= before })
}
