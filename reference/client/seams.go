package client

import (
	"context"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Seams are where a fault may be built into the client: each decorates one of
// its honest parts. The zero value is honest.
type Seams struct {
	// Send decorates what writes a message as a line.
	Send func(next Sender) Sender
	// NextID decorates what gives the next request its id.
	NextID func(next func() wire.ID) func() wire.ID
	// Answer decorates what answers a request of the server; nil bytes are
	// no answer.
	Answer func(next Answerer) Answerer
	// Heard decorates what a notification of the server leads to.
	Heard func(next Listener) Listener
	// Accept decorates what tells whether a version is spoken.
	Accept func(next func(version string) bool) func(version string) bool
	// Offers decorates what tells whether the server has a capability.
	Offers func(next func(capability string) bool) func(capability string) bool
	// Modern decorates what tells whether an answer to the probe shows a
	// server of the stateless era.
	Modern func(next func(answer wire.Message) bool) func(answer wire.Message) bool
	// More decorates what tells whether a list has another page.
	More func(next func(cursor gjson.Result) bool) func(cursor gjson.Result) bool
	// Close decorates what ends the server.
	Close func(next Closer) Closer
}

// A Message is one message that the client is about to send.
type Message struct {
	Raw    []byte
	Kind   wire.Kind
	Method string // of a request or notification
}

// A Sender writes one message as a line.
type Sender func(m Message) error

// An Answerer makes the answer to a request of the server.
type Answerer func(request wire.Message) []byte

// A Listener takes a notification of the server; what it returns is sent.
type Listener func(notification wire.Message) []byte

// A Closer ends the server; ctx ends with the client.
type Closer func(ctx context.Context, s *transport.Stream)
