package toolcalls

import (
	"math"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// RequestAllLogs asks for all log messages of the session, where that is done once and
// for all, so that what the calls of tools log is seen.
func RequestAllLogs(t *check.T) {
	if t.Declares("logging") && !t.Facts.Stateless {
		t.Try("logging/setLevel", check.Params{"level": spec.LogLevels()[0]})
	}
}

// highLevel is the level at which tools are called once more, and maxAlone how many
// of them one by one.
const (
	highLevel = "error"
	maxAlone  = 20
)

// quickCall is how long a tool may take to be called once more on the chance that
// it logs.
const quickCall = 300 * time.Millisecond

var loggedKey = check.NewKey[int]("logged")

// CallWithLevels calls tools once more, so that judges see what is logged under another
// level; since 2026-07-28 for the first time with a level at all. Tools that
// take longer have their turn if those that do not log nothing. It returns the
// number of calls.
func CallWithLevels(t *check.T) int {
	return check.Once(t, loggedKey, func() int {
		if !t.Declares("logging") || !t.Declares("tools") {
			return 0
		}
		n := 0
		for _, limit := range []time.Duration{quickCall, MaxWork} {
			calls := Calls(t).within(limit)
			n += len(calls)
			if t.Facts.Stateless && callWithRequestLevels(t, calls) || !t.Facts.Stateless &&
				callWithSessionLevels(t, calls) {
				break
			}
		}
		return n
	})
}

// callWithRequestLevels makes calls that ask for everything and, if something came,
// calls that ask for little: one by one, so that a message can be told to be of
// a call.
func callWithRequestLevels(t *check.T, calls []Call) (messages bool) {
	if !callAtLevel(t, calls, spec.LogLevels()[0]) {
		return false
	}
	for range 2 { // so that what comes late is not taken for theirs
		t.Try(t.Facts.BarrierMethod, nil)
	}
	for _, one := range calls[:min(len(calls), maxAlone)] {
		callAtLevel(t, []Call{one}, highLevel)
	}
	return true
}

// callWithSessionLevels repeats calls that were seen to log with little asked for.
func callWithSessionLevels(t *check.T, calls []Call) (messages bool) {
	calls = slices.DeleteFunc(calls, func(one Call) bool { return !one.logs })
	if len(calls) == 0 {
		return false
	}
	if m, ok := t.Try("logging/setLevel", check.Params{"level": highLevel}).Answer(); ok && m.Kind == wire.Result {
		t.Try(t.Facts.BarrierMethod, nil)
		callAtLevel(t, calls, "")
		RequestAllLogs(t)
	}
	return true
}

// callAtLevel makes calls at once, each asking for a log level if one is given, and
// tells whether any log message came.
func callAtLevel(t *check.T, calls []Call, level string) bool {
	var running []*check.Call
	for _, one := range calls {
		params := one.Params()
		if level != "" {
			params["_meta"] = check.Params{spec.MetaLogLevel: level}
		}
		if r, err := t.TryStart("tools/call", params); err == nil {
			running = append(running, r)
		}
	}
	for _, r := range running {
		if _, err := t.TryAnswer(r, t.Timeout()/2).Get(); err != nil {
			t.Cancel(r)
			return false
		}
	}
	return len(running) > 0 && LogsBetween(t, running[0].FrameIndex, math.MaxInt)
}

// LogsBetween tells whether a log message came between two frames.
func LogsBetween(t *check.T, from, to int) bool {
	return slices.ContainsFunc(t.Frames(from), func(e wire.Entry) bool {
		return e.From == wire.Server && e.Index < to &&
			slices.ContainsFunc(e.Message.Elements(), func(m wire.Message) bool {
				return m.Method() == "notifications/message"
			})
	})
}
