package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// J is the handle of a judge: the transcript of one session, read only. The first
// violation decides, and further ones are noted. Saw counts the evidence without which
// a check does not pass.
type J struct {
	Of wire.Role // the judged side

	*view.View
	saw int
	out *Outcome
}

// Sent returns the messages of the judged side, elements of batches one by one, each
// with its frame. Judges must not change what they are given: others are given the same.
func (j *J) Sent() []wire.Entry { return j.Messages(j.Of) }

// Received returns the messages that the judged side received.
func (j *J) Received() []wire.Entry { return j.Messages(j.Of.Peer()) }

// Derived returns what compute returned when a judge of the same role first called it
// with the name. What many judges need is thus computed once; it must not be changed.
func Derived[V any](j *J, name string, compute func() V) V {
	return view.Derived(j.View, j.Of, name, compute)
}

// AnswerTimeout returns how long answers of the judged side were awaited; 10 seconds if
// the recording does not say.
func (j *J) AnswerTimeout() time.Duration {
	if j.Transcript().AnswerTimeout > 0 {
		return j.Transcript().AnswerTimeout
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
	j.out.Frames = Excerpt(j.Transcript(), max(0, e.Index-framesBefore), e.Index)
	if j.UserAt != nil {
		at := e.Index
		if request, ok := j.RequestOf(e); ok {
			at = request.Index
		}
		j.out.SentBy = j.UserAt(at)
	}
}

// FailSession reports that the session as a whole breaks the rule.
func (j *J) FailSession(format string, args ...any) {
	if j.out.State == Violated {
		return
	}
	j.out.State = Violated
	j.out.Detail = fmt.Sprintf(format, args...)
	j.out.Frames = Excerpt(j.Transcript(), -1, -1)
}

// Note adds what no clause states but a reader of the report needs.
func (j *J) Note(format string, args ...any) {
	j.out.Notes = append(j.out.Notes, fmt.Sprintf(format, args...))
}

// Declares reports whether a role declared a capability.
func (j *J) Declares(of wire.Role, capability string) bool {
	return session.Declares(j.Capabilities(of), capability)
}

// HasUnreadableBefore reports whether the judged side received, before a frame,
// anything whose id could not be read: invalid JSON, no request, a batch, or an invalid
// id.
func (j *J) HasUnreadableBefore(before wire.Entry) bool {
	first := Derived(j, "first unreadable", func() int {
		return slices.IndexFunc(j.Entries(), func(e wire.Entry) bool {
			return e.From != j.Of && !e.Message.IsIdentifiable()
		})
	})
	return first >= 0 && first < before.Index
}
