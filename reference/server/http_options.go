package server

import (
	"net"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// HTTP says how a server is served over HTTP. The zero value is the honest,
// secure server: loopback names only, sessions, answers as JSON where nothing
// comes before them.
type HTTP struct {
	// SessionLess: the handshake revisions are served without sessions. No id is
	// minted, nothing is kept between two POSTs, GET and DELETE are refused, and
	// the capabilities that need a session are not declared.
	SessionLess bool
	// PreferSSE: each request that is served at all is answered by a stream, not
	// only one that is more than an answer.
	PreferSSE bool
	// Hosts are names, without port, that may stand in Host besides those of the
	// loopback interface, at the port that is listened on or, of a proxy, the usual
	// one of the scheme; Origins are origins of browsers that may call besides
	// the server's own (basic/transports/streamable-http#security-endpoint).
	Hosts, Origins []string

	// Also are further hosts to listen on, on the same port.
	Also []string
	// Guard has only who brings an access token be served; nil serves everybody.
	Guard *Guard

	MaxBody     int64         // of a POST in bytes; 0 means that of a line of stdio
	MaxSessions int           // 0 means 500; then the one that was idle the longest ends
	Idle        time.Duration // after which a session ends; 0 means 10 min
	KeepAlive   time.Duration // between comments on a quiet stream; 0 means 15 s
	// Slow is how long a client may take to send a body, or to read what it was
	// sent; 0 means 1 min.
	Slow time.Duration
	// Retry is what a client that is told to poll is asked to wait; 0 means
	// 100 ms. Hold is how long a stream of a POST is held open before its client
	// is told to poll, in the revisions that have that; 0 means for ever.
	Retry, Hold time.Duration

	// The seams. Each wraps the honest part, is called once for the server, and
	// may be nil; what they make runs on several goroutines at once.

	// Middleware sees each HTTP request first and each byte of its answer last:
	// status, headers and content types of both are its to change. A request
	// header that it takes away or adds is what the honest part judges by, so
	// that any duty to refuse can be lifted here.
	Middleware func(next http.Handler) http.Handler
	// Mint makes the id of a new session: short, shared, ill-formed, predictable.
	Mint func(next func() string) func() string
	// Lookup tells which session a request names, "" for none: it may take it
	// from elsewhere, or answer for a session that ended with one that lives.
	Lookup func(next func(r *http.Request) string) func(r *http.Request) string
	// Route tells on which streams a message is put, none for the next GET
	// stream: on two, on another session's, responses on that of a GET.
	Route func(next Router) Router
	// Replay tells what a client that resumes a stream is sent at first: too
	// much, too little, what belongs to another stream.
	Replay func(next Replayer) Replayer
	// Event makes the bytes of an event or comment, nil for none: ids that occur
	// twice, no priming, no retry, data that is no JSON, broken framing.
	Event func(next Eventer) Eventer
	// Connections makes the connections on which requests come: it sees each byte
	// of them before net/http, which mends and sorts what the others see. Of
	// servers that listen by themselves.
	Connections func(next net.Listener) net.Listener
	// Disconnect says what happens when a client leaves before the answer to its
	// POST; cancel ends the work on its requests.
	Disconnect func(next Leaver) Leaver
}

// The paths of the endpoints.
const (
	pathMCP      = "/mcp"
	pathSSE      = "/sse"
	pathMessages = "/messages"
)

// A Router tells on which streams a message is put; on none it waits for the
// next GET stream, or is dropped where there is no such thing.
type Router func(f Frame, p Places) []*Stream

// Places are the streams that a message could be put on.
type Places struct {
	Own      *Stream   // of the POST that it belongs to, if that is not over
	Standing []*Stream // the connected GET streams of the session, newest last
}

// A Replayer tells what is sent first to a client that resumes a stream: what
// it missed of it. others are the other streams of the session.
type Replayer func(s *Stream, missed []Event, others []*Stream) []Event

// An Eventer makes the bytes of an event.
type Eventer func(e Event) []byte

// A Leaver says what happens when the client left before the answer to a POST
// of a stateless revision, or of a handshake one.
type Leaver func(stateless bool, cancel func())

// route is the honest Router: each message goes on one stream only, that of
// its request, and what belongs to none on the newest GET stream
// (basic/transports#multiple-connections), but for a response, which a GET stream
// may not carry unless it is resumed
// (basic/transports#listening-for-messages-from-the-server).
func routeFrame(f Frame, p Places) []*Stream {
	switch {
	case p.Own != nil:
		return []*Stream{p.Own}
	case f.isAnswer():
		return nil
	case len(p.Standing) > 0:
		return p.Standing[len(p.Standing)-1:]
	}
	return nil
}

// replay is the honest Replayer: what was missed of that stream, and nothing
// else (basic/transports#resumability-and-redelivery).
func replayMissed(_ *Stream, missed []Event, _ []*Stream) []Event { return missed }

// leave is the honest Leaver: in the stateless revisions the client cancels by
// leaving, in the others it may come back.
func cancelIfStateless(stateless bool, cancel func()) {
	if stateless {
		cancel()
	}
}

func sessionIDHeader(r *http.Request) string { return r.Header.Get("Mcp-Session-Id") }

// seam is the honest part, decorated if there is a decorator.
func wrapped[T any](honest T, decorate func(next T) T) T {
	if decorate == nil {
		return honest
	}
	return decorate(honest)
}

// complete puts the defaults where nothing was said.
func (o *HTTP) complete() {
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
	if o.Slow == 0 {
		o.Slow = time.Minute
	}
	if o.Retry == 0 {
		o.Retry = 100 * time.Millisecond
	}
}
