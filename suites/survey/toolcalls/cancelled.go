package toolcalls

import (
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// RequireNoAnswer fails the check if the cancelled call was answered because it was
// cancelled.
func (w *Cancellation) RequireNoAnswer(t *check.T) {
	switch w.CallEnd() {
	case BrokenOff:
		here := t.Sessions().Use(w.In)
		answer := check.FrameAt(here, w.cancelled.answeredAt)
		EndIfOverHTTP(t)
		here.Mark(answer)
		here.Fail("no answer", answer.Message.Summary(),
			"a call of %q was cancelled after its first report of progress, stopped after %d of about %d reports, "+
				"and answered with %s",
			w.Tool, len(w.cancelled.Reports), w.Usual, answer.Message.Summary())
	case RanToEnd:
		w.EndAsIgnored(t)
	}
}

// EndIfOverHTTP ends the body over HTTP, where the stream of a request should end with
// a response, cancelled or not (basic/transports#sending-messages-to-the-server): the
// two recommendations then contradict each other.
func EndIfOverHTTP(t *check.T) {
	if t.Transport() == transport.HTTP {
		t.NotObserved("over HTTP the stream of a request should end with a response, and the call was answered",
			"judge the server over stdio")
	}
}

// EndAsIgnored ends the body because the cancellation had no effect.
func (w *Cancellation) EndAsIgnored(t *check.T) {
	t.NotObserved(fmt.Sprintf(
		"a cancelled call of %q ran to its end and was answered, as a server may do that cannot cancel it", w.Tool),
		"stop the tool when its call is cancelled")
}

// RequireNoReports fails the check if progress of the cancelled call was still
// reported.
func (w *Cancellation) RequireNoReports(t *check.T, expected string) {
	late := w.lateReports()
	if late == nil {
		return
	}
	here := t.Sessions().Use(w.In)
	here.Mark(check.FrameAt(here, late[len(late)-1]))
	here.Fail(expected, fmt.Sprintf("%d reports", len(late)),
		"a call of %q was cancelled; after the server had read the cancellation, %d more reports of progress arrived",
		w.Tool, len(late))
}

// A Run is one call of a tool that takes some time.
type Run struct {
	Token      string // its progress token, as JSON; "" for none
	call       *check.Call
	Answered   bool
	answeredAt int           // frame of the answer
	took       time.Duration // from the call to the answer
	Reports    []int         // frames of its progress notifications
}

// A Cancellation is the outcome of calling a tool that reports progress several times
// at once. One call is cancelled after its first report. The others, which were sent
// later, run to their end and show what the cancelled one would have done at the
// present speed of the machine.
type Cancellation struct {
	Why, Hint string // why there is no outcome
	In        *check.T
	Tool      string
	Usual     int // reports of a call that runs to its end
	cancelled Run
	readAt    int // frame of the answer to a request sent after the cancellation: the server has read both
	Others    []Run
}

// Bounds of the calls: enough reports to distinguish an end from a cancellation, and an
// acceptable duration. If the outcome is ambiguous, as on a busy machine, the calls are
// repeated.
const (
	MinReports = 2
	MaxWork    = 2 * time.Second
	maxTries   = 3
)

var cancellationKey = check.NewKey[*Cancellation]("cancelled call")

// CancelOne cancels one of several calls, once for this revision, and returns the
// outcome.
func CancelOne(t *check.T) *Cancellation {
	return check.Once(t, cancellationKey, func() *Cancellation {
		w := &Cancellation{In: t}
		c := Calls(t)
		one, ok := c.ShortestCancellable()
		if !ok {
			w.Why, w.Hint = fmt.Sprintf("no tool that may be called reports progress %d times within %s", MinReports,
				MaxWork), check.AllowHint(c.NotAllowed)
			return w
		}
		w.Tool, w.Usual = one.Tool.Get("name").String(), one.Reports
		for range maxTries {
			if w.run(t, one); w.Why != "" || !w.isAmbiguous() {
				break
			}
		}
		return w
	})
}

// A CallEnd is how the cancelled call ended.
type CallEnd uint8

const (
	Unanswered CallEnd = iota // it was not answered, but the others were
	BrokenOff                 // it was stopped and answered
	RanToEnd                  // it ran to its end and was answered
)

// toleratedReports is how many reports may arrive after the server has read the
// cancellation: the one that was being written.
const toleratedReports = 1

// progressFrames returns the frames from an index on that report progress under a
// token.
func progressFrames(t *check.T, token string, from int) []int {
	var out []int
	for e := range t.Frames(from) {
		for _, m := range e.Message.Elements() {
			if e.From == wire.Server && ReportsProgress(m, token) {
				out = append(out, e.Index)
			}
		}
	}
	return out
}

// ReportsProgress reports whether a message is a progress notification for a token.
func ReportsProgress(m wire.Message, token string) bool {
	return token != "" && m.Method() == "notifications/progress" &&
		wire.ID{Raw: m.Params().Get("progressToken").Raw}.Equal(wire.ID{Raw: token})
}
