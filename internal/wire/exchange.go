package wire

import (
	"cmp"
	"net/http"
	"slices"
)

// An Exchange is one HTTP request and its answer, as frames show them.
type Exchange struct {
	Number         int
	Request        Entry
	Head           *Entry  // of the answer; nil if none was recorded
	Body           []Entry // frames of the answer with a body, or with an event of its stream
	End            *Entry  // the last frame of the answer; nil if it has not ended
	ClosedByClient *Entry  // that the client closed the exchange; nil if it did not
}

// NewExchange returns an exchange without an answer.
func NewExchange(request Entry) *Exchange {
	return &Exchange{Number: request.HTTP.Exchange, Request: request}
}

// Add adds a later frame of the exchange.
func (x *Exchange) Add(e Entry) {
	if e.From == Client {
		x.ClosedByClient = &e
		return
	}
	if e.HTTP.Status != 0 {
		x.Head = &e
	}
	if !e.IsTransportOnly() || e.HTTP.Event != nil || e.HTTP.Body != "" {
		x.Body = append(x.Body, e)
	}
	if e.HTTP.EndsExchange() {
		x.End = &e
	}
}

// Exchanges returns the HTTP exchanges of the transcript in the order of their
// numbers, which is the order in which they began. It leaves out an exchange whose
// request was not recorded.
func (t *Transcript) Exchanges() []*Exchange {
	var all []*Exchange
	byNumber := map[int]*Exchange{}
	for _, e := range t.AllEntriesFrom(0) {
		if e.HTTP == nil {
			continue
		}
		switch x := byNumber[e.HTTP.Exchange]; {
		case x != nil:
			x.Add(e)
		case e.From == Client:
			x = NewExchange(e)
			byNumber[x.Number] = x
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *Exchange) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// ExchangeFrom returns the exchange that the frame at an index began; nil if it began
// none.
func (t *Transcript) ExchangeFrom(index int) *Exchange {
	var x *Exchange
	for _, e := range t.AllEntriesFrom(max(index, 0)) {
		switch {
		case x == nil && (e.Index != index || e.HTTP == nil || e.From != Client):
			return nil
		case x == nil:
			x = NewExchange(e)
		case e.HTTP != nil && e.HTTP.Exchange == x.Number:
			x.Add(e)
		}
	}
	return x
}

// Status returns the HTTP status of the answer; 0 if there is none.
func (x *Exchange) Status() int {
	if x.Head == nil {
		return 0
	}
	return x.Head.HTTP.Status
}

// Header returns the header fields of the answer; nil if there is none.
func (x *Exchange) Header() http.Header {
	if x.Head == nil {
		return nil
	}
	return x.Head.HTTP.Header
}

// MediaType returns the media type of the answer without parameters, in lower case;
// "" if it names none.
func (x *Exchange) MediaType() string { return MediaType(x.Header()) }

// IsEventStream reports whether the answer declares its body as an event stream.
func (x *Exchange) IsEventStream() bool { return IsEventStream(x.Header()) }

// OpensStream reports whether the answer opens an event stream: it has status 200 and
// the media type of one.
func (x *Exchange) OpensStream() bool { return x.Status() == http.StatusOK && x.IsEventStream() }

// RequestField returns the first value of a header field of the request; "" for none.
func (x *Exchange) RequestField(key string) string { return x.Request.HTTP.Header.Get(key) }

// Method returns the HTTP method of the request.
func (x *Exchange) Method() string { return x.Request.HTTP.Method }

// SessionID returns the id of the session of the exchange: that of the request, or the
// one that the answer gave; "" for none.
func (x *Exchange) SessionID() string {
	const field = "Mcp-Session-Id"
	if id := x.RequestField(field); id != "" {
		return id
	}
	return x.Header().Get(field)
}

// PostedMessages returns the messages that the request posts, those of a batch one by
// one; nil if it posts no message of the session.
func (x *Exchange) PostedMessages() []Message {
	if x.Method() != http.MethodPost || x.Request.IsTransportOnly() {
		return nil
	}
	return x.Request.Message.Elements()
}

// Events returns the frames of the answer that are events.
func (x *Exchange) Events() []Entry {
	var events []Entry
	for _, e := range x.Body {
		if e.HTTP.Event != nil {
			events = append(events, e)
		}
	}
	return events
}

// Messages returns the messages of the answer, those of a batch one by one.
func (x *Exchange) Messages() []Message {
	var all []Message
	for _, e := range x.Body {
		if !e.IsTransportOnly() && (e.HTTP.Event == nil || e.IsMessageEvent()) {
			all = append(all, e.Message.Elements()...)
		}
	}
	return all
}

// PlainBody returns the body of an answer that is no event stream, once it has ended.
func (x *Exchange) PlainBody() []byte {
	if x.Head == nil || x.IsEventStream() {
		return nil
	}
	return x.Head.Data()
}

// HasEnded reports whether nothing more of the answer can come.
func (x *Exchange) HasEnded() bool { return x.End != nil }

// IsOpenAt reports whether the client was reading the event stream of the answer at a
// frame of the transcript.
func (x *Exchange) IsOpenAt(frame int) bool {
	return x.Head != nil && x.Head.Index < frame && (x.End == nil || x.End.Index > frame) &&
		(x.ClosedByClient == nil || x.ClosedByClient.Index > frame) && x.OpensStream()
}

// IsClosedBefore reports whether the client closed the exchange before a frame of the
// transcript.
func (x *Exchange) IsClosedBefore(frame int) bool {
	return x.ClosedByClient != nil && x.ClosedByClient.Index < frame
}
