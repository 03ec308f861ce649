package check

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Moment is one frame of a transcript at its place among all of them, those of
// the transport included.
type Moment struct {
	At int
	wire.Frame
	Message wire.Message // the zero one where the frame carries none
}

// A Heard is one exchange of HTTP as a session recorded it.
type Heard struct {
	Number int
	Begun  Moment   // the request
	Head   *Moment  // of the answer; nil where none came
	Came   []Moment // what the answer held: its body, or the events of its stream
	End    *Moment  // that nothing more could come; nil where that was not seen
	Left   *Moment  // that the client closed it; nil where it did not
}

// Streams tells whether the answer is an event stream.
func (h *Heard) Streams() bool {
	return h.Head != nil && h.Head.HTTP.Status == http.StatusOK && h.Head.HTTP.IsEventStream()
}

// Field returns the first value of a header field of the request, "" for none.
func (h *Heard) Field(key string) string { return http.Header(h.Begun.HTTP.Header).Get(key) }

// Session returns the id of the session that the exchange is of: the request's,
// or the one that its answer gave; "" for none.
func (h *Heard) Session() string {
	if id := h.Field("Mcp-Session-Id"); id != "" || h.Head == nil {
		return id
	}
	return http.Header(h.Head.HTTP.Header).Get("Mcp-Session-Id")
}

// Posted returns the messages that were posted, those of batches one by one;
// none where it was no message of the session.
func (h *Heard) Posted() []wire.Message {
	if h.Begun.HTTP.Method != http.MethodPost || h.Begun.IsTransportOnly() {
		return nil
	}
	return h.Begun.Message.Elements()
}

// Open tells whether the answer was a stream that was being read at a frame of
// the transcript.
func (h *Heard) Open(at int) bool {
	return h.Streams() && h.Head.At < at && (h.End == nil || h.End.At > at) && (h.Left == nil || h.Left.At > at)
}

// Exchanges returns the exchanges of HTTP in the order in which they were begun;
// none where the session was on another transport.
func (v *View) Exchanges() []*Heard {
	const key = "exchanges"
	if known, ok := v.derived[key].([]*Heard); ok {
		return known
	}
	var out []*Heard
	by := map[int]*Heard{}
	for _, e := range v.transcript.AllEntriesFrom(0) {
		if e.HTTP == nil {
			continue
		}
		m := Moment{At: e.Index, Frame: e.Frame, Message: e.Message}
		h := by[e.HTTP.Exchange]
		switch {
		case h == nil && e.From == wire.Client:
			h = &Heard{Number: e.HTTP.Exchange, Begun: m}
			by[h.Number] = h
			out = append(out, h)
		case h == nil: // its beginning was not recorded
		case e.From == wire.Client:
			h.Left = &m
		default:
			h.heard(m)
		}
	}
	slices.SortFunc(out, func(a, b *Heard) int { return cmp.Compare(a.Number, b.Number) })
	v.derived[key] = out
	return out
}

func (h *Heard) heard(m Moment) {
	if m.HTTP.Status != 0 {
		h.Head = &m
	}
	if !m.IsTransportOnly() || m.HTTP.Event != nil {
		h.Came = append(h.Came, m)
	}
	if m.HTTP.EndReason != "" || m.HTTP.Status != 0 && !m.HTTP.IsEventStream() {
		h.End = &m
	}
}

// FrameOf returns the place of an entry among all frames, as those of Exchanges
// have it.
func (v *View) FrameOf(e wire.Entry) int { return v.frame[e.Index] }

// ExchangeOf returns the exchange of HTTP in which a message came or went, or nil.
func (v *View) ExchangeOf(e wire.Entry) *Heard {
	if e.HTTP == nil {
		return nil
	}
	all := v.Exchanges()
	at, ok := slices.BinarySearchFunc(all, e.HTTP.Exchange, func(h *Heard, n int) int {
		return cmp.Compare(h.Number, n)
	})
	if !ok {
		return nil
	}
	return all[at]
}

// FailAt says that a frame, of the transport or a message, breaks the rule, as
// Fail does.
func (j *J) FailAt(m Moment, format string, args ...any) {
	if j.out.State == Violated {
		j.out.noteFurther(fmt.Sprintf(format, args...))
		return
	}
	j.out.State = Violated
	j.out.Detail = fmt.Sprintf(format, args...)
	if !m.IsTransportOnly() {
		j.out.Got = m.Message.Summary()
	}
	j.out.Frames = excerpt(j.transcript, max(0, m.At-framesBefore), m.At)
}
