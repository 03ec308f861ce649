package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// HTTP is what a frame was on the transports of HTTP, beside its message. A
// frame may have it and no message: the head of an answer, a GET or DELETE, the
// end of a stream, an event without data.
type HTTP struct {
	Exchange int `json:"exchange"` // the request and its answer that it belongs to, from 1
	// Conn names the connection of a request, where a server recorded it: what came
	// over one was sent in that order.
	Conn   string `json:"conn,omitempty"`
	Method string `json:"method,omitempty"`
	URL    string `json:"url,omitempty"`
	// Status is of the head of an answer, Header of a request or of such a head.
	Status int                 `json:"status,omitempty"`
	Header map[string][]string `json:"header,omitempty"`
	Body   string              `json:"body,omitempty"`  // of an answer whose body is no message
	Event  *Event              `json:"event,omitempty"` // that carried the message, or carried none
	End    string              `json:"end,omitempty"`   // why nothing more came in the exchange
	Last   bool                `json:"last,omitempty"`  // nothing more can come: no answer did, or none takes the stream up again
}

// EndedByPeer is the end of an exchange that the peer brought to its end properly.
const EndedByPeer = "the stream ended"

// Streams tells whether the head declares an event stream.
func (h *HTTP) Streams() bool {
	for key, values := range h.Header {
		if strings.EqualFold(key, "Content-Type") && len(values) > 0 {
			kind, _, _ := strings.Cut(values[0], ";")
			return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
		}
	}
	return false
}

// Refuses tells whether the frame has a failure status: of the peer that could
// not accept what was sent, whatever else it says.
func (f Frame) Refuses() bool { return f.HTTP != nil && f.HTTP.Status >= 400 }

// An Event is what an event of a stream had beside its data.
type Event struct {
	Type     string   `json:"type,omitempty"`
	ID       *string  `json:"id,omitempty"`
	Retry    string   `json:"retry,omitempty"`
	Comments []string `json:"comments,omitempty"`
	Odd      []string `json:"odd,omitempty"`    // lines that a reader of the format passes over
	Lost     bool     `json:"lost,omitempty"`   // cut off by the end of the stream: a client throws it away
	NoData   bool     `json:"noData,omitempty"` // it had no data field at all
}

// Wordless tells whether the frame carries no message: it belongs to the
// transport alone.
func (f Frame) Wordless() bool { return f.HTTP != nil && f.Raw == nil }

// Beside tells whether two frames came over one connection, in an order that
// means something: over HTTP, in the same exchange.
func (f Frame) Beside(g Frame) bool {
	return f.HTTP == nil || g.HTTP == nil || f.HTTP.Exchange == g.HTTP.Exchange
}

// word returns the message of the frame, the zero one where it has none.
func (f Frame) word() Message {
	if f.Wordless() {
		return Message{}
	}
	return f.Message()
}

// secret are the header fields whose values grant access.
var secret = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie"}

// schemes are the authentication schemes that a report may show. Another first
// word may be part of the secret, as it is in a cookie.
var schemes = []string{"Basic", "Bearer", "Digest", "DPoP", "Negotiate"}

// Masked returns header fields as a report may show them: those that grant
// access without their value, but with the scheme if it is a known one.
func Masked(header map[string][]string) map[string][]string {
	out := maps.Clone(header)
	for key, values := range out {
		if !slices.ContainsFunc(secret, func(s string) bool { return strings.EqualFold(s, key) }) {
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
		panic(fmt.Sprintf("wire: an exchange cannot be encoded: %v", err)) // strings and numbers only
	}
	return append(b, text...)
}
