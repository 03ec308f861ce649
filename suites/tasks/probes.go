package tasks

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// The reasons why several probes are not observed, and what helps.
const (
	noTask     = "no tool was called as a task"
	noAnswer   = "no request that asks for a task where there can be none was answered"
	noSlowTask = "no task was working when it was requested"
	offerSlow  = "offer a read-only tool that can be called as a task and takes a second" + check.OrAllow
)

// probes returns the probes of basic/utilities/tasks.
func probes() []check.Check {
	all := slices.Concat(probesOfNegotiation(), probesOfOptionalMethods(), probesOfCreation(), probesOfResults(),
		probesOfRequests(), probesOfLists(), probesOfCancellation())
	for i := range all {
		all[i].In = offer.TaskRevisions
	}
	return all
}

// missingTask is the id of no task.
const missingTask = "mcpcheck-no-such-task"

// knowsTask reports whether tasks/get returns a task.
func knowsTask(t *check.T, id string) bool {
	r := t.Try("tasks/get", taskcalls.TaskParams(id))
	return r.Err == nil && r.Message.Result().Get("taskId").String() == id
}
