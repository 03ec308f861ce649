package official

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// taskInputProbes returns the probes of the input that a task requests, and of its
// notifications. The suite of the contract does not assert notifications: the levels
// are those of SEP-2663 (task status notifications). It has no keyword for their
// contents, and a server that sends none breaks no rule.
func taskInputProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.tasks.input.asked",
			Says: "confirm_delete becomes a task that requires input and requests it in inputRequests",
			Spec: tasksInput,
			Idle: noTask,
			Probe: func(t *check.T) {
				verifyTaskInput(t, nil)
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.input.answered",
			Says: "tasks/update returns an empty result, and confirm_delete completes with the answer",
			Spec: tasksInput,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := startTask(t, "confirm_delete", check.Params{"filename": "mcpcheck.txt"})
				defer c.cancel()
				mustBeAcknowledged(t, "tasks/update", c.update(confirmAll(c.requireInputRequests())))
				// The acknowledgment may come before the status changes (SEP-2663, task update
				// requests).
				c.mustEnd("completed")
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.input.partly",
			Says: "multi_input requests two inputs, after one answer still the other, and then completes",
			Spec: tasksInput,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := mustStartTask(t, "multi_input", check.Params{})
				defer c.cancel()
				requests, ok := c.inputRequests(2)
				if !ok {
					t.Fail("a task with two input requests", contract.ShortJSON(requests),
						"the task of multi_input does not request two inputs")
				}
				keys := slices.Sorted(maps.Keys(requests.Map()))
				mustBeResult(t, "tasks/update with one of two answers",
					c.update(check.Params{keys[0]: confirmAnswer()}))
				hasRequest := func(task gjson.Result, key string) bool {
					return wire.Member(task.Get("inputRequests"), key).Exists()
				}
				task, ok := c.waitUntil(func(task gjson.Result) bool { return !hasRequest(task, keys[0]) })
				if !ok || task.Get("status").String() != "input_required" || !hasRequest(task, keys[1]) {
					t.Fail("a task that requests only "+keys[1], contract.ShortJSON(task),
						"%s was answered and %s was not, and the task of multi_input does not request the second",
						keys[0], keys[1])
				}
				mustBeResult(t, "tasks/update with the other answer", c.update(check.Params{keys[1]: confirmAnswer()}))
				c.mustEnd("completed")
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.rounds",
			Says: "test_tool_with_task requests user_name before it becomes a task, and the task's result has the name",
			Spec: "tasks-mrtr-composition",
			Idle: noCall,
			Probe: func(t *check.T) {
				const tool = "test_tool_with_task"
				params := callParamsWithTasks(t, tool, check.Params{})
				d := dialogue{t, tool, "tools/call", params}
				first := d.start()
				mustLack(t, "the result that requests input", first.Result, "taskId")
				first.mustAskUnder(d, "user_name", "elicitation/create")
				created := mustBeResult(t, tool, d.next(first, check.Params{"user_name": aliceAnswer()}))
				mustCreateTask(t, tool, created)
				mustLack(t, "the result that creates a task", created, "requestState", "inputRequests")
				task := startedTask{t, tool, created}.mustEnd("completed")
				mustContain(t, "the text of "+tool, task.Get("result.content.0.text"), "Alice")
				t.Saw()
			},
		},
		{
			ID:    "official.tasks.notifications",
			Says:  "a client that subscribed to a task receives a notification of its end that agrees with tasks/get",
			Level: spec.Should,
			Spec:  tasksNotifications,
			Idle:  noTask,
			Probe: func(t *check.T) {
				c := startTask(t, "confirm_delete", check.Params{"filename": "mcpcheck.txt"})
				defer c.cancel()
				id := c.created.Get("taskId").Str
				requests := c.requireInputRequests()
				call := c.listen()
				defer t.Cancel(call)
				c.update(confirmAll(requests))
				m, ok := t.Await(call.FrameIndex, func(m wire.Message) bool {
					return m.Method() == "notifications/tasks" && m.Params().Get("taskId").Str == id &&
						taskcalls.IsFinal(m.Params())
				})
				task, _ := c.waitUntil(taskcalls.IsFinal)
				if !ok {
					t.Fail("notifications/tasks of the end of the task", "none",
						"the task is %s, and the subscription received no notification of it",
						task.Get("status").String())
				}
				if !isOfSubscription(m, call) {
					t.Fail("the id of the subscription in _meta", contract.ShortJSON(m.Params()),
						"notifications/tasks does not name the subscription")
				}
				mustAgree(t, m.Params(), task)
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.notifications.undeclared",
			Says: "subscriptions/listen for a task returns error -32021 if the client does not declare the extension",
			Spec: tasksNotifications,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := startComputing(t, 60)
				defer c.cancel()
				defer t.Cancel(c.listen())
				call, m := listenFor(t, check.Params{}, c.created.Get("taskId").Str)
				if !m.IsResponse() {
					defer t.Cancel(call)
				}
				mustRefuseUndeclared(t, "subscriptions/listen for a task", m)
				t.Saw()
			},
		},
	}
}

// mustAgree asserts that the notification of a task agrees with the task that tasks/get
// returned.
func mustAgree(t *check.T, notified, task gjson.Result) {
	for _, member := range []string{"status", "createdAt", "result", "error"} {
		got, want := notified.Get(member), task.Get(member)
		if got.Raw != want.Raw && !contract.EqualJSON(got.Raw, want.Raw) {
			t.Fail(contract.ShortJSON(want), contract.ShortJSON(got),
				"%s differs between notifications/tasks and the result of tasks/get", member)
		}
	}
}

// inputRequests waits until the task has so many input requests at least, and returns
// them. ok is false if it ends before: then the task is returned.
func (c startedTask) inputRequests(atLeast int) (requests gjson.Result, ok bool) {
	task, ok := c.waitUntil(func(task gjson.Result) bool {
		return task.Get("status").String() == "input_required" && len(task.Get("inputRequests").Map()) >= atLeast
	})
	if !ok {
		return task, false
	}
	return task.Get("inputRequests"), true
}

// requireInputRequests returns the input requests of the task as a condition of the rule:
// another check asserts that there are any.
func (c startedTask) requireInputRequests() gjson.Result {
	requests, ok := c.inputRequests(1)
	if !ok {
		c.t.NotObserved(fmt.Sprintf("the task of %s requests no input: %s", c.tool, contract.ShortJSON(requests)), "")
	}
	return requests
}

// confirmAnswer returns the answer of the contract to the input requests of its tasks.
func confirmAnswer() check.Params {
	return acceptAnswer(check.Params{"name": "Alice", "confirm": true})
}

// confirmAll returns an answer to each input request.
func confirmAll(requests gjson.Result) check.Params {
	out := check.Params{}
	for key := range requests.Map() {
		out[key] = confirmAnswer()
	}
	return out
}

// verifyTaskInput asserts that confirm_delete becomes a task that requests input.
func verifyTaskInput(t *check.T, diff *differences) {
	c := mustStartTask(t, "confirm_delete", check.Params{"filename": "mcpcheck.txt"})
	defer c.cancel()
	requests, ok := c.inputRequests(1)
	if !ok {
		t.Fail("a task that is input_required, with inputRequests", contract.ShortJSON(requests),
			"the task of confirm_delete requests no input")
	}
	for key, entry := range requests.Map() {
		contract.MustBeNonEmpty(t, "the method of the input request "+wire.Clip(key, 40), entry.Get("method"))
		diff.compareText(t, "the method of the input request of confirm_delete", entry.Get("method"),
			"elicitation/create")
	}
	diff.compare(t, "the input requests of confirm_delete", len(requests.Map()) == 1, requests, "one elicitation")
}

// listenFor opens a subscription to a task and returns the first message on it.
func listenFor(t *check.T, params check.Params, id string) (*check.Call, wire.Message) {
	params["notifications"] = check.Params{"taskIds": []string{id}}
	call := t.Start("subscriptions/listen", params)
	m, ok := awaitFirst(t, call)
	if !ok {
		t.Fail("an acknowledgment or an error", "nothing", "subscriptions/listen for a task was not answered")
	}
	return call, m
}

// listen opens a subscription to the task. A server that does not accept it, which it
// need not, makes the check not observed.
func (c startedTask) listen() *check.Call {
	id := c.created.Get("taskId").Str
	call, ack := listenFor(c.t, paramsWithTasks(c.t, check.Params{}), id)
	accepted := ack.Params().Get("notifications.taskIds").Array()
	if ack.IsResponse() || !slices.ContainsFunc(accepted, func(v gjson.Result) bool { return v.Str == id }) {
		c.t.NotObserved("the server accepts no subscription to tasks: "+ack.Summary(), "")
	}
	return call
}
