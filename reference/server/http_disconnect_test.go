package server

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestDisconnectBeforeReceiptCancels(t *testing.T) {
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
		HTTP: HTTP{Disconnect: func(next DisconnectHandler) DisconnectHandler {
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
			return func(f Frame, p OpenStreams) []*Stream {
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
		t.Errorf("the call was not cancelled, and took %s", time.Since(began))
	}
}

func TestPOSTWithoutSessionLeavesNoGoroutine(t *testing.T) {
	b := startHTTP(t, Options{HTTP: HTTP{Sessionless: true}})
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

func TestDisconnectCancelsOnlyStatelessRequests(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	b := startHTTP(t, Options{Handler: func(next Handler) Handler {
		return func(ctx context.Context, r *Request) (any, *Error) {
			v, e := next(ctx, r)
			if r.Method == "tools/call" {
				ended <- ctx.Err()
			}
			return v, e
		}
	}})
	body, headers := statelessRequest(
		1, "tools/call", `"name":"stocktake","arguments":{"duration_ms":5000,"steps":50}`,
	)
	body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	l := b.openStream("POST", pathMCP, body, append(headers, "Mcp-Name: stocktake")...)
	l.nextMessage()
	l.cancel()
	if err := <-ended; err == nil {
		t.Error("the call with a stream was not cancelled")
	}

	// The same while the client waits for JSON.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	body, headers = statelessRequest(
		2, "tools/call", `"name":"stocktake","arguments":{"duration_ms":5000,"steps":50}`,
	)
	if err := b.postAndLeave(ctx, body, append(headers, "Mcp-Name: stocktake")...); err == nil {
		t.Fatal("the call was answered")
	}
	if err := <-ended; err == nil {
		t.Error("the call without a stream was not cancelled")
	}

	s := b.openSession(spec.V2025_11_25, "{}")
	l = s.openStream("POST", pathMCP, toolCallLine("a", "stocktake", `{"duration_ms":200,"steps":2}`), s.headers...)
	l.nextMessage()
	l.cancel()
	if err := <-ended; err != nil {
		t.Errorf("the call of a session was cancelled: %v", err)
	}
}
