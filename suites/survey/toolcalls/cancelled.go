package toolcalls

import (
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Answered fails where the cancelled call was answered because it was cancelled.
func (w *Cancelled) Answered(t *check.T) {
	switch w.Fate() {
	case BrokenOff:
		here := t.Sessions().Use(w.In)
		answer := here.Frames(w.cancelled.at)[0]
		ClosesStream(t, answer)
		here.Mark(answer)
		here.Fail("no answer", answer.Message.Summary(),
			"a call of %q was cancelled after its first report of progress, broken off after %d of some %d, and answered with %s",
			w.Tool, len(w.cancelled.Reports), w.Usual, answer.Message.Summary())
	case RanToEnd:
		w.Ignored(t)
	}
}

// ClosesStream ends the body where an answer is also what the stream of a
// request should come to its end with, cancelled or not
// (basic/transports#sending-messages-to-the-server): one advice is then against
// the other.
func ClosesStream(t *check.T, answer wire.Entry) {
	if t.Transport() == transport.HTTP {
		t.NotObserved("over HTTP the stream of a request should end with a response; the call that was cancelled was answered with "+answer.Message.Summary(), "")
	}
}

// Ignored says that the cancellation changed nothing.
func (w *Cancelled) Ignored(t *check.T) {
	t.NotObserved(fmt.Sprintf("a call of %q that was cancelled went on to its end and was answered, as a server may do with what it cannot cancel", w.Tool), "")
}

// Stopped fails where the cancelled call was reported on further.
func (w *Cancelled) Stopped(t *check.T, expected string) {
	late := w.goesOn()
	if late == nil {
		return
	}
	here := t.Sessions().Use(w.In)
	here.Mark(here.Frames(late[len(late)-1])[0])
	here.Fail(expected, fmt.Sprintf("%d reports", len(late)),
		"a call of %q was cancelled, and the server had read so, when %d more reports of its progress came", w.Tool,
		len(late))
}

// A Run is one call of a tool that takes its time.
type Run struct {
	Token    string // its progress token, as JSON; "" for none
	call     *check.Call
	Answered bool
	at       int           // frame of the answer
	took     time.Duration // from the call to the answer
	Reports  []int         // frames of its progress notifications
}

// A Cancelled is what came of calling a tool that reports progress several times
// at once: one call is cancelled after its first report, and its twins, which
// were sent later, run to their end. They show what the cancelled one would
// have done, at the speed that the machine has now.
type Cancelled struct {
	Why, Hint string // why there is none
	In        *check.T
	Tool      string
	Usual     int // reports of a call that runs to its end
	cancelled Run
	read      int // frame of an answer to what was sent after it: the server has read it
	Twins     []Run
}

// Bounds of the work that is looked at: enough reports to tell an end from a
// breaking off, and no longer than a run can spare. What stays ambiguous, as it
// may on a busy machine, is tried again.
const (
	MinReports = 2
	MaxWork    = 2 * time.Second
	maxTries   = 3
)

var workingKey = check.NewKey[*Cancelled]("working")

// CancelOne returns what came of it, which is done once at this revision.
func CancelOne(t *check.T) *Cancelled {
	return check.Once(t, workingKey, func() *Cancelled {
		w := &Cancelled{In: t}
		c := Calls(t)
		one, ok := c.Worker()
		if !ok {
			w.Why, w.Hint = fmt.Sprintf("no tool that may be called reports progress %d times within %s", MinReports,
				MaxWork), check.AllowHint(c.Held)
			return w
		}
		w.Tool, w.Usual = one.Tool.Get("name").String(), one.Reports
		for range maxTries {
			if w.run(t, one); w.Why != "" || !w.ambiguous() {
				break
			}
		}
		return w
	})
}

// A Fate is what became of the call that was cancelled.
type Fate uint8

const (
	Unanswered Fate = iota // it was not answered, though its twins were
	BrokenOff              // it was broken off and answered
	RanToEnd               // it ran to its end and was answered
)

// toleratedReports is how many reports may come after the server has read the
// cancellation: the one that was being written.
const toleratedReports = 1

// progressFrames returns the frames from an index on that report progress under a
// token.
func progressFrames(t *check.T, token string, from int) []int {
	var out []int
	for _, e := range t.Frames(from) {
		for _, m := range e.Message.Elements() {
			if e.From == wire.Server && ReportsProgress(m, token) {
				out = append(out, e.Index)
			}
		}
	}
	return out
}

func ReportsProgress(m wire.Message, token string) bool {
	return token != "" && m.Method() == "notifications/progress" &&
		wire.ID{Raw: m.Params().Get("progressToken").Raw}.Equal(wire.ID{Raw: token})
}
