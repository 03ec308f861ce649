// Package session opens sessions with a server and exchanges messages in them.
//
// A Launcher starts instances of a target. Each instance has a Conn, which records
// all frames in a transcript. A Session is a Conn that is used at one revision: it
// knows the lifecycle of that revision, the handshake up to 2025-11-25 or the
// stateless requests of 2026-07-28. A Pool hands out the sessions of one revision. A
// Host answers the requests of the server.
//
// One request takes this way: Session.Start adds the protocol fields of the revision
// and sends the request over the link of the connection, which records its frame
// first. A goroutine of the Conn reads the frames of the peer, records each, and
// wakes Call.Answer, which looks for the response by its id. The error of a missing
// answer is a NoAnswerError with the Liveness of the server.
package session

import (
	"net/netip"
	"time"
)

// Options are the timeouts and limits of sessions. Every wait is bounded by one of
// them.
type Options struct {
	Timeout      time.Duration // for one answer
	StartTimeout time.Duration // for the first answer of a started process
	Grace        time.Duration // for each step of ending a process
	MaxFrames    int           // limit of what the peer sends between two messages of the client
	MaxBytes     int           // likewise
	Host         *Host         // client features; nil declares and answers nothing
	Serial       bool          // never run two instances of the target at once
	// LocalAddresses returns the addresses of this machine that other machines can
	// reach; nil for those of its network interfaces.
	LocalAddresses func() []netip.Addr
}

// DefaultOptions returns the options of a run without flags.
func DefaultOptions() Options {
	return Options{
		Timeout:      10 * time.Second,
		StartTimeout: 60 * time.Second,
		Grace:        2 * time.Second,
		MaxFrames:    10_000,
		MaxBytes:     16 << 20,
	}
}

// FirstAnswerTimeout returns the timeout for the first answer of an instance, given
// how long that of another instance took. It allows for a busy machine, on which a
// start may take many times as long, and is at most StartTimeout.
func (o Options) FirstAnswerTimeout(took time.Duration) time.Duration {
	return min(max(3*o.Timeout, 4*took), max(o.StartTimeout, o.Timeout))
}

// Params is the params object of a message.
type Params = map[string]any

// The clientInfo of mcpcheck.
const (
	clientName    = "mcpcheck"
	clientVersion = "0.1.0"
)
