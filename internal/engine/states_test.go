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

// A keeper hands out a requestState for a tool, and tells of one that comes back
// what the result says, and whether there is one.
type keeper struct {
	hand func(tool string) string
	take func(tool, state string) (said string, ok bool)
}

// asking has two tools and nothing else ask, for a name in one round, with states
// as a keeper has them.
func asking(k keeper) server.Options {
	return server.Options{Revisions: spec.Stateless, Handler: func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			tool, _ := r.Params["name"].(string)
			if r.Method != "tools/call" || tool != "register_reader" && tool != "check_file" {
				v, problem := next(ctx, r)
				if o, _ := v.(server.Object); o["resultType"] == "input_required" {
					return nil, &server.Error{Code: spec.InternalError, Message: "Nobody else asks"}
				}
				return v, problem
			}
			if _, answered := r.Params["inputResponses"].(server.Object); !answered {
				form := server.Object{
					"type": "object", "properties": server.Object{"name": server.Object{"type": "string"}},
					"required": []any{"name"},
				}
				return server.Object{"resultType": "input_required", "requestState": k.hand(tool),
					"inputRequests": server.Object{
						"name": server.Object{
							"method": "elicitation/create",
							"params": server.Object{"mode": "form", "message": "Who?", "requestedSchema": form},
						},
					}}, nil
			}
			state, _ := r.Params["requestState"].(string)
			said, ok := k.take(tool, state)
			if !ok {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "The requestState does not verify"}
			}
			return server.Object{
				"resultType": "complete", "content": []any{server.Object{"type": "text", "text": said}},
			}, nil
		}
	}}
}

// turning returns results that alternate, each so many times in a row.
func turning(each int64) keeper {
	var n atomic.Int64
	return keeper{
		hand: func(tool string) string { return tool + "-of-the-quay" },
		take: func(string, string) (string, bool) { return fmt.Sprint((n.Add(1) - 1) / each % 2), true },
	}
}

func thanks(string, string) (string, bool) { return "Thanks", true }

// oneRetryEach keeps states that are accepted once.
func oneRetryEach() keeper {
	var mu sync.Mutex
	var n int
	open := map[string]bool{}
	return keeper{
		hand: func(tool string) string {
			mu.Lock()
			defer mu.Unlock()
			n++
			state := fmt.Sprintf("%s-number-%08d", tool, n)
			open[state] = true
			return state
		},
		take: func(_, state string) (string, bool) {
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
	// A limit is one on the length of what is posted.
	limit := around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 8000 {
			refused(w, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	constant := keeper{hand: func(string) string { return "the state of the quay" }, take: thanks}
	unread := keeper{hand: func(tool string) string { return `{"step":"1","of":"` + tool + `"}` }, take: thanks}
	tolerated(t, []leniency{
		{what: "a limit on the length", check: survived, http: limit, in: spec.Stateless, want: reports.Pass},
		{what: "a limit on the length", check: tampered, http: limit, in: spec.Stateless, want: reports.Pass},
		{what: "one state for all", check: bound, options: asking(constant), want: reports.NotObserved},
		{what: "a state that is not read", check: bound, options: asking(unread), want: reports.NotObserved},
		{what: "a state that is not read", check: tampered, options: asking(unread), want: reports.NotObserved},
		{what: "a state for one retry", check: bound, options: asking(oneRetryEach()), want: reports.NotObserved},
		{what: "a state for one retry", check: tampered, options: asking(oneRetryEach()), want: reports.NotObserved},
		{what: "results in turn", check: tampered, options: asking(turning(1)), want: reports.NotObserved},
		{what: "results in turn by two", check: tampered, options: asking(turning(2)), want: reports.NotObserved},
		{what: "results in turn by three", check: tampered, options: asking(turning(3)), want: reports.NotObserved},
		{what: "results in turn by five", check: tampered, options: asking(turning(5)), want: reports.NotObserved},
	})
}
