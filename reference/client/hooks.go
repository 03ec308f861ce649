package client

import (
	"context"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Hooks are where a fault changes the client: each decorates one conforming part.
// The zero value is the conforming client.
type Hooks struct {
	// Send decorates the writing of a message.
	Send func(next Sender) Sender
	// NextID decorates the choice of the id of the next request.
	NextID func(next func() wire.ID) func() wire.ID
	// HandleRequest decorates the answers to requests of the server.
	HandleRequest func(next RequestHandler) RequestHandler
	// HandleNotification decorates the handling of notifications of the server.
	HandleNotification func(next NotificationHandler) NotificationHandler
	// AcceptVersion decorates what reports whether the client speaks a version.
	AcceptVersion func(next func(version string) bool) func(version string) bool
	// HasCapability decorates what reports whether the server has a capability.
	HasCapability func(next func(capability string) bool) func(capability string) bool
	// ShowsStateless decorates what reports whether a response to the probe shows a server
	// of the stateless era.
	ShowsStateless func(next func(answer wire.Message) bool) func(answer wire.Message) bool
	// HasNextPage decorates what reports whether a list has another page.
	HasNextPage func(next func(cursor gjson.Result) bool) func(cursor gjson.Result) bool
	// Close decorates the ending of a server process.
	Close func(next Closer) Closer
}

// A Message is one message that the client is about to send.
type Message struct {
	Raw    []byte
	Kind   wire.Kind
	Method string // of a request or notification
}

// A Sender writes one message.
type Sender func(m Message) error

// A RequestHandler makes the answer to a request of the server; nil is no answer.
type RequestHandler func(request wire.Message) []byte

// A NotificationHandler handles a notification of the server. The client sends what it
// returns.
type NotificationHandler func(notification wire.Message) []byte

// A Closer ends the server; ctx ends with the client.
type Closer func(ctx context.Context, s *transport.Stream)

// wrapped returns the conforming part, decorated if there is a decorator.
func wrapped[T any](conforming T, decorate func(next T) T) T {
	if decorate == nil {
		return conforming
	}
	return decorate(conforming)
}
