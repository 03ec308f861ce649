package server

import (
	"net"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// HTTP configures a server over HTTP. The zero value is the conforming, secure
// server: it answers to names of the loopback interface only, has sessions, and
// answers with JSON unless other messages precede the answer.
type HTTP struct {
	// Sessionless serves the handshake revisions without sessions: no session id is
	// created, no state is kept between two POSTs, GET and DELETE are refused, and
	// the capabilities that need a session are not declared.
	Sessionless bool
	// PreferSSE answers every request that is not refused by a stream, even if the
	// answer is its only message.
	PreferSSE bool
	// AllowedHosts are names, without port, that are accepted in the header Host besides
	// those of the loopback interface, at the port of the listener or, for a proxy,
	// the default one of the scheme. AllowedOrigins are origins that browsers may call from
	// besides the server's own (basic/transports/streamable-http#security-endpoint).
	AllowedHosts, AllowedOrigins []string

	// ExtraHosts are further hosts to listen on, on the same port.
	ExtraHosts []string
	// Authorization requires an access token of each request; nil requires none.
	Authorization *AuthorizationOptions

	MaxBody     int64         // of a POST in bytes; 0 means that of a line of stdio
	MaxSessions int           // 0 means 500; beyond it the session that was idle the longest ends
	Idle        time.Duration // after which a session ends; 0 means 10 min
	KeepAlive   time.Duration // between comments on a stream without events; 0 means 15 s
	// ClientTimeout is the time that a client has to send a body, and to read its answer; 0
	// means 1 min.
	ClientTimeout time.Duration
	// Retry is the reconnection time that a client is sent before its stream is
	// closed to make it poll; 0 means 100 ms. PollAfter is the time after which the
	// stream of a POST is closed for that, in the revisions that have polling; 0
	// means never.
	Retry, PollAfter time.Duration

	// The hooks. Each wraps the conforming part, is called once for the server, and
	// may be nil. What a hook returns runs on several goroutines at once.

	// Middleware sees each HTTP request first and each byte of its answer last, and
	// may change the status, headers and body of both. The conforming part judges
	// the request headers as Middleware leaves them.
	Middleware func(next http.Handler) http.Handler
	// NewSessionID makes the id of a new session.
	NewSessionID func(next func() string) func() string
	// Route returns the streams that a message is put on.
	Route func(next Router) Router
	// Replay returns the events that a client which resumes a stream is sent first.
	Replay func(next Replayer) Replayer
	// EncodeEvent makes the bytes of an event or comment, nil for none.
	EncodeEvent func(next EventEncoder) EventEncoder
	// Connections wraps the listener of a server that Listen starts: it sees each
	// byte of a request before net/http, which normalizes header names and values.
	Connections func(next net.Listener) net.Listener
	// Disconnect is called when a client leaves before the answer to its POST.
	Disconnect func(next DisconnectHandler) DisconnectHandler
}

// setDefaults replaces the zero values by the defaults.
func (o *HTTP) setDefaults() {
	if o.MaxBody == 0 {
		o.MaxBody = transport.DefaultLineLimit
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = 500
	}
	if o.Idle == 0 {
		o.Idle = 10 * time.Minute
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.ClientTimeout == 0 {
		o.ClientTimeout = time.Minute
	}
	if o.Retry == 0 {
		o.Retry = 100 * time.Millisecond
	}
}

// A Router returns the streams that a message is put on. If it returns none, the
// message waits for the next GET stream, or is dropped if there can be none.
type Router func(f Frame, p OpenStreams) []*Stream

// OpenStreams are the open streams that a message can be put on.
type OpenStreams struct {
	Own        *Stream   // of the POST that it belongs to; nil if that has ended
	GetStreams []*Stream // the connected GET streams of the session, newest last
}

// A Replayer returns the events that are sent first to a client that resumes a
// stream. missed are those that the client missed, others the other streams of the
// session.
type Replayer func(s *Stream, missed []Event, others []*Stream) []Event

// An EventEncoder makes the bytes of an event.
type EventEncoder func(e Event) []byte

// A DisconnectHandler handles the departure of a client before the answer to its POST.
// stateless reports whether the POST is of a stateless revision; cancel ends the
// work on its requests.
type DisconnectHandler func(stateless bool, cancel func())

// routeFrame is the conforming Router: each message is put on one stream only, that
// of its request, and a message of no request on the newest GET stream
// (basic/transports#multiple-connections). A response is not put on a GET stream,
// which may carry it only when it is resumed
// (basic/transports#listening-for-messages-from-the-server).
func routeFrame(f Frame, p OpenStreams) []*Stream {
	switch {
	case p.Own != nil:
		return []*Stream{p.Own}
	case f.isAnswer():
		return nil
	case len(p.GetStreams) > 0:
		return p.GetStreams[len(p.GetStreams)-1:]
	}
	return nil
}

// replayMissed is the conforming Replayer: the events that were missed of that
// stream, and nothing else (basic/transports#resumability-and-redelivery).
func replayMissed(_ *Stream, missed []Event, _ []*Stream) []Event { return missed }

// cancelIfStateless is the conforming DisconnectHandler: a client cancels a request of a
// stateless revision by leaving; in the others it may resume the stream.
func cancelIfStateless(stateless bool, cancel func()) {
	if stateless {
		cancel()
	}
}
