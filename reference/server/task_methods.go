package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// allowsTaskAugmentation reports whether calls can be tasks at the revision of the
// request.
func (r *Request) allowsTaskAugmentation() bool {
	return taskRevisions.Has(r.Revision) && r.conn.features.declares("tasks.requests.tools.call")
}

func (t *Tool) canBeTask() bool { return t.TaskSupport == "optional" || t.TaskSupport == "required" }

// checkTaskSupport refuses a call that is a task of a tool that forbids it, or is
// none of a tool that requires it (basic/utilities/tasks#tool-level-negotiation).
func (t *Tool) checkTaskSupport(task bool) *Error {
	switch {
	case task && !t.canBeTask():
		return newError(spec.MethodNotFound, "The tool %s cannot be called as a task", t.Name)
	case !task && t.TaskSupport == "required":
		return newError(spec.MethodNotFound, "The tool %s can only be called as a task", t.Name)
	}
	return nil
}

// callAsTask accepts a call as a task and answers it with the task.
func (t *Tool) callAsTask(r *Request, args Object) (any, *Error) {
	ttl, problem := r.requestedTTL()
	if problem != nil {
		return nil, problem
	}
	task, problem := t.createTask(r, args, ttl)
	if problem != nil {
		return nil, problem
	}
	return Object{"task": task.object()}, nil
}

// requestedTTL returns how long the task of the request is kept: the requested
// time, within bounds (basic/utilities/tasks#ttl-and-resource-management).
func (r *Request) requestedTTL() (time.Duration, *Error) {
	o, ok := r.Params["task"].(Object)
	if !ok {
		return 0, invalidParams("The parameter task must be an object")
	}
	v, given := o["ttl"]
	if !given {
		return defaultTTL, nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, invalidParams("The parameter task.ttl must be a number")
	}
	ms, err := n.Float64()
	if err != nil || ms > float64(maxTTL.Milliseconds()) {
		return maxTTL, nil
	}
	return max(minTTL, time.Duration(ms)*time.Millisecond), nil
}

// namedTask returns the task that a request names by its parameter. A task in its
// _meta is ignored (basic/utilities/tasks#associating-task-related-messages).
func (r *Request) namedTask() (*task, *Error) {
	id, ok := r.Params["taskId"].(string)
	if !ok {
		return nil, invalidParams("The parameter taskId must be a string")
	}
	if t := r.conn.tasks.find(id); t != nil && t.extended == r.Stateless && r.owns(OwnedTask, t.owner) {
		return t, nil
	}
	return nil, invalidParams("There is no task %q, or it has expired", clip(id))
}

// getTask answers tasks/get (basic/utilities/tasks#getting-tasks).
func getTask(_ context.Context, r *Request) (any, *Error) {
	t, problem := r.namedTask()
	if problem != nil {
		return nil, problem
	}
	return t.object(), nil
}

// taskResult answers tasks/result when the call of the task has ended, with the
// outcome of the call (basic/utilities/tasks#result-retrieval). The call of a
// cancelled task ends at once.
func taskResult(ctx context.Context, r *Request) (any, *Error) {
	t, problem := r.namedTask()
	if problem != nil {
		return nil, problem
	}
	r.Yield()
	select {
	case <-t.done:
	case <-ctx.Done():
		return nil, newError(spec.InternalError, "The wait for the task was cancelled")
	}
	switch o, ok := t.result.(Object); {
	case t.isExpired():
		return nil, invalidParams("The task %q has expired", t.id)
	case t.problem != nil:
		return nil, t.problem
	case !ok:
		return nil, newError(spec.InternalError, "The task ended without a result")
	default:
		return addRelatedTask(t, o), nil
	}
}

// listTasks answers tasks/list (basic/utilities/tasks#task-listing).
func listTasks(_ context.Context, r *Request) (any, *Error) {
	return paginate(r, "tasks", r.conn.tasks.list(),
		func(t *task) bool { return t != nil && r.owns(OwnedTask, t.owner) },
		(*task).object)
}

// cancelTask answers tasks/cancel: the task is cancelled before the answer, and its
// call is stopped (basic/utilities/tasks#task-cancellation).
func cancelTask(_ context.Context, r *Request) (any, *Error) {
	t, problem := r.namedTask()
	if problem != nil {
		return nil, problem
	}
	if !r.conn.cancelTask(t) {
		return nil, invalidParams("The task has already ended: %s", stringOf(t.object()["status"]))
	}
	return t.object(), nil
}
