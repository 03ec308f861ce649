package server

import (
	"context"
	"crypto/rand"
	"maps"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// taskRevisions are the revisions that have tasks (basic/utilities/tasks).
var taskRevisions = spec.Only(spec.V2025_11_25)

// relatedTask is the key of _meta that names the task of a message.
const relatedTask = "io.modelcontextprotocol/related-task"

// The bounds of the lifetime of a task, the suggested interval of polling, and how
// many tasks a connection may have.
const (
	minTTL       = time.Second
	defaultTTL   = 5 * time.Minute
	maxTTL       = 10 * time.Minute
	pollInterval = 20 * time.Millisecond
	maxTasks     = 1000
)

// The statuses of a task.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

// A task is a tool call that continues after its request was answered. It belongs
// to the connection that created it: no other connection can name it, so that
// clients need not be distinguished.
type task struct {
	id      string
	owner   string // the user, "" if the server does not distinguish users
	created time.Time
	ttl     time.Duration
	job     *job
	// extended tasks are those of the extension (tasks_extension.go).
	extended bool

	notifyMu sync.Mutex // keeps the status notifications in the order of the changes

	mu        sync.Mutex
	status    string
	message   string
	updated   time.Time
	result    any // of the call, once done is closed
	problem   *Error
	done      chan struct{}
	taskInput // what an extended task asks its client
}

// object returns the task as an object (schema.ts#Task).
func (t *task) object() Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.baseObject("ttl", "pollInterval")
}

// baseObject returns the members that every task has, its times in milliseconds
// under the given names. t.mu is held.
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

// setStatus changes the status and reports whether it did: a terminal one is final
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

// changeStatus changes the status unconditionally. t.mu is held.
func (t *task) changeStatus(status, message string) {
	t.status, t.message, t.updated = status, message, time.Now()
}

// createTask makes a task of a call. The call begins when the request is answered,
// so that the client knows the task before it receives messages about it.
func (t *Tool) createTask(r *Request, args Object, ttl time.Duration) (*task, *Error) {
	c := r.conn
	task := &task{
		id: rand.Text(), owner: r.user(), created: time.Now(), ttl: ttl, extended: r.Stateless,
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
	request := *r
	request.job, request.task, request.after = task.job, task, nil
	r.after = func() {
		c.startJob(task.job, func() {
			defer cancel(nil)
			defer stop()
			v, problem := callRecovering(func() (any, *Error) { return t.run(ctx, &request, args) })
			c.finishTask(task, v, problem)
		})
	}
	return task, nil
}

// finishTask records the outcome of the call of a task. A call that ended in an
// error of the protocol or of the tool is a failed task
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
		c.notifyTaskStatus(t) // before a waiting tasks/result is answered
	}
	close(t.done)
}

// firstText returns the first text of the result of a tool that failed.
func firstText(result Object) string {
	blocks, _ := result["content"].([]any)
	for _, b := range blocks {
		if s := stringOf(b.(Object)["text"]); s != "" {
			return s
		}
	}
	return "The tool failed."
}

// notifyTaskStatus notifies the client of the status of a task. The notification
// names the task itself, so it carries no related-task metadata
// (basic/utilities/tasks#task-notifications).
func (c *conn) notifyTaskStatus(t *task) {
	t.notifyMu.Lock()
	defer t.notifyMu.Unlock()
	switch {
	case c.ctx.Err() != nil:
	case t.extended:
		c.notifyTaskSubscribers(t)
	default:
		c.send(notificationFrame("notifications/tasks/status", t.object()))
	}
}

// whileInputRequired calls ask, which waits for the client. Meanwhile the task of
// the request, if there is one, has the status input_required.
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

// withRelatedTask puts the id of the task of the request, if there is one, into the
// _meta of params (basic/utilities/tasks#associating-task-related-messages).
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

// cancelTask cancels a task, unless it has ended, and reports whether it did.
func (c *conn) cancelTask(t *task) bool {
	if !t.setStatus(taskCancelled, "The client cancelled it.") {
		return false
	}
	c.suppressOutput(t.job)
	t.job.cancel(errCancelled)
	c.notifyTaskStatus(t)
	return true
}
