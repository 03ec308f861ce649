// Package view prepares the transcript of a session for judges. It finds messages by
// role, exchanges, and the request that a response answers, and asserts nothing.
package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A View is one transcript prepared for several judges. They share what is derived from
// it and must not change it.
type View struct {
	Rev   spec.Revision
	Facts spec.Facts
	// UserAt returns who sent what a frame belongs to; nil if that is not known.
	UserAt func(frame int) string

	entries    []wire.Entry // the frames with a message
	ending     *wire.Ending
	transcript *wire.Transcript
	byRole     map[wire.Role][]wire.Entry // filled on demand
	derived    map[derivedKey]any
}

// A derivedKey names what is derived from a transcript for the judges of a role.
type derivedKey struct {
	of   wire.Role
	name string
}

// New prepares a transcript for judges of a revision.
func New(rev spec.Revision, t *wire.Transcript) *View {
	return &View{
		Rev: rev, Facts: rev.Facts(), entries: t.Entries(), ending: t.Ending(), transcript: t,
		byRole: map[wire.Role][]wire.Entry{}, derived: map[derivedKey]any{},
	}
}

// Of prepares the transcript of a session for judges.
func Of(s *session.Session) *View {
	v := New(s.Rev, s.Transcript)
	v.UserAt = s.UserAt
	return v
}

// Entries returns all frames with a message.
func (v *View) Entries() []wire.Entry { return v.entries }

// EntriesBefore returns the frames with a message before one of them.
func (v *View) EntriesBefore(e wire.Entry) []wire.Entry { return v.entries[:v.position(e.Index)] }

// Entry returns the frame with a message at an index of the transcript.
func (v *View) Entry(index int) wire.Entry { return v.entries[v.position(index)] }

// position returns the number of frames with a message before an index.
func (v *View) position(index int) int {
	at, _ := slices.BinarySearchFunc(v.entries, index, func(e wire.Entry, index int) int {
		return cmp.Compare(e.Index, index)
	})
	return at
}

// Frames returns all frames, also those without a message.
func (v *View) Frames() []wire.Frame { return v.transcript.Frames(0) }

// MaxTransit is how long a message may be in transit on one connection while another
// arrives on a second.
const MaxTransit = time.Second

// Follows reports whether one message was certainly sent after another was sent or
// received. Over HTTP the recorded order shows that only for messages of one exchange,
// in an exchange that began after the other message, or if so much time passed that the
// other was no longer in transit. Messages of a resumed stream have no such order,
// because they may have waited for the resumption.
func (v *View) Follows(later, earlier wire.Entry) bool {
	x := v.ExchangeOf(later)
	switch {
	case later.Index <= earlier.Index:
		return false
	case later.SameExchange(earlier.Frame):
		return true
	case x != nil && x.RequestField("Last-Event-ID") != "":
		return false
	case later.At-earlier.At >= MaxTransit:
		return true
	}
	return x != nil && x.Request.Index > earlier.Index
}

// Exchanges returns the HTTP exchanges of the session in the order in which they
// began; none if the session is on stdio.
func (v *View) Exchanges() []*wire.Exchange {
	return Derived(v, "", "exchanges", v.transcript.Exchanges)
}

// ExchangeOf returns the HTTP exchange that a frame belongs to, or nil.
func (v *View) ExchangeOf(e wire.Entry) *wire.Exchange {
	if e.HTTP == nil {
		return nil
	}
	all := v.Exchanges()
	at, ok := slices.BinarySearchFunc(all, e.HTTP.Exchange, func(x *wire.Exchange, n int) int {
		return cmp.Compare(x.Number, n)
	})
	if !ok {
		return nil
	}
	return all[at]
}

// Messages returns the messages of one role, elements of batches one by one, each with
// its frame. It leaves out truncated frames, whose content is not known.
func (v *View) Messages(who wire.Role) []wire.Entry {
	if out, known := v.byRole[who]; known {
		return out
	}
	out := make([]wire.Entry, 0, len(v.entries)/2+1)
	for _, e := range v.entries {
		switch {
		case e.From != who || e.Truncated:
			continue
		case e.Message.Kind != wire.Batch:
			out = append(out, e)
			continue
		}
		for _, part := range e.Message.Elements() {
			one := e
			one.Message = part
			out = append(out, one)
		}
	}
	v.byRole[who] = slices.Clip(out) // an append to it copies
	return v.byRole[who]
}

// Derived returns what compute returned when it was first called for a role with the
// name. What many judges need is thus computed once; it must not be changed.
func Derived[V any](v *View, of wire.Role, name string, compute func() V) V {
	key := derivedKey{of, name}
	known, ok := v.derived[key]
	if !ok {
		known = compute()
		v.derived[key] = known
	}
	return known.(V)
}

// IsForeign reports whether a frame has a response to a request of another session.
func (v *View) IsForeign(e wire.Entry) bool { return v.transcript.IsForeign(e.Index) }

// Ending returns how the connection ended, or nil if it had not.
func (v *View) Ending() *wire.Ending { return v.ending }

// Transcript returns the whole transcript.
func (v *View) Transcript() *wire.Transcript { return v.transcript }

// Capabilities returns what a role declared in the opening of the session: the server
// in its answer to initialize or server/discover, the client in its first request.
func (v *View) Capabilities(of wire.Role) gjson.Result {
	return Derived(v, of, "declared capabilities", func() gjson.Result { return v.capabilities(of) })
}

func (v *View) capabilities(of wire.Role) gjson.Result {
	for _, e := range v.Messages(of) {
		m := e.Message
		switch {
		case of == wire.Server && m.Kind == wire.Result &&
			(m.Result().Get("protocolVersion").Exists() || m.Result().Get("supportedVersions").Exists()):
			return m.Result().Get("capabilities")
		case of == wire.Client && m.Kind == wire.Request && m.Method() == "initialize":
			return m.Params().Get("capabilities")
		case of == wire.Client && m.Kind == wire.Request && v.Facts.Stateless:
			return wire.Member(m.Params().Get("_meta"), spec.MetaClientCapabilities)
		}
	}
	return gjson.Result{}
}
