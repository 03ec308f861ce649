package toolcalls

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// run sends the calls and sets Why if they cannot be completed.
func (w *Cancellation) run(t *check.T, one Call) {
	cancelled, same := t.NextID().Raw, t.NextID().Raw
	runs := []Run{{Token: cancelled}, {Token: `"` + same + `"`}, {Token: same}, {}}
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
		w.Why = fmt.Sprintf("a call of %q reported no progress before it was answered", w.Tool)
		return
	}
	t.Cancel(first)
	read, err := t.Try(t.Facts.BarrierMethod, nil).Get()
	w.readAt = read.Index
	for _, r := range runs[1:] {
		if err == nil {
			_, err = t.TryAnswer(r.call, t.Timeout()).Get()
		}
	}
	if err == nil {
		_, err = t.Try(t.Facts.BarrierMethod, nil).Get()
	}
	if err != nil {
		w.Why = fmt.Sprintf("the calls beside the cancelled one: %v", err)
		return
	}
	for i := range runs {
		runs[i].collect(t)
	}
	w.cancelled, w.Others = runs[0], runs[1:]
	if w.mayStillRun() {
		t.TryAnswer(first, max(2*one.Took, t.Timeout()/10))
		w.cancelled.collect(t)
	}
}

// mayStillRun reports whether the cancelled call may only be slower than the others, so
// that its end must be awaited: it was reported on later, or too often for a call that
// was stopped. On a busy machine all its reports may arrive before the server has read
// the cancellation.
func (w *Cancellation) mayStillRun() bool {
	return !w.cancelled.Answered && (w.lateReports() != nil || !w.hasFewReports())
}

// collect sets what arrived for the call.
func (r *Run) collect(t *check.T) {
	r.Reports = progressFrames(t, r.Token, r.call.FrameIndex)
	sent := check.FrameAt(t, r.call.FrameIndex)
	for e := range t.Frames(r.call.FrameIndex) {
		for _, m := range e.Message.Elements() {
			if e.From == wire.Server && !r.Answered && check.ResponseTo(r.call.ID)(m) {
				r.Answered, r.answeredAt, r.took = true, e.Index, e.At-sent.At
			}
		}
	}
}

// CallEnd returns BrokenOff if the answer arrived in less than half of the time that
// each of the others took, after at most half as many reports. Any other answer may be
// that of a call that ended normally.
func (w *Cancellation) CallEnd() CallEnd {
	switch {
	case !w.cancelled.Answered:
		return Unanswered
	case w.hasFewReports() && w.cancelled.took < w.othersTook()/2:
		return BrokenOff
	}
	return RanToEnd
}

// isAmbiguous reports whether reports are missing although there was time for them.
func (w *Cancellation) isAmbiguous() bool {
	return w.cancelled.Answered && w.hasFewReports() && w.CallEnd() == RanToEnd
}

// hasFewReports reports whether the cancelled call has at most half as many reports as
// each of the others with a token.
func (w *Cancellation) hasFewReports() bool {
	return !slices.ContainsFunc(w.Others, func(other Run) bool {
		return other.Token != "" && len(other.Reports) < 2*len(w.cancelled.Reports)
	})
}

// othersTook returns the duration of the fastest of the others.
func (w *Cancellation) othersTook() time.Duration {
	least := w.Others[0].took
	for _, other := range w.Others {
		least = min(least, other.took)
	}
	return least
}

// lateReports returns the frames that report progress of the cancelled call after the
// server had read the cancellation, if they are more than the tolerated ones.
func (w *Cancellation) lateReports() []int {
	var late []int
	for _, at := range w.cancelled.Reports {
		if at > w.readAt {
			late = append(late, at)
		}
	}
	if len(late) <= toleratedReports {
		return nil
	}
	return late
}

// ShortestCancellable returns the shortest call that can be cancelled: it reported
// progress at least MinReports times. Read-only tools come before those that the user
// allowed.
func (c *Outcome) ShortestCancellable() (best Call, ok bool) {
	for _, one := range c.Results {
		if one.Reports < MinReports || one.Took > MaxWork {
			continue
		}
		better := one.Took < best.Took
		if a, b := offer.IsReadOnly(one.Tool), offer.IsReadOnly(best.Tool); a != b {
			better = a
		}
		if !ok || better {
			best, ok = one, true
		}
	}
	return best, ok
}
