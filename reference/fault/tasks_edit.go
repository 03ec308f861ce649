package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// relatedTask is the key of _meta that names the task a message belongs to.
const relatedTask = "io.modelcontextprotocol/related-task"

// onCapability changes the capability tasks as the client is told of it; the
// server serves what it did.
func onCapability(edit func(tasks server.Object)) apply {
	return onResult("initialize", func(o server.Object) {
		if tasks, ok := o["capabilities"].(server.Object)["tasks"].(server.Object); ok {
			edit(tasks)
		}
	})
}

// augmented handles requests of the method that ask for a task.
func augmented(method string, handle func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == method && r.Params["task"] != nil {
				return handle(ctx, r, next)
			}
			return next(ctx, r)
		}
	})
}

// A change is made to what the server answers about a task.
type change func(r *server.Request, v any, problem *server.Error) (any, *server.Error)

// aboutTasksOf changes the answers about the tasks of one tool.
func aboutTasksOf(tool string, alter change) apply {
	return onHandler(func(next server.Handler) server.Handler {
		var mine sync.Map
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			o, _ := v.(server.Object)
			if task, ok := o["task"].(server.Object); ok && r.Method == "tools/call" && r.Params["name"] == tool {
				mine.Store(task["taskId"], true)
			}
			if _, known := mine.Load(r.Params["taskId"]); known {
				return alter(r, v, problem)
			}
			if tasks, ok := o["tasks"].([]any); ok && r.Method == "tasks/list" {
				for _, task := range tasks {
					if _, known := mine.Load(task.(server.Object)["taskId"]); known {
						_, _ = alter(r, task, nil)
					}
				}
			}
			return v, problem
		}
	})
}

// onCreated changes a task in the answer that makes it.
func onCreated(edit func(task server.Object)) apply {
	return onResult("tools/call", func(o server.Object) {
		if task, ok := o["task"].(server.Object); ok {
			edit(task)
		}
	})
}

// as is the request under another method.
func as(r *server.Request, method string) *server.Request {
	other := *r
	other.Method = method
	return &other
}

func replace(task server.Object, status, by string) {
	if task["status"] == status {
		task["status"] = by
	}
}

func onListedTasks(edit func(task server.Object)) apply {
	return onResult("tasks/list", func(o server.Object) {
		for _, task := range o["tasks"].([]any) {
			edit(task.(server.Object))
		}
	})
}

// ofResults changes the results of the tasks of a tool.
func ofResults(tool string, edit func(o server.Object)) apply {
	return aboutTasksOf(tool, func(r *server.Request, v any, problem *server.Error) (any, *server.Error) {
		if o, ok := v.(server.Object); ok && r.Method == "tasks/result" {
			edit(o)
		}
		return v, problem
	})
}

// onNotified changes the params of outgoing notifications of a method.
func onNotified(method string, edit func(params server.Object)) apply {
	return onFrame(func(f server.Frame, members map[string]json.RawMessage) {
		if f.Method != method {
			return
		}
		var params server.Object
		if err := json.Unmarshal(members["params"], &params); err != nil {
			panic(fmt.Sprintf("fault: the server sent %q: %v", f.Raw, err))
		}
		edit(params)
		members["params"] = encode(params)
	}, wire.Notification)
}

// workTime is twice as long as stocktake works if nothing else is asked for.
const workTime = 200 * time.Millisecond

// madeLate holds the answer as long as work would take, and has the task end
// right then: a tasks/get behind it waits for that.
func madeLate(o *server.Options) {
	all(
		augmented("tools/call", func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error) {
			if r.Params["name"] == "stocktake" {
				r.Park()
				work := time.NewTimer(workTime)
				defer work.Stop()
				<-work.C
				r.Params["arguments"] = server.Object{"duration_ms": json.Number("0"), "steps": json.Number("1")}
			}
			return next(ctx, r)
		}),
		onHandler(func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				v, problem := next(ctx, r)
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for r.Method == "tasks/get" && atWork(v) {
					<-tick.C
					v, problem = next(ctx, r)
				}
				return v, problem
			}
		}),
	)(o)
}

// atWork tells whether a result is a task at work.
func atWork(v any) bool {
	task, ok := v.(server.Object)
	return ok && task["status"] == "working"
}

// resultEarly refuses tasks/result while a task of stocktake is at work.
func resultEarly(o *server.Options) {
	onHandler(func(next server.Handler) server.Handler {
		var mine sync.Map
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if _, known := mine.Load(r.Params["taskId"]); known && r.Method == "tasks/result" {
				if task, _ := next(ctx, as(r, "tasks/get")); atWork(task) {
					return nil, &server.Error{Code: spec.InvalidRequest, Message: "The task is not done"}
				}
			}
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && r.Method == "tools/call" && r.Params["name"] == "stocktake" {
				if task, ok := o["task"].(server.Object); ok {
					mine.Store(task["taskId"], true)
				}
			}
			return v, problem
		}
	})(o)
}

// taskGoesOn reports progress of a cancelled task as if it went on.
func taskGoesOn(o *server.Options) {
	onFrames(func(next server.FrameSink) server.FrameSink {
		tokens := map[string]any{} // by the id of a task
		return func(f server.Frame) {
			next(f)
			m := wire.Parse(f.Raw)
			switch {
			case m.Kind != wire.Result:
			case f.Method == "tools/call" && m.Result().Get("task").Exists():
				meta, _ := f.Request.Params["_meta"].(server.Object)
				tokens[m.Result().Get("task.taskId").String()] = meta["progressToken"]
			case f.Method == "tasks/cancel":
				id := m.Result().Get("taskId").String()
				if tokens[id] == nil {
					return
				}
				for i := range 3 {
					next(server.Frame{Kind: wire.Notification, Method: "notifications/progress", Raw: encode(server.Object{
						"jsonrpc": "2.0", "method": "notifications/progress",
						"params": server.Object{"progressToken": tokens[id], "progress": 90 + i, "total": 100, "_meta": server.Object{relatedTask: server.Object{"taskId": id}}},
					})})
				}
			}
		}
	})(o)
}

// taskIDs gives tasks other ids, the n-th task that which pick returns for the
// request that made it; "" leaves it its own.
func taskIDs(pick func(n int, r *server.Request) string) apply {
	return func(o *server.Options) {
		var mu sync.Mutex
		made := 0
		outwards, inwards := map[string]string{}, map[string]string{}
		exchange := func(line []byte, names map[string]string) []byte {
			mu.Lock()
			defer mu.Unlock()
			s := string(line)
			for from, to := range names {
				s = strings.ReplaceAll(s, `"`+from+`"`, `"`+to+`"`)
			}
			return []byte(s)
		}
		onFrames(func(next server.FrameSink) server.FrameSink {
			return func(f server.Frame) {
				if id := wire.Parse(f.Raw).Result().Get("task.taskId").String(); id != "" && f.Method == "tools/call" {
					mu.Lock()
					made++
					if other := pick(made, f.Request); other != "" {
						outwards[id], inwards[other] = other, id
					}
					mu.Unlock()
				}
				f.Raw = exchange(f.Raw, outwards)
				next(f)
			}
		})(o)
		onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
			return func(line []byte) error { return next(exchange(line, inwards)) }
		})(o)
	}
}
