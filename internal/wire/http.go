package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// HTTP is the part of a frame that belongs to HTTP: the head of a request or of an
// answer, an event of a stream, the end of an exchange. The frame may carry a
// message besides. It carries none if it is the head of an answer, a GET or
// DELETE, the end of a stream or an event without data.
type HTTP struct {
	Exchange int `json:"exchange"` // number of the exchange that the frame belongs to, from 1
	// Conn names the connection of a request in the transcript of a server.
	// Requests over one connection were sent in the order of their frames.
	Conn   string `json:"conn,omitempty"`
	Method string `json:"method,omitempty"`
	URL    string `json:"url,omitempty"`
	// Status is the status of an answer; Header holds the fields of a request or of
	// an answer.
	Status    int         `json:"status,omitempty"`
	Header    http.Header `json:"header,omitempty"`
	Body      string      `json:"body,omitempty"`  // of a request, an answer or an event that has no message
	Event     *Event      `json:"event,omitempty"` // the event of a stream
	EndReason string      `json:"end,omitempty"`   // why the exchange ended; "" while it goes on
	Final     bool        `json:"last,omitempty"`  // no answer came, and no other stream will continue this one
}

// EndedByPeer is the reason of an exchange that the peer ended properly.
const EndedByPeer = "the stream ended"

// MediaType returns the media type of a body without parameters, in lower case; "" if
// the header fields name none.
func MediaType(header http.Header) string {
	for key, values := range header {
		if strings.EqualFold(key, "Content-Type") && len(values) > 0 {
			kind, _, _ := strings.Cut(values[0], ";")
			return strings.ToLower(strings.TrimSpace(kind))
		}
	}
	return ""
}

// IsEventStream reports whether header fields declare an event stream.
func IsEventStream(header http.Header) bool { return MediaType(header) == "text/event-stream" }

// IsEventStream reports whether the head declares an event stream.
func (h *HTTP) IsEventStream() bool { return IsEventStream(h.Header) }

// EndsExchange reports whether the frame of the server is the last of its exchange:
// the end of a stream, or an answer with its whole body.
func (h *HTTP) EndsExchange() bool { return h.EndReason != "" || h.Status != 0 && !h.IsEventStream() }

// HasFailureStatus reports whether the frame has an HTTP status of 400 or more: the
// peer did not accept the request, whatever message the frame carries.
func (f Frame) HasFailureStatus() bool { return f.HTTP != nil && f.HTTP.Status >= 400 }

// An Event is one block of an event stream as its sender wrote it (HTML, section 9.2,
// server-sent events), except its data, which the frame holds. It also keeps what a
// reader of the format ignores, since mcpcheck checks malformed streams: comments,
// lines that are no field, a retry that is no number, an id with a NUL, and a block
// that the stream does not complete.
type Event struct {
	Type         string   `json:"type,omitempty"`  // "" for none, which means message
	ID           *string  `json:"id,omitempty"`    // nil for none
	Retry        string   `json:"retry,omitempty"` // digits; "" for none
	Comments     []string `json:"comments,omitempty"`
	IgnoredLines []string `json:"odd,omitempty"` // lines with an unknown field name or an ignored value
	// Unterminated reports that the stream ended before the empty line that completes
	// the block. A client must discard such a block.
	Unterminated bool `json:"lost,omitempty"`
	NoData       bool `json:"noData,omitempty"` // the event has no data field
}

// IsDispatched reports whether a client handles the frame as an event: it has data and
// is complete.
func (f Frame) IsDispatched() bool {
	return f.HTTP != nil && f.HTTP.Event != nil && !f.HTTP.Event.NoData && !f.HTTP.Event.Unterminated
}

// IsMessageEvent reports whether the frame is an event whose data a client takes for a
// message: it has the default type, and its data is not empty.
func (f Frame) IsMessageEvent() bool {
	return f.IsDispatched() && len(f.Data()) > 0 && (f.HTTP.Event.Type == "" || f.HTTP.Event.Type == "message")
}

// EventID returns the id of an event that a client receives completely; "" for none.
func (f Frame) EventID() string {
	if f.HTTP == nil || f.HTTP.Event == nil || f.HTTP.Event.ID == nil || f.HTTP.Event.Unterminated {
		return ""
	}
	return *f.HTTP.Event.ID
}

// Data returns what the frame carries: its message, or the body of a request, of an
// answer or of an event that is recorded as text.
func (f Frame) Data() []byte {
	if f.IsTransportOnly() {
		return []byte(f.HTTP.Body)
	}
	return f.Raw
}

// LineOverhead is the memory of a line of an event that is kept, besides its text.
const LineOverhead = 16

// Size returns the number of bytes that are kept of the frame and its HTTP part.
func (f Frame) Size() int {
	n := len(f.Raw)
	h := f.HTTP
	if h == nil {
		return n
	}
	for key, values := range h.Header {
		n += len(key)
		for _, v := range values {
			n += len(v)
		}
	}
	n += len(h.Body) + len(h.EndReason)
	if h.Event == nil {
		return n
	}
	for _, lines := range [][]string{h.Event.Comments, h.Event.IgnoredLines} {
		for _, line := range lines {
			n += LineOverhead + len(line)
		}
	}
	if n += len(h.Event.Type) + len(h.Event.Retry); h.Event.ID != nil {
		n += len(*h.Event.ID)
	}
	return n
}

// IsTransportOnly reports whether the frame belongs to HTTP alone and carries no
// message.
func (f Frame) IsTransportOnly() bool { return f.HTTP != nil && f.Raw == nil }

// SameExchange reports whether the order of two frames is the order of their sending:
// always on stdio, over HTTP if they belong to the same exchange.
func (f Frame) SameExchange(g Frame) bool {
	return f.HTTP == nil || g.HTTP == nil || f.HTTP.Exchange == g.HTTP.Exchange
}

// parsedMessage returns the message of the frame, or the zero Message if it
// carries none.
func (f Frame) parsedMessage() Message {
	if f.IsTransportOnly() {
		return Message{}
	}
	return f.Message()
}

// secretHeaders are the header fields whose values grant access.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie"}

// schemes are the authentication schemes that a report may show. Another first
// word may be part of the secret, as it is in a cookie.
var schemes = []string{"Basic", "Bearer", "Digest", "DPoP", "Negotiate"}

// Masked returns header fields as a report may show them: those that grant
// access without their value, but with the scheme if it is a known one.
func Masked(header http.Header) http.Header {
	out := maps.Clone(header)
	for key, values := range out {
		if !slices.ContainsFunc(secretHeaders, func(s string) bool { return strings.EqualFold(s, key) }) {
			continue
		}
		hidden := make([]string, len(values))
		for i, v := range values {
			hidden[i] = "…"
			scheme, _, _ := strings.Cut(v, " ")
			if slices.ContainsFunc(schemes, func(s string) bool { return strings.EqualFold(s, scheme) }) {
				hidden[i] = scheme + " …"
			}
		}
		out[key] = hidden
	}
	return out
}

func (h *HTTP) appendJSON(b []byte) []byte {
	shown := *h
	shown.Header = Masked(h.Header)
	text, err := json.Marshal(shown)
	if err != nil {
		panic(fmt.Sprintf("wire: encode the HTTP part of a frame: %v", err)) // it holds strings and numbers only
	}
	return append(b, text...)
}
