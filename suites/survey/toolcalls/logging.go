package toolcalls

import (
	"math"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// RequestAllLogs requests all log messages of the session, in revisions that set the
// level for the session, so that judges see what tool calls log.
func RequestAllLogs(t *check.T) {
	if t.Declares("logging") && !t.Facts.Stateless {
		t.Try("logging/setLevel", check.Params{"level": spec.LogLevels()[0]})
	}
}

// highLevel is the level of the further calls, and maxSingleCalls bounds those that
// are sent one by one.
const (
	highLevel      = "error"
	maxSingleCalls = 20
)

// quickCall is how long a tool may take that is called once more because it may log.
const quickCall = 300 * time.Millisecond

var callsWithLevelsKey = check.NewKey[int]("calls with log levels")

// CallWithLevels calls tools once more, so that judges see what is logged under another
// level; since 2026-07-28 these are the first calls with a level. Tools that take
// longer are called only if the quick ones log nothing. It returns the number of calls.
func CallWithLevels(t *check.T) int {
	return check.Once(t, callsWithLevelsKey, func() int {
		if !t.Declares("logging") || !t.Declares("tools") {
			return 0
		}
		n := 0
		for _, limit := range []time.Duration{quickCall, MaxWork} {
			calls := Calls(t).quickCalls(limit)
			n += len(calls)
			if t.Facts.Stateless && callWithRequestLevels(t, calls) || !t.Facts.Stateless &&
				callWithSessionLevels(t, calls) {
				break
			}
		}
		return n
	})
}

// callWithRequestLevels sends calls that request every message and, if any arrived,
// calls that request few: one by one, so that each message can be assigned to a call.
func callWithRequestLevels(t *check.T, calls []Call) (messages bool) {
	if !callAtLevel(t, calls, spec.LogLevels()[0]) {
		return false
	}
	for range 2 { // so that late messages are not assigned to them
		t.Try(t.Facts.BarrierMethod, nil)
	}
	for _, one := range calls[:min(len(calls), maxSingleCalls)] {
		callAtLevel(t, []Call{one}, highLevel)
	}
	return true
}

// callWithSessionLevels repeats the calls that logged, under a level that requests few
// messages.
func callWithSessionLevels(t *check.T, calls []Call) (messages bool) {
	calls = slices.DeleteFunc(calls, func(one Call) bool { return !one.hasLogged })
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

// callAtLevel sends calls at once, each with a log level if one is given, and reports
// whether any log message arrived.
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
	return len(running) > 0 && HasLogsBetween(t, running[0].FrameIndex, math.MaxInt)
}

// HasLogsBetween reports whether a log message arrived between two frames.
func HasLogsBetween(t *check.T, from, to int) bool {
	isLog := func(m wire.Message) bool { return m.Method() == "notifications/message" }
	for e := range t.Frames(from) {
		if e.Index >= to {
			break
		}
		if e.From == wire.Server && slices.ContainsFunc(e.Message.Elements(), isLog) {
			return true
		}
	}
	return false
}
