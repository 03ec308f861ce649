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
var tasking = spec.Only(spec.V2025_11_25)

// relatedTask is the key of _meta that names the task a message belongs to.
const relatedTask = "io.modelcontextprotocol/related-task"

// How long tasks are kept, how often it makes sense to ask for them, and how
// many of them a connection may have.
const (
	shortestTTL  = time.Second
	usualTTL     = 5 * time.Minute
	longestTTL   = 10 * time.Minute
	pollInterval = 20 * time.Millisecond
	maxTasks     = 1000
)

// The states of a task.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// A Task is a tool call that goes on after its request was answered. It
// belongs to the connection on which it was made: only there it can be asked
// for, so that nobody needs to be told apart.
type Task struct {
	id      string
	owner   string // who made it, "" where nobody is told apart
	created time.Time
	ttl     time.Duration
	job     *job
	// extended tasks are those of the extension (tasks_extension.go).
	extended bool

	telling sync.Mutex // keeps what is told of it in the order in which it came about

	mu        sync.Mutex
	status    string
	message   string
	updated   time.Time
	result    any // what the call came to, once done is closed
	problem   *Error
	done      chan struct{}
	questions // what an extended task asks its client
}

// show is the task as an object (schema.ts#Task).
func (t *Task) show() Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state("ttl", "pollInterval")
}

// state is what any task tells of itself, its times in milliseconds under the
// names given. t.mu is held.
func (t *Task) state(ttl, interval string) Object {
	o := Object{
		"taskId": t.id, "status": t.status, "statusMessage": t.message,
		"createdAt": stamp(t.created), "lastUpdatedAt": stamp(t.updated), ttl: t.ttl.Milliseconds(),
	}
	if !terminal(t.status) {
		o[interval] = pollInterval.Milliseconds()
	}
	return o
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func terminal(status string) bool {
	return status == taskCompleted || status == taskFailed || status == taskCancelled
}

func (t *Task) expired() bool { return time.Since(t.created) > t.ttl }

// move changes the status and tells whether it did: a terminal one is final
// (basic/utilities/tasks#task-status-lifecycle).
func (t *Task) move(status, message string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if terminal(t.status) {
		return false
	}
	t.change(status, message)
	return true
}

// change notes a new status. t.mu is held.
func (t *Task) change(status, message string) {
	t.status, t.message, t.updated = status, message, time.Now()
}

// augmented tells whether calls can be tasks at the revision of the request.
func (r *Request) augmented() bool {
	return tasking.Has(r.Revision) && r.conn.library.declares("tasks.requests.tools.call")
}

func (t *Tool) canBeTask() bool { return t.TaskSupport == "optional" || t.TaskSupport == "required" }

// checkSupport refuses a call that is a task and may be none, or the reverse
// (basic/utilities/tasks#tool-level-negotiation).
func (t *Tool) checkSupport(task bool) *Error {
	switch {
	case task && !t.canBeTask():
		return errorf(spec.MethodNotFound, "The tool %s cannot be called as a task", t.Name)
	case !task && t.TaskSupport == "required":
		return errorf(spec.MethodNotFound, "The tool %s can only be called as a task", t.Name)
	}
	return nil
}

// augment accepts a call as a task and answers it with the task.
func (t *Tool) augment(r *Request, args Object) (any, *Error) {
	ttl, problem := r.lifetime()
	if problem != nil {
		return nil, problem
	}
	task, problem := t.createTask(r, args, ttl)
	if problem != nil {
		return nil, problem
	}
	return Object{"task": task.show()}, nil
}

// createTask makes a task of a call, which begins when the request is answered,
// so that the client knows the task before it hears of it.
func (t *Tool) createTask(r *Request, args Object, ttl time.Duration) (*Task, *Error) {
	c := r.conn
	task := &Task{
		id: rand.Text(), owner: r.principal(), created: time.Now(), ttl: ttl, extended: r.Modern,
		status: taskWorking, message: "The desk works on it.", done: make(chan struct{}),
	}
	task.updated = task.created
	if !c.tasks.add(task) {
		return nil, errorf(spec.InternalError, "Too many tasks are kept; wait until some have expired")
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	ctx, stop := context.WithTimeoutCause(ctx, ttl, errExpired)
	task.job = &job{cancel: cancel, parked: make(chan struct{})}
	task.job.park()
	own := *r
	own.job, own.task, own.after = task.job, task, nil
	r.after = func() {
		c.begin(task.job, func() {
			defer cancel(nil)
			defer stop()
			v, problem := guarded(func() (any, *Error) { return t.serve(ctx, &own, args) })
			c.settle(task, v, problem)
		})
	}
	return task, nil
}

// lifetime is how long the task of the request is kept: as long as is asked
// for, within bounds (basic/utilities/tasks#ttl-and-resource-management).
func (r *Request) lifetime() (time.Duration, *Error) {
	o, ok := r.Params["task"].(Object)
	if !ok {
		return 0, invalid("The parameter task must be an object")
	}
	v, given := o["ttl"]
	if !given {
		return usualTTL, nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, invalid("The parameter task.ttl must be a number")
	}
	ms, err := n.Float64()
	if err != nil || ms > float64(longestTTL.Milliseconds()) {
		return longestTTL, nil
	}
	return max(shortestTTL, time.Duration(ms)*time.Millisecond), nil
}

// settle notes what the call of a task came to. A call that ended in an error
// of the protocol or of the tool is a failed task
// (basic/utilities/tasks#task-execution-errors); under the extension an error of
// the tool is a result like any other (SEP-2663, task execution errors).
func (c *conn) settle(t *Task, v any, problem *Error) {
	status, message := taskCompleted, "The desk is done with it."
	o, _ := v.(Object)
	switch {
	case problem != nil:
		status, message = taskFailed, problem.Message
	case t.extended:
		v = c.inlined(o)
	case o["isError"] == true:
		status, message = taskFailed, firstText(o)
	}
	t.result, t.problem = v, problem
	if t.move(status, message) {
		c.tellStatus(t) // before anybody who waits for the result gets it
	}
	close(t.done)
}

// firstText is the first text of a result, to tell why a tool failed.
func firstText(result Object) string {
	blocks, _ := result["content"].([]any)
	for _, b := range blocks {
		if s := text(b.(Object)["text"]); s != "" {
			return s
		}
	}
	return "The tool failed."
}

// tellStatus tells the client of the state of a task. The notification names
// the task itself, so it carries no related-task metadata
// (basic/utilities/tasks#task-notifications).
func (c *conn) tellStatus(t *Task) {
	const method = "notifications/tasks/status"
	t.telling.Lock()
	defer t.telling.Unlock()
	switch {
	case c.ctx.Err() != nil:
	case t.extended:
		c.tellListeners(t)
	default:
		c.emit(Frame{Raw: notification(method, t.show()), Kind: wire.Notification, Method: method})
	}
}

// await runs ask, which waits for the client, while the task of the request,
// if it is one, is in need of input.
func (r *Request) await(ask func() (Object, error)) (Object, error) {
	if r.task == nil {
		return ask()
	}
	if r.task.move(taskAsks, "The desk has a question.") {
		r.conn.tellStatus(r.task)
	}
	defer func() {
		if r.task.move(taskWorking, "The desk goes on with it.") {
			r.conn.tellStatus(r.task)
		}
	}()
	return ask()
}

// related puts the name of the task that the request is part of, if any, into
// the _meta of params
// (basic/utilities/tasks#associating-task-related-messages).
func (r *Request) related(params Object) Object {
	if r.task == nil {
		return params
	}
	return relate(r.task, params)
}

func relate(t *Task, o Object) Object {
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
func (r *Request) taskOf() (*Task, *Error) {
	id, ok := r.Params["taskId"].(string)
	if !ok {
		return nil, invalid("The parameter taskId must be a string")
	}
	if t := r.conn.tasks.find(id); t != nil && t.extended == r.Modern && r.owns(BoundTask, t.owner) {
		return t, nil
	}
	return nil, invalid("There is no task %q, or it has expired", clip(id))
}

// getTask answers tasks/get (basic/utilities/tasks#getting-tasks).
func getTask(_ context.Context, r *Request) (any, *Error) {
	t, problem := r.taskOf()
	if problem != nil {
		return nil, problem
	}
	return t.show(), nil
}

// taskResult answers tasks/result when the call of the task has ended, with
// what the call came to (basic/utilities/tasks#result-retrieval). That of a
// cancelled task ends at once.
func taskResult(ctx context.Context, r *Request) (any, *Error) {
	t, problem := r.taskOf()
	if problem != nil {
		return nil, problem
	}
	r.Park()
	select {
	case <-t.done:
	case <-ctx.Done():
		return nil, errorf(spec.InternalError, "The wait for the task was cancelled")
	}
	switch o, ok := t.result.(Object); {
	case t.expired():
		return nil, invalid("The task %q has expired", t.id)
	case t.problem != nil:
		return nil, t.problem
	case !ok:
		return nil, errorf(spec.InternalError, "The task ended without a result")
	default:
		return relate(t, o), nil
	}
}

// listTasks answers tasks/list (basic/utilities/tasks#task-listing).
func listTasks(_ context.Context, r *Request) (any, *Error) {
	o, problem := paginate(r, "tasks", r.conn.tasks.list(), func(t *Task) bool { return t != nil && r.owns(BoundTask, t.owner) }, (*Task).show)
	if problem != nil {
		return nil, problem
	}
	return o, nil
}

// cancelTask answers tasks/cancel: the task is cancelled before the answer,
// and its call is told to stop (basic/utilities/tasks#task-cancellation).
func cancelTask(_ context.Context, r *Request) (any, *Error) {
	t, problem := r.taskOf()
	if problem != nil {
		return nil, problem
	}
	if !r.conn.cancelTask(t) {
		return nil, invalid("The task has already ended: %s", text(t.show()["status"]))
	}
	return t.show(), nil
}

// cancelTask cancels a task, unless it has ended, and tells whether it did.
func (c *conn) cancelTask(t *Task) bool {
	if !t.move(taskCancelled, "The client cancelled it.") {
		return false
	}
	c.silence(t.job)
	t.job.cancel(errCancelled)
	c.tellStatus(t)
	return true
}
