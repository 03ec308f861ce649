package session

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// dial makes the link of a connection to a target. The link passes the frames of the
// client to record of the connection; next of the link returns the frames of the peer.
func dial(ctx context.Context, target transport.Target, o Options, c *Conn) (link, error) {
	switch t := target.(type) {
	case transport.HTTPTarget:
		return dialHTTP(ctx, t, o, c)
	case transport.Starter:
		stream, err := t.Start(ctx)
		if err != nil {
			return nil, err
		}
		return &stdioLink{stream: stream, record: c.record, patience: c.Patience}, nil
	default:
		return nil, fmt.Errorf("%s can be neither started nor called", target)
	}
}

// A link is one connection to a peer. It records a frame of the client before it
// sends the frame.
type link interface {
	// setRevision sets the revision of the session, before the first message.
	setRevision(rev spec.Revision)
	// send sends one message and returns the index of its frame. It waits at most as
	// long as for an answer. After the end of the context it neither records nor
	// sends anything.
	send(ctx context.Context, raw []byte) (at int, err error)
	// sendChunks writes chunks one after another, and records one frame for each
	// line that they form together. Between two chunks it calls pause with the index
	// of the first frame.
	sendChunks(ctx context.Context, pause func(first int), chunks [][]byte) (first int, err error)
	// drain waits until the peer has read everything that was sent, at most the
	// given time.
	drain(ctx context.Context, within time.Duration) bool
	// cancelRequest cancels a request if the transport has a way to do so; it
	// returns false if a notification does it.
	cancelRequest(id wire.ID) bool
	// unansweredReason returns why a request of the client will get no message as an
	// answer, as far as a later frame of the peer shows it; nil otherwise.
	unansweredReason(sent, got wire.Frame) error
	// next returns the next frame of the peer, and io.EOF after the last.
	next() (wire.Frame, error)

	// requestEnd asks the peer to end the connection; terminate asks with a signal;
	// kill ends the connection. done is closed once it has ended; status then
	// returns how.
	requestEnd()
	terminate()
	kill()
	done() <-chan struct{}
	status() string
	// stderr returns the end of what the peer wrote to its standard error.
	stderr() string
}
