package engine

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// A stateStore issues a requestState for a tool. accept returns the text of the result for
// a returned state; ok is false if the state is refused.
type stateStore struct {
	issue  func(tool string) string
	accept func(tool, state string) (text string, ok bool)
}

// requireInput returns a server of which two tools require input, a name, in one round,
// with states of a store. Its other features require no input.
func requireInput(k stateStore) server.Options {
	return server.Options{Revisions: spec.Stateless, Handler: func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			tool, _ := r.Params["name"].(string)
			if r.Method != "tools/call" || tool != "register_reader" && tool != "check_file" {
				v, problem := next(ctx, r)
				if o, _ := v.(server.Object); o["resultType"] == "input_required" {
					return nil, &server.Error{Code: spec.InternalError, Message: "No input is available"}
				}
				return v, problem
			}
			if _, answered := r.Params["inputResponses"].(server.Object); !answered {
				form := server.Object{
					"type": "object", "properties": server.Object{"name": server.Object{"type": "string"}},
					"required": []any{"name"},
				}
				return server.Object{"resultType": "input_required", "requestState": k.issue(tool),
					"inputRequests": server.Object{
						"name": server.Object{
							"method": "elicitation/create",
							"params": server.Object{"mode": "form", "message": "Who?", "requestedSchema": form},
						},
					}}, nil
			}
			state, _ := r.Params["requestState"].(string)
			text, ok := k.accept(tool, state)
			if !ok {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "The requestState does not verify"}
			}
			return server.Object{
				"resultType": "complete", "content": []any{server.Object{"type": "text", "text": text}},
			}, nil
		}
	}}
}

// alternate returns a store whose results alternate, each so many times in a row.
func alternate(each int64) stateStore {
	var n atomic.Int64
	return stateStore{
		issue:  func(tool string) string { return tool + "-of-the-quay" },
		accept: func(string, string) (string, bool) { return fmt.Sprint((n.Add(1) - 1) / each % 2), true },
	}
}

func acceptAnyState(string, string) (string, bool) { return "Thanks", true }

// singleUseStates returns a store whose states are accepted once.
func singleUseStates() stateStore {
	var mu sync.Mutex
	var n int
	open := map[string]bool{}
	return stateStore{
		issue: func(tool string) string {
			mu.Lock()
			defer mu.Unlock()
			n++
			state := fmt.Sprintf("%s-number-%08d", tool, n)
			open[state] = true
			return state
		},
		accept: func(_, state string) (string, bool) {
			mu.Lock()
			defer mu.Unlock()
			ok := open[state]
			delete(open, state)
			return "Thanks", ok
		},
	}
}

// A requestState that protects nothing, or is accepted once, breaks no rule.
func TestAcceptsUnprotectedStatesWithoutEffect(t *testing.T) {
	t.Parallel()
	const (
		survived = "input-required.state.survived"
		tampered = "input-required.state.tampered"
		bound    = "input-required.state.bound"
	)
	// The server limits the length of a POST.
	limit := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 8000 {
			refuseHTTP(w, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	constant := stateStore{issue: func(string) string { return "the state of the quay" }, accept: acceptAnyState}
	ignored := stateStore{
		issue:  func(tool string) string { return `{"step":"1","of":"` + tool + `"}` },
		accept: acceptAnyState,
	}
	requireVerdicts(t, []allowedCase{
		{what: "length limit", check: survived, http: limit, in: spec.Stateless, want: reports.Pass},
		{what: "length limit", check: tampered, http: limit, in: spec.Stateless, want: reports.Pass},
		{what: "constant state", check: bound, options: requireInput(constant), want: reports.NotObserved},
		{what: "ignored state", check: bound, options: requireInput(ignored), want: reports.NotObserved},
		{what: "ignored state", check: tampered, options: requireInput(ignored), want: reports.NotObserved},
		{what: "single use", check: bound, options: requireInput(singleUseStates()), want: reports.NotObserved},
		{what: "single use", check: tampered, options: requireInput(singleUseStates()), want: reports.NotObserved},
		{what: "alternating results", check: tampered, options: requireInput(alternate(1)), want: reports.NotObserved},
		{what: "alternate by 2", check: tampered, options: requireInput(alternate(2)), want: reports.NotObserved},
		{what: "alternate by 3", check: tampered, options: requireInput(alternate(3)), want: reports.NotObserved},
		{what: "alternate by 5", check: tampered, options: requireInput(alternate(5)), want: reports.NotObserved},
	})
}
