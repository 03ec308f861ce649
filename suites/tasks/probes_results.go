package tasks

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// slowEnough is how long a tool must take for the time of its answer to tell
// whether it was waited for.
const slowEnough = 80 * time.Millisecond

// onTheWay returns the longest that each of a few answers took for which nothing
// has to be done.
func onTheWay(t *check.T) (longest time.Duration) {
	for range 3 {
		began := time.Now()
		t.Try(t.Facts.Barrier, nil)
		longest = max(longest, time.Since(began))
	}
	return longest
}

// noSuchTask is the id of no task, ownTask one that we would have a task get.
const (
	noSuchTask = "mcpcheck-no-such-task"
	ownTask    = "mcpcheck-own-task"
)

// expired tells whether the ttl of a task was over when its result was asked
// for again.
func expired(tr *taskcalls.Task) bool {
	ttl := tr.Late.Message.Result().Get("ttl")
	return ttl.Type == gjson.Number && tr.Again.At-tr.Created.At >= time.Duration(ttl.Float())*time.Millisecond
}

// otherResult, noResult and otherError tell what is wrong with the end of a
// task, where the call without a task shows what is right.
func otherResult(tr *taskcalls.Task) bool {
	return tr.Ended() && tr.Alike(wire.Result) && tr.Result.Message.Kind == wire.Result && !taskcalls.SameOutcome(tr.Direct[0].Message, tr.Result.Message)
}

func noResult(tr *taskcalls.Task) bool {
	return tr.Ended() && tr.GaveResult() && tr.Result.Message.Kind == wire.Error
}

func otherError(tr *taskcalls.Task) bool {
	return tr.Ended() && tr.Alike(wire.Error) && tr.Result.Raw != nil && !taskcalls.SameOutcome(tr.Direct[0].Message, tr.Result.Message)
}
