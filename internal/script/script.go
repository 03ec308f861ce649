// Package script runs a client under test against scripted servers. Every answer of a
// scripted server is data or a small handler, so that a check can tell what the
// client should do next.
//
// A Server describes the behavior of a scripted server. A Client is a client under
// test: a program or a function of this process, over stdio or HTTP. RunClient runs a
// Client once against a Server and returns the transcript of each connection.
//
// Over stdio the client starts a bridge in place of its server. The bridge carries
// the bytes of the client to a unix socket and those of the server back. Over HTTP
// the scripted server listens on a port of the loopback interface. Either way a link
// records each message of the client as a frame of a Conn. The goroutine of the Conn
// takes the frames in order, calls the Handler of each request or notification, and
// sends the answers over the link, which records them first.
package script

import (
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Server is the behavior of a scripted server. It has no state of a connection, so
// that a client may start it any number of times.
type Server struct {
	// Rev is the revision of its messages, until a handler changes the revision of a
	// connection.
	Rev spec.Revision
	// RequestHandlers answer requests by their method. DefaultHandler answers
	// requests of all other methods; nil refuses them with -32601.
	RequestHandlers map[string]Handler
	DefaultHandler  Handler
	// NotificationHandlers react to notifications by their method.
	NotificationHandlers map[string]Handler
}

// A Handler reacts to one message of the client. Messages are handled one after
// another. Further messages are recorded meanwhile, and a handler can await them.
type Handler func(c *Conn, m wire.Message)

// Options are the timeouts and limits of running a client.
type Options struct {
	// AnswerTimeout is how long the server waits for an answer of the client before
	// it answers the next request of the client.
	AnswerTimeout time.Duration
	// InitializeDelay is how long the server delays the answer to initialize, so that
	// messages that a client sends before the answer are seen.
	InitializeDelay time.Duration
	// StartTimeout is the time that a client has to start the server, IdleTimeout the
	// time that it may then send nothing, and Grace the time for each step of ending
	// it.
	StartTimeout, IdleTimeout, Grace time.Duration
	// MaxFrames and MaxBytes bound what is kept of one connection.
	MaxFrames, MaxBytes int
	// Env is added to the environment of a client that is started with a URL.
	Env []string
}
