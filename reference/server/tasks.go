package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// tasking are the revisions that have tasks (basic/utilities/tasks).
var taskRevisions = spec.Only(spec.V2025_11_25)

// relatedTask is the key of _meta that names the task a message belongs to.
const relatedTask = "io.modelcontextprotocol/related-task"

// How long tasks are kept, how often it makes sense to ask for them, and how
// many of them a connection may have.
const (
	minTTL       = time.Second
	defaultTTL   = 5 * time.Minute
	maxTTL       = 10 * time.Minute
	pollInterval = 20 * time.Millisecond
	maxTasks     = 1000
)

// The states of a task.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

// A Task is a tool call that goes on after its request was answered. It
// belongs to the connection on which it was made: only there it can be asked
// for, so that nobody needs to be told apart.
type task struct {
	id      string
	owner   string // who made it, "" where nobody is told apart
	created time.Time
	ttl     time.Duration
	job     *job
	// extended tasks are those of the extension (tasks_extension.go).
	extended bool

	notifyMu sync.Mutex // keeps what is told of it in the order in which it came about

	mu        sync.Mutex
	status    string
	message   string
	updated   time.Time
	result    any // what the call came to, once done is closed
	problem   *Error
	done      chan struct{}
	taskInput // what an extended task asks its client
}

// show is the task as an object (schema.ts#Task).
func (t *task) object() Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.baseObject("ttl", "pollInterval")
}

// state is what any task tells of itself, its times in milliseconds under the
// names given. t.mu is held.
func (t *task) baseObject(ttl, interval string) Object {
	o := Object{
		"taskId": t.id, "status": t.status, "statusMessage": t.message,
		"createdAt": timestamp(t.created), "lastUpdatedAt": timestamp(t.updated), ttl: t.ttl.Milliseconds(),
	}
	if !isTerminal(t.status) {
		o[interval] = pollInterval.Milliseconds()
	}
	return o
}

func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func isTerminal(status string) bool {
	return status == taskCompleted || status == taskFailed || status == taskCancelled
}

func (t *task) isExpired() bool { return time.Since(t.created) > t.ttl }

// move changes the status and tells whether it did: a terminal one is final
// (basic/utilities/tasks#task-status-lifecycle).
func (t *task) setStatus(status, message string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isTerminal(t.status) {
		return false
	}
	t.changeStatus(status, message)
	return true
}

// change notes a new status. t.mu is held.
func (t *task) changeStatus(status, message string) {
	t.status, t.message, t.updated = status, message, time.Now()
}

// augmented tells whether calls can be tasks at the revision of the request.
func (r *Request) allowsTaskAugmentation() bool {
	return taskRevisions.Has(r.Revision) && r.conn.features.declares("tasks.requests.tools.call")
}

func (t *Tool) canBeTask() bool { return t.TaskSupport == "optional" || t.TaskSupport == "required" }

// checkSupport refuses a call that is a task and may be none, or the reverse
// (basic/utilities/tasks#tool-level-negotiation).
func (t *Tool) checkTaskSupport(task bool) *Error {
	switch {
	case task && !t.canBeTask():
		return newError(spec.MethodNotFound, "The tool %s cannot be called as a task", t.Name)
	case !task && t.TaskSupport == "required":
		return newError(spec.MethodNotFound, "The tool %s can only be called as a task", t.Name)
	}
	return nil
}

// augment accepts a call as a task and answers it with the task.
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

// createTask makes a task of a call, which begins when the request is answered,
// so that the client knows the task before it hears of it.
func (t *Tool) createTask(r *Request, args Object, ttl time.Duration) (*task, *Error) {
	c := r.conn
	task := &task{
		id: rand.Text(), owner: r.user(), created: time.Now(), ttl: ttl, extended: r.Modern,
		status: taskWorking, message: "The desk works on it.", done: make(chan struct{}),
	}
	task.updated = task.created
	if !c.tasks.add(task) {
		return nil, newError(spec.InternalError, "Too many tasks are kept; wait until some have expired")
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	ctx, stop := context.WithTimeoutCause(ctx, ttl, errExpired)
	task.job = &job{cancel: cancel, yielded: make(chan struct{})}
	task.job.yield()
	own := *r
	own.job, own.task, own.after = task.job, task, nil
	r.after = func() {
		c.startJob(task.job, func() {
			defer cancel(nil)
			defer stop()
			v, problem := callRecovering(func() (any, *Error) { return t.run(ctx, &own, args) })
			c.finishTask(task, v, problem)
		})
	}
	return task, nil
}

// lifetime is how long the task of the request is kept: as long as is asked
// for, within bounds (basic/utilities/tasks#ttl-and-resource-management).
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

// settle notes what the call of a task came to. A call that ended in an error
// of the protocol or of the tool is a failed task
// (basic/utilities/tasks#task-execution-errors); under the extension an error of
// the tool is a result like any other (SEP-2663, task execution errors).
func (c *conn) finishTask(t *task, v any, problem *Error) {
	status, message := taskCompleted, "The desk is done with it."
	o, _ := v.(Object)
	switch {
	case problem != nil:
		status, message = taskFailed, problem.Message
	case t.extended:
		v = c.inlineResult(o)
	case o["isError"] == true:
		status, message = taskFailed, firstText(o)
	}
	t.result, t.problem = v, problem
	if t.setStatus(status, message) {
		c.notifyTaskStatus(t) // before anybody who waits for the result gets it
	}
	close(t.done)
}

// firstText is the first text of a result, to tell why a tool failed.
func firstText(result Object) string {
	blocks, _ := result["content"].([]any)
	for _, b := range blocks {
		if s := stringOf(b.(Object)["text"]); s != "" {
			return s
		}
	}
	return "The tool failed."
}

// tellStatus tells the client of the state of a task. The notification names
// the task itself, so it carries no related-task metadata
// (basic/utilities/tasks#task-notifications).
func (c *conn) notifyTaskStatus(t *task) {
	const method = "notifications/tasks/status"
	t.notifyMu.Lock()
	defer t.notifyMu.Unlock()
	switch {
	case c.ctx.Err() != nil:
	case t.extended:
		c.notifyTaskSubscribers(t)
	default:
		c.send(Frame{Raw: notificationMessage(method, t.object()), Kind: wire.Notification, Method: method})
	}
}

// await runs ask, which waits for the client, while the task of the request,
// if it is one, is in need of input.
func (r *Request) whileInputRequired(ask func() (Object, error)) (Object, error) {
	if r.task == nil {
		return ask()
	}
	if r.task.setStatus(taskInputRequired, "The desk has a question.") {
		r.conn.notifyTaskStatus(r.task)
	}
	defer func() {
		if r.task.setStatus(taskWorking, "The desk goes on with it.") {
			r.conn.notifyTaskStatus(r.task)
		}
	}()
	return ask()
}

// related puts the name of the task that the request is part of, if any, into
// the _meta of params
// (basic/utilities/tasks#associating-task-related-messages).
func (r *Request) withRelatedTask(params Object) Object {
	if r.task == nil {
		return params
	}
	return addRelatedTask(r.task, params)
}

func addRelatedTask(t *task, o Object) Object {
	out, meta := maps.Clone(o), Object{}
	if out == nil {
		out = Object{}
	}
	if kept, ok := o["_meta"].(Object); ok {
		meta = maps.Clone(kept)
	}
	meta[relatedTask] = Object{"taskId": t.id}
	out["_meta"] = meta
	return out
}

// taskOf returns the task that a request names by its parameter; what its
// _meta says counts for nothing
// (basic/utilities/tasks#associating-task-related-messages).
func (r *Request) namedTask() (*task, *Error) {
	id, ok := r.Params["taskId"].(string)
	if !ok {
		return nil, invalidParams("The parameter taskId must be a string")
	}
	if t := r.conn.tasks.find(id); t != nil && t.extended == r.Modern && r.owns(BoundTask, t.owner) {
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

// taskResult answers tasks/result when the call of the task has ended, with
// what the call came to (basic/utilities/tasks#result-retrieval). That of a
// cancelled task ends at once.
func taskResult(ctx context.Context, r *Request) (any, *Error) {
	t, problem := r.namedTask()
	if problem != nil {
		return nil, problem
	}
	r.Park()
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
	o, problem := paginate(r, "tasks", r.conn.tasks.list(), func(t *task) bool { return t != nil && r.owns(BoundTask, t.owner) }, (*task).object)
	if problem != nil {
		return nil, problem
	}
	return o, nil
}

// cancelTask answers tasks/cancel: the task is cancelled before the answer,
// and its call is told to stop (basic/utilities/tasks#task-cancellation).
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

// cancelTask cancels a task, unless it has ended, and tells whether it did.
func (c *conn) cancelTask(t *task) bool {
	if !t.setStatus(taskCancelled, "The client cancelled it.") {
		return false
	}
	c.suppressOutput(t.job)
	t.job.cancel(errCancelled)
	c.notifyTaskStatus(t)
	return true
}
