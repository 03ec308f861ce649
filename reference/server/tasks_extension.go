package server

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The tasks extension (SEP-2663), which a library may declare at 2026-07-28. Tasks,
// their store and what ends them are those of tasks.go. Here is what the extension
// adds: the server decides which calls become tasks, a task holds its result or
// error itself, and it asks its client by entries that tasks/update answers.

// tasksExtension identifies the extension, in the capabilities of both sides.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskMethods returns the methods of the extension by name. The table is shared and
// must not be changed.
var taskMethods = sync.OnceValue(func() map[string]method {
	table := map[string]method{}
	for name, serve := range map[string]func(context.Context, *Request) (any, *Error){
		"tasks/get": getExtensionTask, "tasks/update": updateTask, "tasks/cancel": cancelExtensionTask,
	} {
		table[name] = method{name, spec.Stateless, "", requireTasksExtension(serve), nil}
	}
	return table
})

// declaresTasks reports whether capabilities hold the extension.
func declaresTasks(capabilities Object) bool {
	_, ok := extensionSettings(capabilities, tasksExtension)
	return ok
}

// extensionSettings returns the settings of an extension in capabilities; ok is
// false if they do not hold it.
func extensionSettings(capabilities Object, extension string) (o Object, ok bool) {
	extensions, _ := capabilities["extensions"].(Object)
	o, ok = extensions[extension].(Object)
	return o, ok
}

// hasTasksExtension reports whether the server has the extension at the revision of
// a request.
func (r *Request) hasTasksExtension() bool {
	return spec.Stateless.Has(r.Revision) && declaresTasks(r.conn.features.Capabilities)
}

// extensionMethods returns the methods of the extensions that the library declares.
func (l *Features) extensionMethods() map[string]method {
	table := map[string]method{}
	if declaresTasks(l.Capabilities) {
		maps.Copy(table, taskMethods())
	}
	if declared, ok := extensionSettings(l.Capabilities, skillsExtension); ok {
		maps.Copy(table, skillMethods(declared))
	}
	return table
}

// errUndeclared returns the error for a client that did not declare the extension
// in a request that needs it (SEP-2663, protocol errors).
func errUndeclared() *Error {
	return &Error{
		spec.MissingClientCapability, "The client did not declare the tasks extension",
		Object{"requiredCapabilities": Object{"extensions": Object{tasksExtension: Object{}}}},
	}
}

// requireTasksExtension serves only clients that declared the extension.
func requireTasksExtension(
	serve func(context.Context, *Request) (any, *Error),
) func(context.Context, *Request) (any, *Error) {
	return func(ctx context.Context, r *Request) (any, *Error) {
		if !declaresTasks(r.Client.Capabilities) {
			return nil, errUndeclared()
		}
		return serve(ctx, r)
	}
}

// callWithTasksExtension makes a task of a call for a client that declared the
// extension; for other clients it runs the call at once if the tool allows that.
// The parameter task of other revisions is ignored.
func (t *Tool) callWithTasksExtension(ctx context.Context, r *Request, args Object) (any, *Error) {
	switch declared := declaresTasks(r.Client.Capabilities); {
	case !declared && t.TaskSupport == "required":
		return nil, errUndeclared()
	case !declared, t.argumentsError(args) != "":
		return t.run(ctx, r, args)
	}
	if t.InputRequests != nil {
		requests := t.InputRequests(t.newCall(r, args))
		if problem := r.checkClientSupports(requests); problem != nil {
			return nil, problem
		}
		if t.InputBeforeTask {
			in, problem := r.obtainInput(ctx, requests, nil)
			if problem != nil || in.interim != nil {
				return in.interim, problem
			}
			r.answers = in.answers
		}
	}
	task, problem := t.createTask(r, args, defaultTTL)
	if problem != nil {
		return nil, problem
	}
	o := task.details(r.Revision)
	o["resultType"] = "task"
	return o, nil
}

// details returns the task with the members of its status: its requests for input,
// or its result or error (SEP-2663, DetailedTask).
func (t *task) details(v spec.Revision) Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.baseObject("ttlMs", "pollIntervalMs")
	switch t.status {
	case taskInputRequired:
		open := Object{}
		for _, a := range t.open {
			open[a.Key] = a.entryAt(v)
		}
		o["inputRequests"] = open
	case taskCompleted:
		o["result"] = t.result
	case taskFailed:
		o["error"] = t.problem.object()
	}
	return o
}

// inlineResult returns the result of a call as the answer to its request would hold
// it.
func (c *conn) inlineResult(result Object) any { return c.withResultMembers(result, nil) }

// A taskInput is what a task asks its client. The mutex of the task guards it.
type taskInput struct {
	open     []InputRequest // not yet answered
	answers  map[string]Object
	answered chan struct{} // closed when none is open
}

// requestInput makes the task ask for input, unless it has ended.
func (t *task) requestInput(requests []InputRequest) (answered <-chan struct{}, ok bool) {
	t.mu.Lock()
	t.taskInput = taskInput{slices.Clone(requests), map[string]Object{}, make(chan struct{})}
	answered = t.answered
	t.mu.Unlock()
	return answered, t.setStatus(taskInputRequired, "The desk has a question.")
}

// inputByTask obtains input by the task of the request: it waits for tasks/update.
func (r *Request) inputByTask(ctx context.Context, requests []InputRequest, more moreInputRequests) inputResult {
	answers := map[string]Object{}
	for len(requests) > 0 {
		answered, ok := r.task.requestInput(requests)
		if !ok {
			return inputResult{failure: "The task has ended."}
		}
		r.conn.notifyTaskStatus(r.task)
		select {
		case <-answered:
		case <-ctx.Done():
			return inputResult{failure: "The task was ended before its questions were answered."}
		}
		r.conn.notifyTaskStatus(r.task)
		r.task.mu.Lock()
		maps.Copy(answers, r.task.answers)
		r.task.mu.Unlock()
		requests = more(answers)
	}
	return inputResult{answers: answers}
}

// acceptAnswers takes the answers to what is open; others are ignored (SEP-2663,
// task update requests). With the last of them the task continues.
func (t *task) acceptAnswers(responses Object) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status != taskInputRequired {
		return nil
	}
	accepted := map[string]Object{}
	for _, a := range t.open {
		v, given := responses[a.Key]
		if !given {
			continue
		}
		answer, ok := v.(Object)
		if !ok {
			return invalidParams("The entry %q of inputResponses must be an object", clip(a.Key))
		}
		if why := a.checkAnswer(answer); why != "" {
			return invalidParams("inputResponses.%s %s", a.Key, why)
		}
		accepted[a.Key] = answer
	}
	maps.Copy(t.answers, accepted)
	t.open = slices.DeleteFunc(t.open, func(a InputRequest) bool { return accepted[a.Key] != nil })
	if len(t.open) == 0 {
		t.changeStatus(taskWorking, "The desk goes on with it.")
		close(t.answered)
	}
	return nil
}

// getExtensionTask answers tasks/get (SEP-2663, task polling).
func getExtensionTask(_ context.Context, r *Request) (any, *Error) {
	t, problem := r.namedTask()
	if problem != nil {
		return nil, problem
	}
	return t.details(r.Revision), nil
}

// updateTask answers tasks/update (SEP-2663, task update requests).
func updateTask(_ context.Context, r *Request) (any, *Error) {
	t, problem := r.namedTask()
	if problem != nil {
		return nil, problem
	}
	responses, ok := r.Params["inputResponses"].(Object)
	if !ok {
		return nil, invalidParams("The parameter inputResponses must be an object")
	}
	if problem := t.acceptAnswers(responses); problem != nil {
		return nil, problem
	}
	return Object{}, nil
}

// cancelExtensionTask answers tasks/cancel, also for a task that has ended
// (SEP-2663, task cancellation).
func cancelExtensionTask(_ context.Context, r *Request) (any, *Error) {
	t, problem := r.namedTask()
	if problem != nil {
		return nil, problem
	}
	r.conn.cancelTask(t)
	return Object{}, nil
}

// subscriptionTasks returns the existing tasks that the filter names; nil if none
// (SEP-2663, task status notifications).
func (r *Request) subscriptionTasks(filter Object) ([]any, *Error) {
	if _, ok := filter["taskIds"]; !ok || !r.hasTasksExtension() {
		return nil, nil
	}
	if !declaresTasks(r.Client.Capabilities) {
		return nil, errUndeclared()
	}
	ids, problem := filterStrings(filter, "taskIds")
	if problem != nil {
		return nil, problem
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id any) bool {
		t := r.conn.tasks.find(stringOf(id))
		return t == nil || !t.extended || !r.owns(OwnedTask, t.owner)
	}), nil
}

// notifyTaskSubscribers notifies the subscriptions that name a task of its state.
func (c *conn) notifyTaskSubscribers(t *task) {
	for _, s := range c.openSubscriptions() {
		if s.tasks[t.id] {
			s.notify("notifications/tasks", t.details(s.request.Revision))
		}
	}
}
