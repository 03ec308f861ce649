package tasks

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// An augmentedRequest asks for a task where there can be none; plain is the
// same request without that.
type augmentedRequest struct {
	method           string
	plain, augmented wire.Entry // no Raw where none came
	steady           bool       // it is answered in the same way each time
}

var augmentedRequestsKey = check.NewKey[[]augmentedRequest]("augmented requests")

// augmentedRequests asks for a task where there can be none: in a call of an
// unknown tool, unless calls can be tasks, in the lists of the server, which
// change nothing, and in a call of one tool that may be called. It also asks
// for the list of tasks, for the judges to see what comes.
func augmentedRequests(t *check.T) []augmentedRequest {
	return check.Once(t, augmentedRequestsKey, func() []augmentedRequest {
		var out []augmentedRequest
		try := func(method string, params check.Params, steady bool) {
			r := augmentedRequest{method: method, steady: steady}
			with := maps.Clone(params)
			if with == nil {
				with = check.Params{}
			}
			with["task"] = check.Params{"ttl": 60_000}
			r.augmented, _ = t.Try(method, with).Get()
			r.plain, _ = t.Try(method, params).Get()
			if !r.alike() { // it may have been another cause
				r.augmented, _ = t.Try(method, with).Get()
			}
			out = append(out, r)
		}
		calls := t.Declares("tools") && !offer.MakesTasks(t)
		if calls {
			try("tools/call", check.Params{"name": offer.UnknownTool, "arguments": check.Params{}}, true)
		}
		for _, l := range offer.Lists(t) {
			try(l.Method, nil, false)
		}
		if !t.Declares("tasks") {
			t.Try("tasks/list", nil)
		}
		for _, tool := range offer.Tools(t) {
			if args := offer.Arguments(t, tool, 1); calls && len(args) > 0 && t.Config().MayCall(tool) && !check.Has(t, offer.SlowTool(tool)) {
				try("tools/call", offer.CallParams(tool, args[0]), false)
				break
			}
		}
		return out
	})
}

// alike tells whether both were answered in the same way: with a result, or
// with an error of the same code.
func (r augmentedRequest) alike() bool {
	a, _ := r.plain.Message.Code()
	b, _ := r.augmented.Message.Code()
	return r.plain.Message.Kind == r.augmented.Message.Kind && a == b
}

// became tells whether a task came of the request.
func (r augmentedRequest) became() bool {
	return r.augmented.Message.Result().Get("task.taskId").Exists()
}
