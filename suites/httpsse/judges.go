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

// The reasons why several judges are not observed.
const (
	noStream        = "the session was not opened with the stream of a GET"
	noEndpointEvent = "no stream of a session has an endpoint event"
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
			// A client of event streams fails the connection at any other status (HTML
			// standard, section 9.2.3), so that such an endpoint is no SSE endpoint.
			Judge: func(j *check.J) {
				h := openingStream(j)
				switch {
				case h == nil:
				case h.Head.HTTP.Status != http.StatusOK:
					j.FailAt(*h.Head, "the GET of the stream was answered with status %d", h.Head.HTTP.Status)
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
			Judge: func(j *check.J) {
				h := openingStream(j)
				switch {
				case h == nil:
				case !h.Head.HTTP.IsEventStream():
					j.FailAt(*h.Head, "the media type of the stream is %q",
						http.Header(h.Head.HTTP.Header).Get("Content-Type"))
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
			Judge: func(j *check.J) {
				for _, m := range openingMoments(j) {
					switch {
					case isEndpointEvent(m):
						j.Saw()
						return
					case !m.IsTransportOnly():
						j.FailAt(m, "a message came before the endpoint event: %s", m.Message.Summary())
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
			// A relative reference is a URI reference too (RFC 3986, section 4.1). Whether
			// messages posted there reach the session is judged by http-sse.post.taken.
			Judge: func(j *check.J) {
				check.Each(j, openingMoments(j), func(m check.Moment) bool {
					if !isEndpointEvent(m) {
						return false
					}
					text := m.HTTP.Body
					if !format.UriScheme.MatchString(text) {
						text = "http:" + text
					}
					if why := format.URIProblem(text); why != "" || m.HTTP.Body == "" {
						j.FailAt(m, "the endpoint event has %q, which is no URI: it %s", wire.Clip(m.HTTP.Body, 120),
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
			// Messages are also looked for in events of other types, in lines that are no
			// field, and in the answers to POSTs.
			Judge: func(j *check.J) {
				check.Each(j, openingMoments(j), func(m check.Moment) bool {
					judgeMessageLines(j, m)
					return judgeMessageEvent(j, m)
				})
				for _, x := range j.Exchanges() {
					if len(x.Posted()) > 0 && x.Head != nil && x.Head.HTTP.Status < 300 && isMessage(x.Head.HTTP.Body) {
						j.FailAt(*x.Head, "a POST was answered with a message itself: %s",
							wire.Clip(x.Head.HTTP.Body, 80))
					}
				}
			},
		},
	}
}

// openingStream returns the exchange whose stream the session was opened with; nil if
// it was not opened with one.
func openingStream(j *check.J) *check.Heard {
	all := j.Exchanges()
	if len(all) == 0 || all[0].Begun.HTTP.Method != http.MethodGet || all[0].Head == nil {
		return nil
	}
	return all[0]
}

// openingMoments returns the frames of the stream that the session was opened with.
func openingMoments(j *check.J) []check.Moment {
	if h := openingStream(j); h != nil {
		return h.Came
	}
	return nil
}

// judgeMessageEvent judges an event that is or holds a message, and reports whether
// it keeps the rule. Invalid UTF-8 has a rule of its own, and JSON that is no message
// is judged with the messages.
func judgeMessageEvent(j *check.J, m check.Moment) bool {
	switch {
	case m.HTTP.Event == nil || m.Truncated:
	case !m.IsTransportOnly() && m.Message.SyntaxError == nil:
		return true
	case !m.IsTransportOnly() && !m.Message.SyntaxError.NotUTF8:
		j.FailAt(m, "the data of a message event is no message: %v", m.Message.SyntaxError)
	case isMessage(m.HTTP.Body):
		j.FailAt(m, "a message is the data of an event of type %q: %s", m.HTTP.Event.Type, wire.Clip(m.HTTP.Body, 80))
	}
	return false
}

// judgeMessageLines judges that no line of an event that is no field is a message.
func judgeMessageLines(j *check.J, m check.Moment) {
	if m.HTTP.Event == nil {
		return
	}
	for _, line := range m.HTTP.Event.IgnoredLines {
		if isMessage(line) {
			j.FailAt(m, "a message is a line that is no field of an event: %s", wire.Clip(line, 80))
		}
	}
}

// isEndpointEvent reports whether a frame is an event with the URI that messages are
// posted to.
func isEndpointEvent(m check.Moment) bool {
	return m.HTTP.Event != nil && m.HTTP.Event.Type == "endpoint" && !m.HTTP.Event.Unterminated && !m.HTTP.Event.NoData
}

// isMessage reports whether a text is what a client might take for a message.
func isMessage(text string) bool {
	return strings.HasPrefix(text, "{") && gjson.Valid(text) && gjson.Get(text, "jsonrpc").Exists()
}
