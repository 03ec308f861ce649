package check

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"

	"github.com/tidwall/gjson"
)

// J is the handle of a judge: the transcript of one session, read only. The
// first violation stands; Saw counts positive evidence, without which nothing
// passes.
type J struct {
	Rev   spec.Revision
	Facts spec.Facts
	Of    wire.Role // who is judged

	entries    []wire.Entry
	ending     *wire.Ending
	transcript *wire.Transcript
	saw        int
	out        *Outcome
}

// Entries returns all frames.
func (j *J) Entries() []wire.Entry { return j.entries }

// Sent returns the messages of the judged side, batches taken apart, each with
// the frame that it came in. A frame that was cut by us is left out: what it
// was is not known.
func (j *J) Sent() []wire.Entry { return j.from(j.Of) }

// Received returns the messages that the judged side was sent.
func (j *J) Received() []wire.Entry { return j.from(j.Of.Peer()) }

func (j *J) from(who wire.Role) []wire.Entry {
	var out []wire.Entry
	for _, e := range j.entries {
		if e.From != who || e.Cut {
			continue
		}
		for _, part := range e.Message.Elements() {
			one := e
			one.Message = part
			out = append(out, one)
		}
	}
	return out
}

// Derived returns what make made of the frames of the session when a judge of
// the same role and revision first asked for it under the key: what many judges
// look at is worked out once.
func Derived[V any](j *J, key string, make func() V) V {
	return j.transcript.Derived(fmt.Sprintf("%s of the %s at %s", key, j.Of, j.Rev), func() any { return make() }).(V)
}

// Ending returns how the connection ended, or nil if it had not.
func (j *J) Ending() *wire.Ending { return j.ending }

// Saw counts one subject of the rule that kept it.
func (j *J) Saw() { j.saw++ }

// Fail says that a frame breaks the rule. The first call counts.
func (j *J) Fail(e wire.Entry, format string, args ...any) {
	if j.out.State == Violated {
		return
	}
	j.out.State = Violated
	j.out.Detail = fmt.Sprintf(format, args...)
	j.out.Got = e.Message.Summary()
	j.out.Frames = excerpt(j.transcript, e.Index-framesBefore, e.Index)
}

// FailSession says that the session as a whole breaks the rule.
func (j *J) FailSession(format string, args ...any) {
	if j.out.State == Violated {
		return
	}
	j.out.State = Violated
	j.out.Detail = fmt.Sprintf(format, args...)
	j.out.Frames = excerpt(j.transcript, -1, -1)
}

// Note adds what no clause judges but a reader wants to know.
func (j *J) Note(format string, args ...any) {
	j.out.Notes = append(j.out.Notes, fmt.Sprintf(format, args...))
}

// Capabilities returns what a role declared in the opening of the session: the
// server in its answer to initialize or server/discover, the client in its
// first request.
func (j *J) Capabilities(of wire.Role) gjson.Result {
	for _, e := range j.entries {
		m := e.Message
		switch {
		case of == wire.Server && e.From == wire.Server && m.Kind == wire.Result && (m.Result().Get("protocolVersion").Exists() || m.Result().Get("supportedVersions").Exists()):
			return m.Result().Get("capabilities")
		case of == wire.Client && e.From == wire.Client && m.Kind == wire.Request && m.Method() == "initialize":
			return m.Params().Get("capabilities")
		case of == wire.Client && e.From == wire.Client && m.Kind == wire.Request && j.Facts.Stateless:
			return wire.Member(m.Params().Get("_meta"), spec.MetaClientCapabilities)
		}
	}
	return gjson.Result{}
}

// Declares tells whether a role declared a capability.
func (j *J) Declares(of wire.Role, capability string) bool {
	return session.Declares(j.Capabilities(of), capability)
}

// RequestOf returns the request that a response answers: the last message
// before it from the other side that has its id and is no response. It may be
// a malformed one.
func (j *J) RequestOf(response wire.Entry) (wire.Entry, bool) {
	id := response.Message.ID()
	for i := response.Index - 1; i >= 0; i-- {
		e := j.entries[i]
		if e.From == response.From {
			continue
		}
		for _, part := range e.Message.Elements() {
			if !part.IsResponse() && part.ID().Equal(id) {
				e.Message = part
				return e, true
			}
		}
	}
	return wire.Entry{}, false
}

// Unreadable tells whether the judged side was sent, before a frame, anything
// whose id could not be read: no JSON, no request, or an id that is none.
func (j *J) Unreadable(before wire.Entry) bool {
	return slices.ContainsFunc(j.entries[:before.Index], func(e wire.Entry) bool {
		return e.From != j.Of && !e.Message.Readable()
	})
}
