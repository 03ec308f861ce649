package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// ClientRun is the result of running a client once.
type ClientRun struct {
	Transcripts []*wire.Transcript // of each connection of the client
	Status      string             // how the client ended, e.g. "exit status 0"
	StopReason  string             // why this process ended the client; "" if the client ended by itself
	Output      string             // the end of the client's standard error, or of its output if that is empty
}

// ErrNeverConnected is the error of a client that did not use the server.
var ErrNeverConnected = errors.New("the client did not start the server that it was given, or call it")

// RunClient runs a client once against a server. It returns when the client has
// ended. It ends a client that does not start the server in time, that sends nothing
// for too long, or when the context ends. No process of the client is left.
func RunClient(ctx context.Context, client Client, server Server, o Options) (p ClientRun, err error) {
	h := newHarness(server, o)
	target, err := client.starterFor(h)
	if err != nil {
		h.close()
		return p, err
	}
	stream, err := target.Start(ctx)
	if err != nil {
		h.close()
		return p, err
	}
	stream.CloseInput()
	output := &transport.Tail{}
	go stream.CopyOutput(output)
	if p.StopReason = awaitEnd(ctx, h, stream, o); p.StopReason != "" {
		h.noteEndRequest()
		stream.Terminate()
		waitFor(stream.Done(), o.Grace)
	}
	h.clientEnded()
	h.awaitConns()
	h.close()
	stream.Kill() // descendants may run on after the client has ended
	p.Status = stream.Status()
	p.Transcripts = h.transcripts()
	if p.Output = strings.TrimSpace(stream.Stderr()); p.Output == "" {
		p.Output = strings.TrimSpace(output.String())
	}
	if len(p.Transcripts) == 0 && ctx.Err() == nil {
		err = ErrNeverConnected
	}
	return p, err
}

// awaitEnd waits until the client has ended by itself, and returns "". If the client
// must be ended, it returns why.
func awaitEnd(ctx context.Context, h *harness, stream *transport.Stream, o Options) string {
	began := time.Now()
	for {
		connected := len(h.connections()) > 0
		left := o.StartTimeout - time.Since(began)
		if connected {
			left = o.IdleTimeout - h.idleTime(began)
		}
		switch {
		case left <= 0 && !connected:
			return fmt.Sprintf("it did not start the server within %s", o.StartTimeout)
		case left <= 0:
			return fmt.Sprintf("it sent nothing for %s and did not end", o.IdleTimeout)
		}
		// A new connection or frame changes the limit. The loop therefore looks again
		// after a part of the shorter limit.
		timer := time.NewTimer(min(left, max(o.IdleTimeout/4, time.Millisecond)))
		select {
		case <-stream.Done():
			timer.Stop()
			return ""
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx).Error()
		case <-timer.C:
		}
	}
}

// waitFor waits until done is closed, at most the given time.
func waitFor(done <-chan struct{}, within time.Duration) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
}
