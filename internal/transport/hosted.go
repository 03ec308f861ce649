package transport

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// A Hosted is a server that we started and that serves at a URL.
type Hosted struct {
	command Command
	at      *Endpoint
	stream  *Stream
	said    *tail         // of its standard output
	heard   chan struct{} // closed once that was read to its end
}

// StartAt starts a command that serves at an endpoint, and waits at most so
// long until somebody listens there. That somebody does before it was started is
// an error, since it would be judged in its place.
func StartAt(ctx context.Context, c Command, at *Endpoint, within time.Duration) (*Hosted, error) {
	if listens(ctx, at) {
		return nil, fmt.Errorf("start %s: something listens at %s already: end it, or judge it by its URL alone", c, at.Shown())
	}
	stream, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	h := &Hosted{command: c, at: at, stream: stream, said: &tail{}, heard: make(chan struct{})}
	go h.listen()
	limit := time.NewTimer(within)
	defer limit.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if listens(ctx, at) {
			return h, nil
		}
		why := ""
		next := time.NewTimer(pause)
		select {
		case <-next.C:
			continue
		case <-stream.Done():
			why = "it ended before: " + stream.Status()
		case <-limit.C:
			why = fmt.Sprintf("nobody listens there after %s", within)
		case <-ctx.Done():
			why = context.Cause(ctx).Error()
		}
		next.Stop()
		h.Close(0)
		return nil, fmt.Errorf("%s does not serve at %s: %s%s", c, at.Shown(), why, h.lastWords())
	}
}

// listens tells whether a connection to the endpoint can be made.
func listens(ctx context.Context, at *Endpoint) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.address())
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// listen reads what it prints, so that it is not held up by it.
func (h *Hosted) listen() {
	defer close(h.heard)
	for {
		line, err := h.stream.ReadLine()
		if err != nil {
			return
		}
		// A tail takes everything.
		_, _ = h.said.Write(append(line.Bytes, '\n'))
	}
}

// Stderr returns the last that the server wrote to its standard error.
func (h *Hosted) Stderr() string { return h.stream.Stderr() }

// Ended tells how the server ended, or "" while it runs.
func (h *Hosted) Ended() string {
	select {
	case <-h.stream.Done():
		return h.stream.Status()
	default:
		return ""
	}
}

// EndsWithin waits at most so long for a server to end that listens no more, and
// returns how it ended, "" if it runs.
func (h *Hosted) EndsWithin(within time.Duration) string {
	if listens(context.Background(), h.at) {
		return ""
	}
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-h.stream.Done():
		return h.stream.Status()
	case <-limit.C:
		return ""
	}
}

// lastLines is how many lines are told of what a server wrote last.
const lastLines = 5

// lastWords returns the last lines of its standard error, or of its output.
func (h *Hosted) lastWords() string {
	name, text := "standard error", strings.TrimSpace(h.Stderr())
	if text == "" {
		name, text = "standard output", strings.TrimSpace(h.said.String())
	}
	if text == "" {
		return "; it wrote nothing"
	}
	lines := strings.Split(text, "\n")
	return fmt.Sprintf("; its %s ended with: %s", name, strings.Join(lines[max(0, len(lines)-lastLines):], " / "))
}

// Close ends the server and its descendants: it is asked to, by the end of its
// input and SIGTERM, and after the grace it is made to.
func (h *Hosted) Close(grace time.Duration) {
	h.stream.CloseInput()
	h.stream.Terminate()
	limit := time.NewTimer(grace)
	defer limit.Stop()
	select {
	case <-h.stream.Done():
		settled(h.heard)
	case <-limit.C:
	}
	h.stream.Kill()
	<-h.heard
}
