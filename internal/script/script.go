// Package script plays scripted servers to clients: servers whose every answer
// is data or a small handler, so that it is known what a client was told and
// can be judged what it did. It also starts clients, as processes that reach
// the server through a bridge, or as functions of this process.
package script

import (
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Server is how a scripted server behaves. It holds no state of a
// connection, so that a client may start it any number of times.
type Server struct {
	// Rev is the revision whose messages it writes, until a handler turns a
	// connection to another.
	Rev spec.Revision
	// Handlers answer requests by their method. Else answers the requests of
	// all other methods; nil refuses them with -32601.
	Handlers map[string]Handler
	Else     Handler
	// Heard is called for notifications of these methods.
	Heard map[string]Handler
	// Opened is called before anything was read, for servers that speak first.
	Opened func(c *Conn)
}

// A Handler reacts to one message of the client. Messages are handled one
// after another; what comes meanwhile is read and recorded, and can be awaited.
type Handler func(c *Conn, m wire.Message)

// Options are the waits and limits of a scripted server.
type Options struct {
	// Due is how long an answer of the client that is due is waited for,
	// before the client's next request is answered.
	Due time.Duration
	// Window is how long the answer to initialize is held back, to see what
	// the client sends before it.
	Window time.Duration
	// Start is how long a started client has until it starts the server, Idle
	// how long it may then be silent before it is ended, Grace what it is
	// given for each step of being ended.
	Start, Idle, Grace time.Duration
	// MaxFrames and MaxBytes bound what is kept of one connection.
	MaxFrames, MaxBytes int
	// Env is added to the environment of a client that is started with a URL.
	Env []string
}
