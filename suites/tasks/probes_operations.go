package tasks

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// knowsTask tells whether tasks/get knows a task.
func knowsTask(t *check.T, id string) bool {
	e, err := t.Try("tasks/get", taskcalls.TaskParams(id)).Get()
	return err == nil && e.Message.Result().Get("taskId").String() == id
}
