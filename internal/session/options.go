// Package session speaks the two lifecycles of the protocol over a transport:
// the handshake of the revisions up to 2025-11-25 and the stateless requests
// of 2026-07-28. What is said in a session is the same in both.
package session

import (
	"net/netip"
	"time"
)

// Options are the deadlines and limits of sessions; every wait in the harness
// takes its bound from here.
type Options struct {
	Timeout      time.Duration // for one answer that is due
	StartTimeout time.Duration // for the first answer of a started process
	Grace        time.Duration // for each step of ending a process
	MaxFrames    int           // frames between two messages of ours that count as a flood
	MaxBytes     int           // bytes, likewise
	Host         *Host         // the client's side of sessions; nil declares and answers nothing
	Serial       bool          // never have two instances of the target at once
	// Addresses returns the addresses by which other machines reach this one;
	// nil for those of its interfaces.
	Addresses func() []netip.Addr
}

// Defaults are the options of a run with no flags.
func Defaults() Options {
	return Options{
		Timeout:      10 * time.Second,
		StartTimeout: 60 * time.Second,
		Grace:        2 * time.Second,
		MaxFrames:    10_000,
		MaxBytes:     64 << 20,
	}
}

// First returns how long the first answer of an instance is waited for once
// another took so long for its own: generously, since on a busy machine a start
// may take many times what the last one took, and within StartTimeout.
func (o Options) First(took time.Duration) time.Duration {
	return min(max(3*o.Timeout, 4*took), max(o.StartTimeout, o.Timeout))
}

// Params are the members of the params object of a message of ours.
type Params = map[string]any

// The identity that the harness gives in clientInfo.
const (
	clientName    = "mcpcheck"
	clientVersion = "0.1.0"
)
