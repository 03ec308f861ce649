package streams

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// judges returns the judges of how streams begin and end
// (basic/transports#sending-messages-to-the-server and
// #listening-for-messages-from-the-server).
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.stream.early-close",
			Says:  "the server does not close the stream of a request before its response",
			Level: spec.Should,
			In:    beforePolling(),
			Rules: []string{"streamable-http-sse-no-early-close", "streamable-http-sse-carries-response"},
			Idle:  "no stream of a request has ended",
			Hint:  streamAnswer,
			Judge: func(j *check.J) {
				check.Each(j, requestStreams(j), func(s requestStream) bool {
					x := s.first()
					if x.End == nil {
						return false
					}
					open := unanswered(j, s.posted, x.Body, x.End.Index)
					if len(open) > 0 && isClosedInSession(j, x) {
						j.Fail(*x.End, "the stream opened for the %s was closed before its response",
							open[0].Summary())
					}
					return len(open) == 0
				})
			},
		},
		{
			ID:    "streamable-http.stream.response",
			Says:  "the stream of a request carries its response",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"streamable-http-sse-carries-response"},
			Idle:  "no stream of a request has ended",
			Hint:  streamAnswer,
			// Up to 2025-11-25 the response may still come if the stream can be resumed: the
			// server may close its connection
			// (basic/transports#sending-messages-to-the-server).
			Judge: func(j *check.J) {
				check.Each(j, requestStreams(j), func(s requestStream) bool {
					x := s.last()
					if x.End == nil {
						return false
					}
					isRefused := s.refused != nil && isFinalRefusal(s.refused)
					isResumable := s.hasEventIDs() && !j.Facts.Stateless && !isRefused
					open := unanswered(j, s.posted, s.frames(), x.End.Index)
					if len(open) > 0 && !isResumable && isClosedInSession(j, x) {
						j.Fail(*x.End, "the stream opened for the %s ended without its response", open[0].Summary())
					}
					return len(open) == 0
				})
			},
		},
		{
			ID:    "streamable-http.stream.retry",
			Says:  "the server sends a retry field before it closes the connection of an unfinished stream",
			Level: spec.Should,
			In:    polling(),
			Rules: []string{"streamable-http-retry-before-close"},
			Idle:  "the server closed no connection of an unfinished stream",
			Hint:  "close the connection of a stream with event ids before its response",
			// The retry may be anywhere on the connection: a client keeps the last one. A
			// stream without event ids cannot be resumed; streamable-http.stream.response
			// judges its end.
			Judge: func(j *check.J) {
				for _, s := range requestStreams(j) {
					var frames []wire.Entry
					for _, x := range s.exchanges {
						frames = append(frames, x.Body...)
						if x.End == nil || len(unanswered(j, s.posted, frames, x.End.Index)) == 0 ||
							!s.hasEventIDs() || !isClosedInSession(j, x) {
							continue
						}
						if !slices.ContainsFunc(x.Body, hasRetry) {
							j.Fail(*x.End,
								"the connection of the stream for the %s was closed early without a retry field",
								s.posted[0].Summary())
							continue
						}
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.get.answer",
			Says:  "the server answers a GET with an event stream or status 405",
			Level: spec.Must,
			In:    handshake(),
			Rules: []string{"streamable-http-get-sse-or-405"},
			Idle:  "no GET was sent with the header fields of an open session",
			Hint:  "answer a GET with an event stream or status 405",
			// Only the first GET of a session is judged, if it has all header fields that a
			// client must send: the page does not say how a second stream is answered.
			Judge: func(j *check.J) {
				isGet := func(x *wire.Exchange) bool { return x.Method() == http.MethodGet }
				at := slices.IndexFunc(j.Exchanges(), isGet)
				if at < 0 {
					return
				}
				x := j.Exchanges()[at]
				switch {
				case x.Head == nil || x.RequestField("Last-Event-ID") != "":
				case x.RequestField("Accept") != "text/event-stream" || !followsInitialized(j, x):
				case x.OpensStream(), x.Status() == http.StatusMethodNotAllowed:
					j.Saw()
				case isFinalRefusal(x):
					j.Fail(*x.Head,
						"a GET was answered with status %d %s and the type %q, not with an event stream or 405",
						x.Status(), http.StatusText(x.Status()), x.Header().Get("Content-Type"))
				}
			},
		},
		{
			ID:    "streamable-http.tasks.get.plain",
			Says:  "the server answers tasks/get without an event stream where possible",
			Level: spec.Should,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"tasks-no-sse-for-get"},
			Idle:  "no tasks/get was answered, or the server answers every request with an event stream",
			Hint:  "offer a read-only tool that can be called as a task, and answer tasks/get as application/json",
			// The server can do without a stream if it answered another request as plain JSON.
			Judge: func(j *check.J) {
				isPlain := func(x *wire.Exchange) bool {
					posted := x.PostedMessages()
					return len(posted) == 1 && posted[0].Kind == wire.Request && isOK(x) && !x.OpensStream()
				}
				check.Each(j, j.Exchanges(), func(x *wire.Exchange) bool {
					posted := x.PostedMessages()
					if len(posted) != 1 || posted[0].Method() != "tasks/get" || !isOK(x) {
						return false
					}
					if x.OpensStream() && slices.ContainsFunc(j.Exchanges(), isPlain) {
						j.Fail(*x.Head,
							"tasks/get (id %s) was answered with an event stream, other requests with plain JSON",
							posted[0].ID())
					}
					return !x.OpensStream()
				})
			},
		},
	}
}

// hasRetry reports whether a frame is an event with a retry field.
func hasRetry(f wire.Entry) bool { return f.HTTP.Event != nil && f.HTTP.Event.Retry != "" }

// isOK reports whether an exchange was answered with status 200.
func isOK(x *wire.Exchange) bool { return x.Status() == http.StatusOK }
