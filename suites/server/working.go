package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A run is one call of a tool that takes its time.
type run struct {
	token    string // its progress token, as JSON; "" for none
	call     *check.Call
	answered bool
	at       int           // frame of the answer
	took     time.Duration // from the call to the answer
	reports  []int         // frames of its progress notifications
}

// A working is what came of calling a tool that reports progress several times
// at once: one call is cancelled after its first report, and its twins, which
// were sent later, run to their end. They show what the cancelled one would
// have done, at the speed that the machine has now.
type working struct {
	why, hint string // why there is none
	in        *check.T
	tool      string
	usual     int // reports of a call that runs to its end
	cancelled run
	read      int // frame of an answer to what was sent after it: the server has read it
	twins     []run
}

// Bounds of the work that is looked at: enough reports to tell an end from a
// breaking off, and no longer than a run can spare. What stays ambiguous, as it
// may on a busy machine, is tried again.
const (
	fewestReports = 2
	longestWork   = 2 * time.Second
	tries         = 3
)

// worked returns what came of it, which is done once at this revision.
func worked(t *check.T) *working {
	return check.Memo(t, "working", func() *working {
		w := &working{in: t}
		c := called(t)
		one, ok := c.worker()
		if !ok {
			w.why, w.hint = fmt.Sprintf("no tool that may be called reports progress %d times within %s", fewestReports, longestWork), allowHint(c.held)
			return w
		}
		w.tool, w.usual = one.tool.Get("name").String(), one.reports
		for range tries {
			if w.run(t, one); w.why != "" || !w.ambiguous() {
				break
			}
		}
		return w
	})
}

// run makes the calls. What keeps it from an end is noted as why.
func (w *working) run(t *check.T, one toolCall) {
	runs := []run{{token: `70078`}, {token: `"70077"`}, {token: `70077`}, {}}
	for i := range runs {
		one.token = runs[i].token
		if runs[i].call, _ = t.TryStart("tools/call", one.params()); runs[i].call == nil {
			w.why = "the calls could not be sent"
			return
		}
	}
	first := runs[0].call
	m, ok := t.Await(first.Sent, func(m wire.Message) bool { return reports(m, runs[0].token) || answerTo(first.ID)(m) })
	if !ok || m.IsResponse() {
		w.why = fmt.Sprintf("a call of %q was not reported on before it was answered", w.tool)
		return
	}
	t.Cancel(first)
	read, err := t.TryFrame(t.Facts.Barrier, nil)
	w.read = read.Index
	for _, r := range runs[1:] {
		if err == nil {
			_, err = t.TryAnswer(r.call, t.Timeout())
		}
	}
	if err == nil {
		_, err = t.TryFrame(t.Facts.Barrier, nil)
	}
	if err != nil {
		w.why = fmt.Sprintf("the calls beside one that was cancelled: %v", err)
		return
	}
	for i := range runs {
		runs[i].look(t)
	}
	w.cancelled, w.twins = runs[0], runs[1:]
	if w.lags() {
		_, _ = t.TryAnswer(first, max(2*one.took, t.Timeout()/10))
		w.cancelled.look(t)
	}
}

// lags tells whether the cancelled call may only be slower than its twins, so
// that its end is to be waited for: it goes on, or was reported on too often to
// have been broken off. On a busy machine all its reports may come before the
// server has read the cancellation.
func (w *working) lags() bool {
	return !w.cancelled.answered && (w.goesOn() != nil || !w.cutShort())
}

// look fills what came for the call.
func (r *run) look(t *check.T) {
	r.reports = reportsOf(t, r.token, r.call.Sent)
	frames := t.Frames(r.call.Sent)
	for _, e := range frames {
		for _, m := range e.Message.Elements() {
			if e.From == wire.Server && !r.answered && answerTo(r.call.ID)(m) {
				r.answered, r.at, r.took = true, e.Index, e.At-frames[0].At
			}
		}
	}
}

// A fate is what became of the call that was cancelled.
type fate uint8

const (
	fateSilent  fate = iota // it was not answered, though its twins were
	fateEarly               // it was broken off and answered
	fateIgnored             // it ran to its end and was answered
)

// fate takes an answer for one that the cancellation brought about if it came in
// less than half of the time that each of the twins took, after at most half as
// many reports. Any other may be that of a call that ended as it would have.
func (w *working) fate() fate {
	switch {
	case !w.cancelled.answered:
		return fateSilent
	case w.cutShort() && w.cancelled.took < w.twinsTook()/2:
		return fateEarly
	}
	return fateIgnored
}

// ambiguous tells whether reports are missing that the time would have been
// enough for.
func (w *working) ambiguous() bool {
	return w.cancelled.answered && w.cutShort() && w.fate() == fateIgnored
}

// cutShort tells whether the cancelled call was reported on at most half as many
// times as each of its twins that gave a token.
func (w *working) cutShort() bool {
	return !slices.ContainsFunc(w.twins, func(twin run) bool {
		return twin.token != "" && len(twin.reports) < 2*len(w.cancelled.reports)
	})
}

// twinsTook returns how long the fastest of the twins took.
func (w *working) twinsTook() time.Duration {
	least := w.twins[0].took
	for _, twin := range w.twins {
		least = min(least, twin.took)
	}
	return least
}

// tolerated is how many reports may come after the server has read the
// cancellation: the one that was being written.
const tolerated = 1

// goesOn returns the frames that report on the cancelled call after the server
// had read that it is.
func (w *working) goesOn() []int {
	var late []int
	for _, at := range w.cancelled.reports {
		if at > w.read {
			late = append(late, at)
		}
	}
	if len(late) <= tolerated {
		return nil
	}
	return late
}

// worker returns the shortest of the calls that can be broken off: it was
// reported on at least so many times. Tools that only read come before those
// that the user allowed.
func (c *toolCalls) worker() (best toolCall, ok bool) {
	for _, one := range c.results {
		if one.reports < fewestReports || one.took > longestWork {
			continue
		}
		better := one.took < best.took
		if a, b := readOnly(one.tool), readOnly(best.tool); a != b {
			better = a
		}
		if !ok || better {
			best, ok = one, true
		}
	}
	return best, ok
}

// reportsOf returns the frames from an index on that report progress under a
// token.
func reportsOf(t *check.T, token string, from int) []int {
	var out []int
	for _, e := range t.Frames(from) {
		for _, m := range e.Message.Elements() {
			if e.From == wire.Server && reports(m, token) {
				out = append(out, e.Index)
			}
		}
	}
	return out
}

func reports(m wire.Message, token string) bool {
	return token != "" && m.Method() == "notifications/progress" && wire.ID{Raw: m.Params().Get("progressToken").Raw}.Equal(wire.ID{Raw: token})
}
