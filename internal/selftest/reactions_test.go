package selftest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// fails returns a handler that answers the requests that match with an error.
func fails(code int, matches func(r *server.Request) bool) func(next server.Handler) server.Handler {
	return func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if matches(r) {
				return nil, &server.Error{Code: code, Message: "Not now"}
			}
			return next(ctx, r)
		}
	}
}

// isFirst returns a condition that holds for the first request of a method.
func isFirst(method string) func(r *server.Request) bool {
	var seen atomic.Bool
	return func(r *server.Request) bool { return r.Method == method && !seen.Swap(true) }
}

// failStatusAfterResult answers tasks/get with an error for the first task whose result was
// requested, from then on.
func failStatusAfterResult() func(next server.Handler) server.Handler {
	var first atomic.Value
	return fails(spec.InternalError, func(r *server.Request) bool {
		id, _ := r.Params["taskId"].(string)
		if r.Method == "tasks/result" {
			first.CompareAndSwap(nil, id)
		}
		return r.Method == "tasks/get" && first.Load() == id
	})
}

// loseFirstResult answers the first request for the result of a task with an error, when the
// task has ended.
func loseFirstResult(next server.Handler) server.Handler {
	matches := isFirst("tasks/result")
	return func(ctx context.Context, r *server.Request) (any, *server.Error) {
		v, problem := next(ctx, r)
		if matches(r) {
			return nil, &server.Error{Code: spec.InternalError, Message: "Not now"}
		}
		return v, problem
	}
}

// changeFirstResult gives the first result of a task other content than the tool.
func changeFirstResult(next server.Handler) server.Handler {
	matches := isFirst("tasks/result")
	return func(ctx context.Context, r *server.Request) (any, *server.Error) {
		v, problem := next(ctx, r)
		if o, ok := v.(server.Object); ok && matches(r) {
			o["content"] = []any{server.Object{"type": "text", "text": "It is later now"}}
		}
		return v, problem
	}
}

// The checks of reactions to valid use fail no server that refuses a request in a
// permitted way.
func TestPermittedReactionsFailNoCheck(t *testing.T) {
	isUnknown := func(r *server.Request) bool {
		return r.Method == "tools/call" && r.Params["name"] == "mcpcheck_no_such_tool"
	}
	isNoURI := func(r *server.Request) bool { return r.Method == "resources/read" && r.Params["uri"] == "not a uri" }
	for id, handler := range map[string]func(next server.Handler) server.Handler{
		"tools.call.unknown.code":    fails(-31001, isUnknown),
		"resources.read.uri.code":    fails(spec.LegacyResourceNotFound, isNoURI),
		"resources.list.succeeds":    fails(spec.InternalError, isFirst("resources/list")),
		"tools.list.succeeds":        fails(spec.InternalError, isFirst("tools/list")),
		"tasks.result.response":      loseFirstResult,
		"tasks.result.blocks":        failStatusAfterResult(),
		"tasks.result.identical":     changeFirstResult,
		"prompts.listed.answered":    fails(spec.InternalError, isFirst("prompts/get")),
		"completion.listed.answered": fails(spec.InternalError, isFirst("completion/complete")),
		"jsonrpc.params.code": fails(spec.InvalidRequest, func(r *server.Request) bool {
			_, isText := r.Params["name"].(string)
			return r.Method == "prompts/get" && !isText
		}),
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			requirePass(t, subject{over: transport.Stdio, options: server.Options{Handler: handler}}, id)
		})
	}
}

// requirePass requires that a check passes at a revision of the handshake.
func requirePass(t *testing.T, s subject, id string) {
	t.Helper()
	var only []check.Check
	for _, c := range catalog.Checks() {
		if c.ID == id {
			only = append(only, c)
		}
	}
	o := longDeadlines()
	o.Timeout = 5 * time.Second
	r, err := s.judge(t.Context(), engine.Options{
		Checks: only, Revisions: []spec.Revision{spec.V2025_11_25}, Session: o,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, outcome := range r.Outcomes {
		if outcome.ID == id && outcome.Verdict != reports.Pass {
			t.Errorf("%s is %s: %s%s", id, outcome.Verdict, outcome.Detail, outcome.Cause)
		}
	}
	if len(r.Outcomes) == 0 {
		t.Error("nothing was judged")
	}
}
