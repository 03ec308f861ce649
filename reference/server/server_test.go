package server

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestServeEndsWithInput(t *testing.T) {
	before := runtime.NumGoroutine()
	lines := []string{
		"", // nothing in flight
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":5000}}}`,
	}
	for _, line := range lines {
		p := openSession(t, spec.V2025_11_25, "{}", Options{Grace: 50 * time.Millisecond})
		p.send("%s", line)
		wantResult(t, p.request("ping"))
		p.stream.CloseInput()
		p.wantEnd()
		if p.stream.Status() != "exit status 0" {
			t.Errorf("the server ended with %s", p.stream.Status())
		}
		p.stream.Kill()
	}
	deadline := time.Now().Add(testTimeout)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines are left, %d existed before\n%s", n, before, buf[:runtime.Stack(buf, true)])
	}
}

func TestAnswersInFlightWithinGrace(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{Grace: testTimeout})
	p.send(
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":50}}}`,
	)
	p.stream.CloseInput()
	wantResult(t, p.responseTo(wire.IntID(2)))
}

func TestServeEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	in, w := io.Pipe()
	defer w.Close()
	go func() { ended <- Serve(ctx, in, io.Discard, Options{}) }()
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("Serve returned no error, want the cause of the context")
		}
	case <-time.After(testTimeout):
		t.Fatal("Serve did not return")
	}
}

func TestServeEndsWhenOutputCloses(t *testing.T) {
	p := startServer(t, Options{})
	p.stream.Kill()
	p.wantEnd()
}
