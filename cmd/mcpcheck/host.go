package main

import (
	"context"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A host starts a server that serves at a URL, and starts it again.
type host struct {
	command      transport.Command
	at           *transport.Endpoint
	start, grace time.Duration

	mu  sync.Mutex
	now *transport.Hosted // nil while there is none
}

// again ends the server that there may be, and starts another in its place.
func (h *host) again(ctx context.Context) error {
	h.close()
	h.at.Close() // connections to the one that is gone
	next, err := transport.StartAt(ctx, h.command, h.at, h.start)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = next
	return nil
}

func (h *host) current() *transport.Hosted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *host) stderr() string {
	if now := h.current(); now != nil {
		return now.Stderr()
	}
	return ""
}

func (h *host) endsWithin(within time.Duration) string {
	if now := h.current(); now != nil {
		return now.EndsWithin(within)
	}
	return ""
}

// close ends the server, and tells how it had ended by itself, "" if it had not.
func (h *host) close() (early string) {
	h.mu.Lock()
	now := h.now
	h.now = nil
	h.mu.Unlock()
	if now == nil {
		return ""
	}
	early = now.Ended()
	now.Close(h.grace)
	return early
}
