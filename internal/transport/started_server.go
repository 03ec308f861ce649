package transport

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// StartedServer is a server that mcpcheck started and that serves at a URL.
type StartedServer struct {
	command  Command
	endpoint *Endpoint
	stream   *Stream
	output   *Tail         // of its standard output
	drained  chan struct{} // closed once the standard output was read to its end
}

// StartServer starts a command that serves at an endpoint, and waits at most the
// given time until the endpoint accepts connections. It is an error if it accepts
// connections before the command was started: another server would be tested.
func StartServer(ctx context.Context, c Command, at *Endpoint, within time.Duration) (*StartedServer, error) {
	if acceptsConnections(ctx, at) {
		return nil, fmt.Errorf("start %s: another server listens at %s already: end it, or test it by its URL alone",
			c, at.Redacted())
	}
	stream, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	h := &StartedServer{command: c, endpoint: at, stream: stream, output: &Tail{}, drained: make(chan struct{})}
	go func() { // a full pipe would block the server
		defer close(h.drained)
		stream.CopyOutput(h.output)
	}()
	if why := h.awaitConnections(ctx, within); why != "" {
		h.Close(0)
		return nil, fmt.Errorf("%s does not serve at %s: %s%s", c, at.Redacted(), why, h.lastOutput())
	}
	return h, nil
}

// awaitConnections waits until the endpoint accepts connections, and returns why it
// does not; "" if it does.
func (h *StartedServer) awaitConnections(ctx context.Context, within time.Duration) (why string) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for pause := time.Millisecond; !acceptsConnections(ctx, h.endpoint); pause = min(2*pause, 100*time.Millisecond) {
		next := time.NewTimer(pause)
		select {
		case <-next.C:
			continue
		case <-h.stream.Done():
			why = "it ended before it accepted connections: " + h.stream.Status()
		case <-limit.C:
			why = fmt.Sprintf("it accepts no connections after %s", within)
		case <-ctx.Done():
			why = context.Cause(ctx).Error()
		}
		next.Stop()
		return why
	}
	return ""
}

// acceptsConnections reports whether a connection to the endpoint can be made.
func acceptsConnections(ctx context.Context, at *Endpoint) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.hostPort())
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// Stderr returns the end of what the server wrote to its standard error.
func (h *StartedServer) Stderr() string { return h.stream.Stderr() }

// ExitStatus returns how the server ended, "" while it runs.
func (h *StartedServer) ExitStatus() string {
	select {
	case <-h.stream.Done():
		return h.stream.Status()
	default:
		return ""
	}
}

// WaitForExit waits at most the given time for a server that no longer accepts
// connections to end, and returns how it ended; "" if it runs.
func (h *StartedServer) WaitForExit(within time.Duration) string {
	if acceptsConnections(context.Background(), h.endpoint) || !waitFor(h.stream.Done(), within) {
		return ""
	}
	return h.stream.Status()
}

// shownLines is the number of lines of the output of a server that an error shows.
const shownLines = 5

// lastOutput describes the last lines of the server's standard error, or of its
// standard output if that is empty.
func (h *StartedServer) lastOutput() string {
	name, text := "standard error", strings.TrimSpace(h.Stderr())
	if text == "" {
		name, text = "standard output", strings.TrimSpace(h.output.String())
	}
	if text == "" {
		return "; it wrote nothing"
	}
	lines := strings.Split(text, "\n")
	last := lines[max(0, len(lines)-shownLines):]
	return fmt.Sprintf("; its %s ended with: %s", name, strings.Join(last, " / "))
}

// Close ends the server and its descendants: by closing its input and SIGTERM, and
// after the grace by SIGKILL.
func (h *StartedServer) Close(grace time.Duration) {
	h.stream.CloseInput()
	h.stream.Terminate()
	if waitFor(h.stream.Done(), grace) {
		waitFor(h.drained, pipeGrace)
	}
	h.stream.Kill()
	<-h.drained
}
