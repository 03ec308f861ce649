package tasks

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// probes are the probes of basic/utilities/tasks.
func probes() []check.Check {
	all := slices.Concat(taskNegotiation(), taskResults(), taskOperations())
	for i := range all {
		all[i].In = offer.TaskRevisions
	}
	return all
}

// taskNegotiation are the probes of #capability-negotiation,
// #tool-level-negotiation and #task-support-and-handling.
func taskNegotiation() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.undeclared.normal",
			Says:  "a request of a type that cannot be a task is served as always, though it asks for a task",
			Level: spec.Must,
			Rules: []string{"tasks-undeclared-processed-normally"},
			Probe: undeclaredNormal,
		},
		{
			ID:    "tasks.undeclared.none",
			Says:  "no task comes of a request of a type that the capability tasks does not list",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-requests-exhaustive"},
			Probe: undeclaredNone,
		},
		{
			ID:    "tasks.tool.required",
			Says:  "a call without a task of a tool that requires one is answered with error -32601",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-required-tool-32601"},
			Probe: requiredTool,
		},
		{
			ID:    "tasks.tool.forbidden",
			Says:  "a call as a task of a tool that cannot be one is answered with error -32601",
			Level: spec.Should,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-forbidden-tool-32601"},
			Probe: forbiddenTool,
		},
		{
			ID:    "tasks.list.gated",
			Says:  "tasks/list is served if tasks.list is declared, and else is not",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-list-gated"},
			Probe: listGated,
		},
		{
			ID:    "tasks.cancel.gated",
			Says:  "tasks/cancel is served if tasks.cancel is declared, and else is not",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-cancel-gated"},
			Probe: cancelGated,
		},
	}
}

// taskResults are the probes of #creating-tasks, #result-retrieval and
// #task-execution-errors.
func taskResults() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.create.result",
			Says:  "a call as a task is answered with the task, not with the result of the tool",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-create-result"},
			Probe: createResult,
		},
		{
			ID:    "tasks.create.prompt",
			Says:  "a call as a task is answered before the tool is done",
			Level: spec.Should,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-create-result-prompt"},
			Probe: createPrompt,
		},
		{
			ID:    "tasks.id.own",
			Says:  "the id of a task is the server's own, whatever the client asks for",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-id-by-receiver"},
			Probe: idOwn,
		},
		{
			ID:    "tasks.get.answered",
			Says:  "tasks/get is answered with the task that it names",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-get-answered"},
			Probe: getAnswered,
		},
		{
			ID:    "tasks.result.blocks",
			Says:  "tasks/result is answered when the task has ended, not before",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-blocks"},
			Probe: resultBlocks,
		},
		{
			ID:    "tasks.result.kept",
			Says:  "tasks/result of a task that has ended gives its result each time",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-terminal-final"},
			Probe: resultKept,
		},
		{
			ID:    "tasks.result.identical",
			Says:  "the result of a task is what the call gives without a task",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-identical"},
			Probe: resultIdentical,
		},
		{
			ID:    "tasks.result.response",
			Says:  "tasks/result of a call that ended in a result is answered with a result, also if the tool failed",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-success-response"},
			Probe: resultResponse,
		},
		{
			ID:    "tasks.result.error",
			Says:  "tasks/result of a call that ended in a protocol error is answered with that error",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-same-error"},
			Probe: resultError,
		},
	}
}

// taskOperations are the probes of #task-listing, #task-cancellation,
// #associating-task-related-messages and #protocol-errors.
func taskOperations() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.id.unknown",
			Says:  "a request about a task that does not exist is answered with error -32602",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-unknown-id-32602"},
			Probe: idUnknown,
		},
		{
			ID:    "tasks.related.ignored",
			Says:  "tasks/get is about the task that its parameter names, whatever its _meta names",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-taskid-param-authoritative", "tasks-related-task-ignored"},
			Probe: relatedIgnored,
		},
		{
			ID:    "tasks.list.complete",
			Says:  "a task that tasks/get knows is on a page of tasks/list",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-next-cursor", "tasks-list-contains-gettable"},
			Probe: listComplete,
		},
		{
			ID:    "tasks.list.cursor",
			Says:  "tasks/list with an invalid cursor is answered with error -32602",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-invalid-cursor-32602"},
			Probe: listCursor,
		},
		{
			ID:    "tasks.cancel.status",
			Says:  "the answer to tasks/cancel shows the task as cancelled, as does tasks/get behind it",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-transitions-first"},
			Probe: cancelStatus,
		},
		{
			ID:    "tasks.cancel.terminal",
			Says:  "tasks/cancel of a task that has ended is answered with error -32602",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-terminal-32602"},
			Probe: cancelTerminal,
		},
	}
}
