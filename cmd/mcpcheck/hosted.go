package main

import (
	"context"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A hosted is a server that mcpcheck starts and that serves at a URL. It can be
// started again.
type hosted struct {
	command      transport.Command
	at           *transport.Endpoint
	startTimeout time.Duration
	grace        time.Duration

	mu     sync.Mutex
	server *transport.StartedServer // nil while there is none
}

// Restart ends the server, if there is one, and starts another.
func (h *hosted) Restart(ctx context.Context) error {
	h.close()
	h.at.Close() // connections to the server that ended
	next, err := transport.StartServer(ctx, h.command, h.at, h.startTimeout)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server = next
	return nil
}

func (h *hosted) current() *transport.StartedServer {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server
}

// Stderr returns the end of the server's standard error.
func (h *hosted) Stderr() string {
	if s := h.current(); s != nil {
		return s.Stderr()
	}
	return ""
}

// WaitForExit waits at most the given time for the server to end, and returns how
// it ended, "" if it runs.
func (h *hosted) WaitForExit(within time.Duration) string {
	if s := h.current(); s != nil {
		return s.WaitForExit(within)
	}
	return ""
}

// close ends the server. It returns how the server had ended before, "" if it
// had not.
func (h *hosted) close() (early string) {
	h.mu.Lock()
	server := h.server
	h.server = nil
	h.mu.Unlock()
	if server == nil {
		return ""
	}
	early = server.ExitStatus()
	server.Close(h.grace)
	return early
}
