package check

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"

	"github.com/tidwall/gjson"
)

// J is the handle of a judge: the transcript of one session, read only. The first
// violation decides, and further ones are noted. Saw counts the evidence without which
// a check does not pass.
type J struct {
	Rev   spec.Revision
	Facts spec.Facts
	Of    wire.Role // the judged side

	*View
	saw int
	out *Outcome
}

// A View is one transcript prepared for several judges. They share what is derived from
// it and must not change it.
type View struct {
	rev        spec.Revision
	facts      spec.Facts
	entries    []wire.Entry // the frames with a message
	ending     *wire.Ending
	transcript *wire.Transcript
	byRole     map[wire.Role][]wire.Entry // filled on demand
	derived    map[derivedKey]any
	userAt     func(frame int) string // who sent what the frame belongs to; nil if that is not known
}

// A derivedKey names what is derived from a transcript for the judges of a role.
type derivedKey struct {
	of   wire.Role
	name string
}

// NewView prepares a transcript for judges of a revision.
func NewView(rev spec.Revision, t *wire.Transcript) *View {
	return &View{
		rev: rev, facts: rev.Facts(), entries: t.Entries(), ending: t.Ending(), transcript: t,
		byRole: map[wire.Role][]wire.Entry{}, derived: map[derivedKey]any{},
	}
}

// ViewOf prepares the transcript of a session for judges.
func ViewOf(s *session.Session) *View {
	v := NewView(s.Rev, s.Transcript)
	v.userAt = s.UserAt
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

// Sent returns the messages of the judged side, elements of batches one by one, each
// with its frame. It leaves out truncated frames, whose content is not known. Judges
// must not change what they are given: others are given the same.
func (j *J) Sent() []wire.Entry { return j.messagesOf(j.Of) }

// Received returns the messages that the judged side received.
func (j *J) Received() []wire.Entry { return j.messagesOf(j.Of.Peer()) }

// messagesOf returns the messages of one role.
func (v *View) messagesOf(who wire.Role) []wire.Entry {
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

// Derived returns what compute returned when a judge of the same role first called it
// with the name. What many judges need is thus computed once; it must not be changed.
func Derived[V any](j *J, name string, compute func() V) V {
	return derivedFor(j.View, j.Of, name, compute)
}

// derivedFor is Derived for a role.
func derivedFor[V any](v *View, of wire.Role, name string, compute func() V) V {
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

// AnswerTimeout returns how long answers of the judged side were awaited; 10 seconds if
// the recording does not say.
func (j *J) AnswerTimeout() time.Duration {
	if j.transcript.AnswerTimeout > 0 {
		return j.transcript.AnswerTimeout
	}
	return 10 * time.Second
}

// Saw counts one subject that kept the rule.
func (j *J) Saw() { j.saw++ }

// Fail reports that a frame breaks the rule. The first call decides; what further calls
// report is noted.
func (j *J) Fail(e wire.Entry, format string, args ...any) {
	if j.out.State == Violated {
		j.out.noteFurther(fmt.Sprintf(format, args...))
		return
	}
	j.out.State = Violated
	j.out.Detail = fmt.Sprintf(format, args...)
	if !e.IsTransportOnly() {
		j.out.Got = e.Message.Summary()
	}
	j.out.Frames = excerpt(j.transcript, max(0, e.Index-framesBefore), e.Index)
	if j.userAt != nil {
		at := e.Index
		if request, ok := j.RequestOf(e); ok {
			at = request.Index
		}
		j.out.SentBy = j.userAt(at)
	}
}

// FailSession reports that the session as a whole breaks the rule.
func (j *J) FailSession(format string, args ...any) {
	if j.out.State == Violated {
		return
	}
	j.out.State = Violated
	j.out.Detail = fmt.Sprintf(format, args...)
	j.out.Frames = excerpt(j.transcript, -1, -1)
}

// Note adds what no clause states but a reader of the report needs.
func (j *J) Note(format string, args ...any) {
	j.out.Notes = append(j.out.Notes, fmt.Sprintf(format, args...))
}

// Capabilities returns what a role declared in the opening of the session: the server
// in its answer to initialize or server/discover, the client in its first request.
func (j *J) Capabilities(of wire.Role) gjson.Result {
	return derivedFor(j.View, of, "declared capabilities", func() gjson.Result { return j.capabilities(of) })
}

func (j *J) capabilities(of wire.Role) gjson.Result {
	for _, e := range j.messagesOf(of) {
		m := e.Message
		switch {
		case of == wire.Server && m.Kind == wire.Result &&
			(m.Result().Get("protocolVersion").Exists() || m.Result().Get("supportedVersions").Exists()):
			return m.Result().Get("capabilities")
		case of == wire.Client && m.Kind == wire.Request && m.Method() == "initialize":
			return m.Params().Get("capabilities")
		case of == wire.Client && m.Kind == wire.Request && j.Facts.Stateless:
			return wire.Member(m.Params().Get("_meta"), spec.MetaClientCapabilities)
		}
	}
	return gjson.Result{}
}

// Declares reports whether a role declared a capability.
func (j *J) Declares(of wire.Role, capability string) bool {
	return session.Declares(j.Capabilities(of), capability)
}

// RequestOf returns the request that a response answers: the message with its id before
// it, from the other side. ok is false if that is not known: no message had the id,
// several had it (also invalid JSON that the peer may have read), or a member of the
// request is a duplicate, of which either may count.
func (j *J) RequestOf(response wire.Entry) (request wire.Entry, ok bool) {
	type answer struct {
		index int
		id    string
	}
	type asked struct {
		request wire.Entry
		ok      bool
	}
	found := derivedFor(j.View, response.From, "answered requests", func() map[answer]asked {
		return map[answer]asked{}
	})
	key := answer{response.Index, response.Message.ID().Raw}
	a, known := found[key]
	if !known {
		a.request, a.ok = j.findRequestOf(response)
		found[key] = a
	}
	return a.request, a.ok
}

// findRequestOf is RequestOf without the memory of what was found before.
func (j *J) findRequestOf(response wire.Entry) (request wire.Entry, ok bool) {
	asked := j.requestsBefore(response)
	if len(asked) != 1 || len(j.Entry(asked[0].Index).Message.DuplicateKeys) > 0 || j.MatchesInvalidJSON(response) {
		return wire.Entry{}, false
	}
	return asked[0], true
}

// MatchesInvalidJSON reports whether invalid JSON from the other side, before a
// response, seems to have its id.
func (j *J) MatchesInvalidJSON(response wire.Entry) bool {
	side := response.From.Peer()
	broken := derivedFor(j.View, side, "invalid JSON", func() (out []wire.Entry) {
		for _, e := range j.entries {
			if e.From == side && e.Message.SyntaxError != nil {
				out = append(out, e)
			}
		}
		return out
	})
	return slices.ContainsFunc(broken, func(e wire.Entry) bool {
		return e.Index < response.Index && mayHoldID(e.Raw, response.Message.ID().Raw)
	})
}

// mayHoldID reports whether bytes contain a member id with a value.
func mayHoldID(raw []byte, id string) bool {
	for {
		_, rest, found := bytes.Cut(raw, []byte(`"id"`))
		if !found || id == "" {
			return false
		}
		raw = rest
		value, found := bytes.CutPrefix(bytes.TrimLeft(bytes.TrimLeft(rest, " \t\r\n"), ": \t\r\n"), []byte(id))
		if found && (len(value) == 0 || !strings.ContainsRune("0123456789.eE", rune(value[0]))) {
			return true
		}
	}
}

// HasRequest reports whether any message from the other side, before a response, had
// its id.
func (j *J) HasRequest(response wire.Entry) bool { return len(j.requestsBefore(response)) > 0 }

// requestsBefore returns the messages from the other side, before a response, that had
// its id.
func (j *J) requestsBefore(response wire.Entry) []wire.Entry {
	side := response.From.Peer()
	byID := derivedFor(j.View, side, "requests by id", func() map[string][]wire.Entry {
		out := map[string][]wire.Entry{}
		for _, e := range j.messagesOf(side) {
			if e.Message.IsResponse() {
				continue
			}
			// Either of two duplicate ids may count.
			e.Message.Value().ForEach(func(k, v gjson.Result) bool {
				if k.String() == "id" {
					key := wire.ID{Raw: v.Raw}.Key()
					out[key] = append(out[key], e)
				}
				return true
			})
		}
		return out
	})
	all := byID[response.Message.ID().Key()]
	n := slices.IndexFunc(all, func(e wire.Entry) bool { return e.Index >= response.Index })
	if n < 0 {
		n = len(all)
	}
	return all[:n:n]
}

// HasUnreadableBefore reports whether the judged side received, before a frame,
// anything whose id could not be read: invalid JSON, no request, a batch, or an invalid
// id.
func (j *J) HasUnreadableBefore(before wire.Entry) bool {
	first := Derived(j, "first unreadable", func() int {
		return slices.IndexFunc(j.entries, func(e wire.Entry) bool {
			return e.From != j.Of && !e.Message.IsIdentifiable()
		})
	})
	return first >= 0 && first < before.Index
}
