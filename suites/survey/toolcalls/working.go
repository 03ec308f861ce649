package toolcalls

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// run makes the calls. What keeps it from an end is noted as why.
func (w *Cancelled) run(t *check.T, one Call) {
	runs := []Run{{Token: `70078`}, {Token: `"70077"`}, {Token: `70077`}, {}}
	for i := range runs {
		one.Token = runs[i].Token
		if runs[i].call, _ = t.TryStart("tools/call", one.Params()); runs[i].call == nil {
			w.Why = "the calls could not be sent"
			return
		}
	}
	first := runs[0].call
	m, ok := t.Await(first.FrameIndex, func(m wire.Message) bool {
		return ReportsProgress(m, runs[0].Token) || check.ResponseTo(first.ID)(m)
	})
	if !ok || m.IsResponse() {
		w.Why = fmt.Sprintf("a call of %q was not reported on before it was answered", w.Tool)
		return
	}
	t.Cancel(first)
	read, err := t.Try(t.Facts.BarrierMethod, nil).Get()
	w.read = read.Index
	for _, r := range runs[1:] {
		if err == nil {
			_, err = t.TryAnswer(r.call, t.Timeout()).Get()
		}
	}
	if err == nil {
		_, err = t.Try(t.Facts.BarrierMethod, nil).Get()
	}
	if err != nil {
		w.Why = fmt.Sprintf("the calls beside one that was cancelled: %v", err)
		return
	}
	for i := range runs {
		runs[i].look(t)
	}
	w.cancelled, w.Twins = runs[0], runs[1:]
	if w.lags() {
		t.TryAnswer(first, max(2*one.Took, t.Timeout()/10))
		w.cancelled.look(t)
	}
}

// lags tells whether the cancelled call may only be slower than its twins, so
// that its end is to be waited for: it goes on, or was reported on too often to
// have been broken off. On a busy machine all its reports may come before the
// server has read the cancellation.
func (w *Cancelled) lags() bool {
	return !w.cancelled.Answered && (w.goesOn() != nil || !w.cutShort())
}

// look fills what came for the call.
func (r *Run) look(t *check.T) {
	r.Reports = progressFrames(t, r.Token, r.call.FrameIndex)
	frames := t.Frames(r.call.FrameIndex)
	for _, e := range frames {
		for _, m := range e.Message.Elements() {
			if e.From == wire.Server && !r.Answered && check.ResponseTo(r.call.ID)(m) {
				r.Answered, r.at, r.took = true, e.Index, e.At-frames[0].At
			}
		}
	}
}

// Fate takes an answer for one that the cancellation brought about if it came in
// less than half of the time that each of the twins took, after at most half as
// many reports. Any other may be that of a call that ended as it would have.
func (w *Cancelled) Fate() Fate {
	switch {
	case !w.cancelled.Answered:
		return Unanswered
	case w.cutShort() && w.cancelled.took < w.twinsTook()/2:
		return BrokenOff
	}
	return RanToEnd
}

// ambiguous tells whether reports are missing that the time would have been
// enough for.
func (w *Cancelled) ambiguous() bool {
	return w.cancelled.Answered && w.cutShort() && w.Fate() == RanToEnd
}

// cutShort tells whether the cancelled call was reported on at most half as many
// times as each of its twins that gave a token.
func (w *Cancelled) cutShort() bool {
	return !slices.ContainsFunc(w.Twins, func(twin Run) bool {
		return twin.Token != "" && len(twin.Reports) < 2*len(w.cancelled.Reports)
	})
}

// twinsTook returns how long the fastest of the twins took.
func (w *Cancelled) twinsTook() time.Duration {
	least := w.Twins[0].took
	for _, twin := range w.Twins {
		least = min(least, twin.took)
	}
	return least
}

// goesOn returns the frames that report on the cancelled call after the server
// had read that it is.
func (w *Cancelled) goesOn() []int {
	var late []int
	for _, at := range w.cancelled.Reports {
		if at > w.read {
			late = append(late, at)
		}
	}
	if len(late) <= toleratedReports {
		return nil
	}
	return late
}

// Worker returns the shortest of the calls that can be broken off: it was
// reported on at least so many times. Tools that only read come before those
// that the user allowed.
func (c *All) Worker() (best Call, ok bool) {
	for _, one := range c.Results {
		if one.Reports < MinReports || one.Took > MaxWork {
			continue
		}
		better := one.Took < best.Took
		if a, b := offer.ReadOnly(one.Tool), offer.ReadOnly(best.Tool); a != b {
			better = a
		}
		if !ok || better {
			best, ok = one, true
		}
	}
	return best, ok
}
