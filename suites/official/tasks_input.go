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

// officialTaskInputs are what a task asks its client, and what it tells who
// listens. The suite of the contract leaves out the notifications: the levels are
// those of SEP-2663 (task status notifications), which has no keyword for what is
// told, and a server that tells nothing breaks neither.
func officialTaskInputs() []check.Check {
	const input, notifications = "tasks-mrtr-input", "tasks-status-notifications"
	return []check.Check{
		{
			ID:    "official.tasks.input.asked",
			Says:  "confirm_delete becomes a task that needs input, and asks for it in inputRequests",
			Spec:  input,
			Probe: func(t *check.T) { contractTaskAsks(t, nil) },
		},
		{
			ID:   "official.tasks.input.answered",
			Says: "tasks/update is acknowledged with an empty result, and confirm_delete completes with the answer",
			Spec: input,
			Probe: func(t *check.T) {
				c := someTask(t, "confirm_delete", check.Params{"filename": "mcpcheck.txt"})
				defer c.drop()
				mustBeAcknowledged(t, "tasks/update", c.update(agreeing(c.needAsks())))
				// The acknowledgment may come before the status changes (SEP-2663, task
				// update requests), so that what is not over yet is waited for.
				c.ends("completed")
			},
		},
		{
			ID:   "official.tasks.input.partly",
			Says: "multi_input asks for two things, goes on asking for the second when the first was answered, and then completes",
			Spec: input,
			Probe: func(t *check.T) {
				c := becomesTask(t, "multi_input", check.Params{})
				defer c.drop()
				requests, ok := c.asks(2)
				if !ok {
					t.Fail("a task that asks for two things", contract.ShortJSON(requests), "the task of multi_input is %s", contract.ShortJSON(requests))
				}
				keys := slices.Sorted(maps.Keys(requests.Map()))
				contractResult(t, "tasks/update with one of two answers", c.update(check.Params{keys[0]: confirmed()}))
				task, ok := c.until(func(task gjson.Result) bool { return !wire.Member(task.Get("inputRequests"), keys[0]).Exists() })
				if !ok || task.Get("status").String() != "input_required" || !wire.Member(task.Get("inputRequests"), keys[1]).Exists() {
					t.Fail("a task that asks for "+keys[1]+" alone", contract.ShortJSON(task), "%s was answered and %s was not, and the task of multi_input is %s", keys[0], keys[1], contract.ShortJSON(task))
				}
				contractResult(t, "tasks/update with the other answer", c.update(check.Params{keys[1]: confirmed()}))
				c.ends("completed")
			},
		},
		{
			ID:   "official.tasks.rounds",
			Says: "test_tool_with_task asks for user_name before it becomes a task, whose result has the name",
			Spec: "tasks-mrtr-composition",
			Probe: func(t *check.T) {
				const tool = "test_tool_with_task"
				params := extendedParams(t, tool, check.Params{})
				d := dialogue{t, tool, "tools/call", params}
				first := d.ask()
				mustLack(t, "the result that asks for input", first.Result, "taskId")
				first.under(d, "user_name", "elicitation/create")
				made := contractResult(t, tool, d.again(first, check.Params{"user_name": alice()}))
				if made.Get("resultType").String() != "task" || made.Get("taskId").Type != gjson.String {
					t.Fail("a result of type task with a taskId", contract.ShortJSON(made), "%s was answered with %s once it had its input", tool, contract.ShortJSON(made))
				}
				mustLack(t, "the result that makes a task", made, "requestState", "inputRequests")
				task := contractTask{t, tool, made}.ends("completed")
				mustHold(t, "the text of "+tool, task.Get("result.content.0.text"), "Alice")
			},
		},
		{
			ID:    "official.tasks.notifications",
			Says:  "who listens for a task that the server agreed to tell of is told that it ended, as tasks/get tells it",
			Level: spec.Should,
			Spec:  notifications,
			Probe: func(t *check.T) {
				c := someTask(t, "confirm_delete", check.Params{"filename": "mcpcheck.txt"})
				defer c.drop()
				id := c.made.Get("taskId").Str
				requests := c.needAsks()
				call := c.listen()
				defer t.Cancel(call)
				c.update(agreeing(requests))
				m, ok := t.Await(call.Sent, func(m wire.Message) bool {
					return m.Method() == "notifications/tasks" && m.Params().Get("taskId").Str == id && taskcalls.IsFinal(m.Params())
				})
				task, _ := c.until(taskcalls.IsFinal)
				if !ok {
					t.Fail("notifications/tasks of the end of the task", "none", "the task is %s, and who listens was not told", task.Get("status").String())
				}
				if !ofStream(m, call) {
					t.Fail("the id of the subscription in _meta", contract.ShortJSON(m.Params()), "notifications/tasks does not name the subscription")
				}
				for _, member := range []string{"status", "createdAt", "result", "error"} {
					if told, got := m.Params().Get(member), task.Get(member); told.Raw != got.Raw && !contract.EqualJSON(told.Raw, got.Raw) {
						t.Fail(contract.ShortJSON(got), contract.ShortJSON(told), "%s is %s in notifications/tasks, and %s in the answer to tasks/get", member, contract.ShortJSON(told), contract.ShortJSON(got))
					}
				}
			},
		},
		{
			ID:   "official.tasks.notifications.undeclared",
			Says: "who listens for a task that the server would tell of is refused with error -32021 where the client does not declare the extension",
			Spec: notifications,
			Probe: func(t *check.T) {
				c := computing(t, 60)
				defer c.drop()
				defer t.Cancel(c.listen())
				call, m := listenFor(t, check.Params{}, c.made.Get("taskId").Str)
				if !m.IsResponse() {
					defer t.Cancel(call)
				}
				refusedUndeclared(t, "subscriptions/listen for a task", m)
			},
		},
	}
}

// asks waits until the task asks for so many things at least, and returns them.
func (c contractTask) asks(atLeast int) (requests gjson.Result, ok bool) {
	task, ok := c.until(func(task gjson.Result) bool {
		return task.Get("status").String() == "input_required" && len(task.Get("inputRequests").Map()) >= atLeast
	})
	if !ok {
		return task, false
	}
	return task.Get("inputRequests"), true
}

// needAsks is asks where that it asks is asserted by another check.
func (c contractTask) needAsks() gjson.Result {
	requests, ok := c.asks(1)
	if !ok {
		c.t.NotObserved(fmt.Sprintf("the task of %s asks for nothing: %s", c.tool, contract.ShortJSON(requests)), "")
	}
	return requests
}

// confirmed is the answer of the contract to what its tasks ask.
func confirmed() check.Params {
	return acceptsWith(check.Params{"name": "Alice", "confirm": true})
}

// agreeing answers all that was asked.
func agreeing(requests gjson.Result) check.Params {
	out := check.Params{}
	for key := range requests.Map() {
		out[key] = confirmed()
	}
	return out
}

func contractTaskAsks(t *check.T, s *scribe) {
	c := becomesTask(t, "confirm_delete", check.Params{"filename": "mcpcheck.txt"})
	defer c.drop()
	requests, ok := c.asks(1)
	if !ok {
		t.Fail("a task that is input_required, with inputRequests", contract.ShortJSON(requests), "the task of confirm_delete is %s, and asks for nothing", contract.ShortJSON(requests))
	}
	for key, entry := range requests.Map() {
		contract.MustHaveText(t, "the method of the input request "+wire.Clip(key, 40), entry.Get("method"))
		s.text(t, "the method of the input request of confirm_delete", entry.Get("method"), "elicitation/create")
	}
	s.note(t, "what confirm_delete asks for", len(requests.Map()) == 1, requests, "one elicitation")
}

// listenFor opens a stream for a task.
func listenFor(t *check.T, params check.Params, id string) (*check.Call, wire.Message) {
	params["notifications"] = check.Params{"taskIds": []string{id}}
	call := t.Start("subscriptions/listen", params)
	m, ok := t.Await(call.Sent, func(m wire.Message) bool { return ofStream(m, call) || m.IsResponse() && m.ID().Equal(call.ID) })
	if !ok {
		t.Fail("an acknowledgment or an error", "nothing", "subscriptions/listen for a task was not answered")
	}
	return call, m
}

// listen opens a stream on which the server agrees to tell of the task, which it
// need not.
func (c contractTask) listen() *check.Call {
	id := c.made.Get("taskId").Str
	call, ack := listenFor(c.t, extending(c.t, check.Params{}), id)
	if ack.IsResponse() || !slices.ContainsFunc(ack.Params().Get("notifications.taskIds").Array(), func(v gjson.Result) bool { return v.Str == id }) {
		c.t.NotObserved("the server does not agree to tell of tasks: "+ack.Summary(), "")
	}
	return call
}
