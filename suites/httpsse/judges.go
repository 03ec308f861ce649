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

// judges are the judges of basic/transports#http-with-sse of 2024-11-05, by the
// stream that the session was opened with.
func judges() []check.Check {
	only := spec.Only(spec.V2024_11_05)
	return []check.Check{
		{
			ID:    "http-sse.stream.opened",
			Says:  "a GET of the SSE endpoint is answered with status 200, without which no client of event streams goes on",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-sse-endpoint"},
			// streamOpened: the standard of event streams has a client fail the connection
			// at any other status (HTML, section 9.2.3), so that it is no SSE endpoint.
			Judge: func(j *check.J) {
				h := standing(j)
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
			Says:  "the stream of a session is of media type text/event-stream",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-content-type"},
			Judge: func(j *check.J) {
				h := standing(j)
				switch {
				case h == nil:
				case !h.Head.HTTP.Streams():
					j.FailAt(*h.Head, "the stream is declared as %q", http.Header(h.Head.HTTP.Header).Get("Content-Type"))
				default:
					j.Saw()
				}
			},
		},
		{
			ID:    "http-sse.endpoint.first",
			Says:  "an endpoint event comes before any message",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-endpoint-event"},
			Judge: func(j *check.J) {
				h := standing(j)
				if h == nil {
					return
				}
				for _, m := range h.Came {
					switch {
					case namesEndpoint(m):
						j.Saw()
						return
					case !m.Wordless():
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
			// endpointURI looks at the text; that what is posted there reaches the session
			// has a check of its own. A relative reference is one as well (RFC 3986, section
			// 4.1).
			Judge: func(j *check.J) {
				h := standing(j)
				if h == nil {
					return
				}
				for _, m := range h.Came {
					if !namesEndpoint(m) {
						continue
					}
					text := m.HTTP.Body
					if !format.UriScheme.MatchString(text) {
						text = "http:" + text
					}
					if why := format.URIProblem(text); why != "" || m.HTTP.Body == "" {
						j.FailAt(m, "the endpoint event names %q, which is no URI: it %s", wire.Clip(m.HTTP.Body, 120), why)
						return
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "http-sse.message.event",
			Says:  "each message of the server is the data of an event of type message",
			Level: spec.Should,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-message-events"},
			// messageEvents looks for messages elsewhere: in events of another type, in lines
			// that are no field, in the answers to POSTs. What is no UTF-8 has a rule of its
			// own, and JSON that is no message is judged with the messages.
			Judge: func(j *check.J) {
				h := standing(j)
				if h == nil {
					return
				}
				for _, m := range h.Came {
					switch {
					case m.HTTP.Event == nil || m.Cut:
					case !m.Wordless() && m.Message.Fault == nil:
						j.Saw()
					case !m.Wordless() && !m.Message.Fault.Encoding:
						j.FailAt(m, "the data of a message event is no message: %v", m.Message.Fault)
					case isMessage(m.HTTP.Body):
						j.FailAt(m, "a message is the data of an event of type %q: %s", m.HTTP.Event.Type, wire.Clip(m.HTTP.Body, 80))
					}
					if m.HTTP.Event == nil {
						continue
					}
					for _, line := range m.HTTP.Event.Odd {
						if isMessage(line) {
							j.FailAt(m, "a message stands in a line that is no field of an event: %s", wire.Clip(line, 80))
						}
					}
				}
				for _, x := range j.Exchanges() {
					if len(x.Posted()) > 0 && x.Head != nil && x.Head.HTTP.Status < 300 && isMessage(x.Head.HTTP.Body) {
						j.FailAt(*x.Head, "a POST is answered with a message itself: %s", wire.Clip(x.Head.HTTP.Body, 80))
					}
				}
			},
		},
	}
}

// standing returns the exchange of the stream that the session was opened with;
// nil if it was not opened with one.
func standing(j *check.J) *check.Heard {
	all := j.Exchanges()
	if len(all) == 0 || all[0].Begun.HTTP.Method != http.MethodGet || all[0].Head == nil {
		return nil
	}
	return all[0]
}

// namesEndpoint tells whether an event is one that says where messages are
// posted.
func namesEndpoint(m check.Moment) bool {
	return m.HTTP.Event != nil && m.HTTP.Event.Type == "endpoint" && !m.HTTP.Event.Lost && !m.HTTP.Event.NoData
}

// isMessage tells whether a text is what a client might take for a message.
func isMessage(text string) bool {
	return strings.HasPrefix(text, "{") && gjson.Valid(text) && gjson.Get(text, "jsonrpc").Exists()
}
