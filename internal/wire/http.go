package wire

import (
	"encoding/json"
	"fmt"
	"maps"
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
	Status    int                 `json:"status,omitempty"`
	Header    map[string][]string `json:"header,omitempty"`
	Body      string              `json:"body,omitempty"`  // of a request or an answer whose body is no message
	Event     *Event              `json:"event,omitempty"` // the event of a stream
	EndReason string              `json:"end,omitempty"`   // why the exchange ended; "" while it goes on
	Final     bool                `json:"last,omitempty"`  // no answer came, and no other stream will continue this one
}

// EndedByPeer is the reason of an exchange that the peer ended properly.
const EndedByPeer = "the stream ended"

// IsEventStream reports whether the head declares an event stream.
func (h *HTTP) IsEventStream() bool {
	for key, values := range h.Header {
		if strings.EqualFold(key, "Content-Type") && len(values) > 0 {
			kind, _, _ := strings.Cut(values[0], ";")
			return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
		}
	}
	return false
}

// HasFailureStatus reports whether the frame has an HTTP status of 400 or more: the
// peer did not accept the request, whatever message the frame carries.
func (f Frame) HasFailureStatus() bool { return f.HTTP != nil && f.HTTP.Status >= 400 }

// An Event holds the fields of an event of a stream except its data.
type Event struct {
	Type         string   `json:"type,omitempty"`
	ID           *string  `json:"id,omitempty"`
	Retry        string   `json:"retry,omitempty"`
	Comments     []string `json:"comments,omitempty"`
	IgnoredLines []string `json:"odd,omitempty"`    // lines that a reader of the format ignores
	Unterminated bool     `json:"lost,omitempty"`   // the stream ended within the event, so that a client discards it
	NoData       bool     `json:"noData,omitempty"` // the event has no data field
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
func Masked(header map[string][]string) map[string][]string {
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
