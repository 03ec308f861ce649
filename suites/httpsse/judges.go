package httpsse

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// The reasons why several judges are not observed, and what helps.
const (
	noStream        = "the session was not opened with the stream of a GET"
	noEndpointEvent = "no stream of a session has an endpoint event"
	openStream      = "serve HTTP+SSE: answer a GET with a stream that begins with an endpoint event"
)

// only is the revision that has the transport HTTP+SSE.
var only = spec.Only(spec.V2024_11_05)

// judges returns the judges of basic/transports#http-with-sse of 2024-11-05. They
// judge the stream that the session was opened with.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "http-sse.stream.opened",
			Says:  "the server answers a GET of the SSE endpoint with status 200",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-sse-endpoint"},
			Idle:  noStream,
			Hint:  openStream,
			// A client of event streams fails the connection at any other status (HTML
			// standard, section 9.2.3), so that such an endpoint is no SSE endpoint.
			Judge: func(j *check.J) {
				x := openingStream(j)
				switch {
				case x == nil:
				case x.Status() != http.StatusOK:
					j.Fail(*x.Head, "the GET of the stream was answered with status %d", x.Status())
				default:
					j.Saw()
				}
			},
		},
		{
			ID:    "http-sse.stream.type",
			Says:  "the server opens the stream of a session with media type text/event-stream",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-content-type"},
			Idle:  noStream,
			Hint:  openStream,
			Judge: func(j *check.J) {
				x := openingStream(j)
				switch {
				case x == nil:
				case !x.IsEventStream():
					j.Fail(*x.Head, "the media type of the stream is %q", x.Header().Get("Content-Type"))
				default:
					j.Saw()
				}
			},
		},
		{
			ID:    "http-sse.endpoint.first",
			Says:  "the server sends an endpoint event before any message",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-endpoint-event"},
			Idle:  noEndpointEvent,
			Hint:  openStream,
			Judge: func(j *check.J) {
				for _, f := range openingFrames(j) {
					switch {
					case isEndpointEvent(f):
						j.Saw()
						return
					case !f.IsTransportOnly():
						j.Fail(f, "a message came before the endpoint event: %s", f.Message.Summary())
						return
					}
				}
			},
		},
		{
			ID:    "http-sse.endpoint.uri",
			Says:  "the data of the endpoint event is a URI",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-endpoint-uri"},
			Idle:  noEndpointEvent,
			Hint:  openStream,
			// A relative reference is a URI reference too (RFC 3986, section 4.1). Whether
			// messages posted there reach the session is judged by http-sse.post.taken.
			Judge: func(j *check.J) {
				check.Each(j, openingFrames(j), func(f wire.Entry) bool {
					if !isEndpointEvent(f) {
						return false
					}
					text := f.HTTP.Body
					if !format.UriScheme.MatchString(text) {
						text = "http:" + text
					}
					if why := format.URIProblem(text); why != "" || f.HTTP.Body == "" {
						j.Fail(f, "the endpoint event has %q, which is no URI: it %s", wire.Clip(f.HTTP.Body, 120),
							why)
					}
					return true
				})
			},
		},
		{
			ID:    "http-sse.message.event",
			Says:  "the server sends each message as the data of an event of type message",
			Level: spec.Should,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-message-events"},
			Idle:  "no message came on the stream of a session",
			Hint:  "send the answers of a session on its stream",
			// Messages are also looked for in events of other types, in lines that are no
			// field, and in the answers to POSTs.
			Judge: func(j *check.J) {
				check.Each(j, openingFrames(j), func(f wire.Entry) bool {
					judgeMessageLines(j, f)
					return judgeMessageEvent(j, f)
				})
				for _, x := range j.Exchanges() {
					if len(x.PostedMessages()) > 0 && x.Head != nil && x.Status() < 300 && isMessage(x.Head.HTTP.Body) {
						j.Fail(*x.Head, "a POST was answered with a message itself: %s",
							wire.Clip(x.Head.HTTP.Body, 80))
					}
				}
			},
		},
	}
}

// openingStream returns the exchange whose stream the session was opened with; nil if
// it was not opened with one.
func openingStream(j *check.J) *wire.Exchange {
	all := j.Exchanges()
	if len(all) == 0 || all[0].Method() != http.MethodGet || all[0].Head == nil {
		return nil
	}
	return all[0]
}

// openingFrames returns the frames of the stream that the session was opened with.
func openingFrames(j *check.J) []wire.Entry {
	if x := openingStream(j); x != nil {
		return x.Body
	}
	return nil
}

// judgeMessageEvent judges an event that is or holds a message, and reports whether
// it keeps the rule. Invalid UTF-8 has a rule of its own, and JSON that is no message
// is judged with the messages.
func judgeMessageEvent(j *check.J, f wire.Entry) bool {
	switch {
	case f.HTTP.Event == nil || f.Truncated:
	case !f.IsTransportOnly() && f.Message.SyntaxError == nil:
		return true
	case !f.IsTransportOnly() && !f.Message.SyntaxError.NotUTF8:
		j.Fail(f, "the data of a message event is no message: %v", f.Message.SyntaxError)
	case isMessage(f.HTTP.Body):
		j.Fail(f, "a message is the data of an event of type %q: %s", f.HTTP.Event.Type, wire.Clip(f.HTTP.Body, 80))
	}
	return false
}

// judgeMessageLines judges that no line of an event that is no field is a message.
func judgeMessageLines(j *check.J, f wire.Entry) {
	if f.HTTP.Event == nil {
		return
	}
	for _, line := range f.HTTP.Event.IgnoredLines {
		if isMessage(line) {
			j.Fail(f, "a message is a line that is no field of an event: %s", wire.Clip(line, 80))
		}
	}
}

// isEndpointEvent reports whether a frame is an event with the URI that messages are
// posted to.
func isEndpointEvent(f wire.Entry) bool {
	return f.HTTP.Event != nil && f.HTTP.Event.Type == "endpoint" && !f.HTTP.Event.Unterminated && !f.HTTP.Event.NoData
}

// isMessage reports whether a text is what a client might take for a message.
func isMessage(text string) bool {
	return strings.HasPrefix(text, "{") && gjson.Valid(text) && gjson.Get(text, "jsonrpc").Exists()
}
