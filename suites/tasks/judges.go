package tasks

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// tasking are the revisions that have tasks (basic/utilities/tasks).
var tasking = spec.Only(spec.V2025_11_25)

// judges are the judges of basic/utilities/tasks.
func judges() []check.Check {
	all := slices.Concat(taskShapes(), taskLives(), taskRelations(), taskPolls())
	for i := range all {
		all[i].In = tasking
	}
	return all
}

// taskShapes are the judges of #capabilities, #task-id-requirements and of the
// members of a task.
func taskShapes() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.capability.declared",
			Says:  "a server that makes tasks, or answers for them, declares the capability tasks",
			Level: spec.Must,
			Rules: []string{"tasks-capability-declared"},
			Judge: tasksDeclared,
		},
		{
			ID:    "tasks.capability.shape",
			Says:  "the capability tasks holds the objects list, cancel and requests.tools.call, or some of these",
			Level: spec.Must,
			Rules: []string{"tasks-capability-shape"},
			Judge: tasksCapability,
		},
		{
			ID:    "tasks.task.shape",
			Says:  "a task has the members of the schema",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-task-shape"},
			Judge: taskShape,
		},
		{
			ID:    "tasks.id.string",
			Says:  "the id of a task is a string",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-id-string"},
			Judge: taskMember("/taskId", func(s taskState) bool { return true }),
		},
		{
			ID:    "tasks.id.unique",
			Says:  "no two tasks have the same id",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-id-unique"},
			Judge: taskIDUnique,
		},
		{
			ID:    "tasks.id.secure",
			Says:  "the id of a task cannot be guessed: it is no short word, counter or time",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-secure-ids-without-context"},
			Judge: taskIDSecure,
		},
		{
			ID:    "tasks.created-at",
			Says:  "an answer about a task tells in ISO 8601 when it was created, and always the same",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-created-at"},
			Judge: taskCreatedAt,
		},
		{
			ID:    "tasks.last-updated-at",
			Says:  "an answer about a task tells in ISO 8601 when it was last updated, which is not before it was created",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-last-updated-at"},
			Judge: taskLastUpdatedAt,
		},
		{
			ID:    "tasks.ttl.reported",
			Says:  "tasks/get tells how long the task is kept, or null for ever",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-ttl-reported"},
			Judge: taskMember("/ttl", func(s taskState) bool { return s.method == "tasks/get" }),
		},
		{
			ID:    "tasks.list.shape",
			Says:  "tasks/list is answered with an array of tasks",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-result-shape"},
			Judge: taskListShape,
		},
		{
			ID:    "tasks.result.structure",
			Says:  "the result of a task of tools/call is one of tools/call",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-result-structure"},
			Judge: taskResultStructure,
		},
		{
			ID:    "tasks.notification.shape",
			Says:  "notifications/tasks/status carries the whole task",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-status-notification-shape"},
			Judge: taskNotificationShape,
		},
	}
}

// taskLives are the judges of #task-status-lifecycle, #input-required-status
// and #task-execution-errors.
func taskLives() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.status.initial",
			Says:  "a task begins as working",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-initial-working"},
			Judge: taskInitial,
		},
		{
			ID:    "tasks.status.final",
			Says:  "a task that is completed or failed stays so",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-valid-transitions", "tasks-terminal-final"},
			Judge: taskStays("completed", "failed"),
		},
		{
			ID:    "tasks.cancel.final",
			Says:  "a task that is cancelled stays so",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancelled-stays"},
			Judge: taskStays("cancelled"),
		},
		{
			ID:    "tasks.cancel.stops",
			Says:  "the work on a task stops when it is cancelled",
			Level: spec.Should,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-stops"},
			Judge: taskStops,
		},
		{
			ID:    "tasks.failed.status",
			Says:  "a task whose tool failed is failed",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-iserror-failed"},
			Judge: taskFailedStatus,
		},
		{
			ID:    "tasks.failed.message",
			Says:  "tasks/get of a failed task tells in a statusMessage what went wrong",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-failed-status-message"},
			Judge: taskFailedMessage,
		},
		{
			ID:    "tasks.input.status",
			Says:  "a task that waits for the client is input_required",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-input-required-status"},
			Judge: taskInputStatus,
		},
		{
			ID:    "tasks.input.left",
			Says:  "a task that was given all input is no longer input_required",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-input-required-leave"},
			Judge: taskInputLeft,
		},
		{
			ID:    "tasks.augment.declared",
			Says:  "the server makes tasks of its requests only where the client declared that it can",
			Level: spec.Should,
			Rules: []string{"tasks-augment-only-declared", "tasks-no-creation-without-capability"},
			Judge: augmentsDeclared,
		},
	}
}

// taskRelations are the judges of #associating-task-related-messages.
func taskRelations() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.related.result",
			Says:  "the answer to tasks/result names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-result-related-task"},
			Judge: relatedResult,
		},
		{
			ID:    "tasks.related.progress",
			Says:  "a progress notification of a task names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-related-task-metadata"},
			Judge: relatedProgress,
		},
		{
			ID:    "tasks.related.input",
			Says:  "what the server asks the client for a task names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-input-request-related-task"},
			Judge: relatedInput,
		},
		{
			ID:    "tasks.related.answers",
			Says:  "answers to tasks/get, tasks/list and tasks/cancel do not name the task in their _meta once more",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-no-related-task-in-results"},
			Judge: relatedAnswers,
		},
		{
			ID:    "tasks.related.notification",
			Says:  "notifications/tasks/status does not name the task in its _meta once more",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-no-related-task-in-status"},
			Judge: relatedNotification,
		},
		{
			ID:    "tasks.related.requests",
			Says:  "tasks/get, tasks/result and tasks/cancel of the server do not name the task in their _meta once more",
			Level: spec.Should,
			Rules: []string{"tasks-no-related-task-in-requests"},
			Judge: relatedRequests,
		},
	}
}
