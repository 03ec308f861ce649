package selftest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// No check calls a tool that may have effects unless the user allows it.
func TestCallsReadOnlyToolsAlone(t *testing.T) {
	for _, over := range []transport.Kind{transport.Stdio, transport.HTTP} {
		for _, rev := range []spec.Revision{spec.V2025_11_25, spec.V2026_07_28} {
			t.Run(string(over)+"/"+string(rev), func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				listed, called := map[string]bool{}, map[string]int{} // by name: whether it is read-only
				o := server.Options{StepDelay: pace}
				o.Handler = func(next server.Handler) server.Handler {
					return func(ctx context.Context, r *server.Request) (any, *server.Error) {
						v, problem := next(ctx, r)
						mu.Lock()
						defer mu.Unlock()
						if name, ok := r.Params["name"].(string); ok && r.Method == "tools/call" {
							called[name]++
						}
						if result, ok := v.(server.Object); ok && r.Method == "tools/list" {
							noteReadOnly(listed, result)
						}
						return v, problem
					}
				}
				at, given, end, err := subject{over: over, options: o}.serve()
				if err != nil {
					t.Fatal(err)
				}
				_, err = engine.Run(t.Context(), at, engine.Options{
					Given: given, Revisions: []spec.Revision{rev}, Session: longDeadlines(),
				})
				end()
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for name, times := range called {
					if isReadOnly, known := listed[name]; known && !isReadOnly {
						t.Errorf("%s was called %d times", name, times)
					}
				}
				if len(called) == 0 || !slices.Contains(valuesOf(listed), false) {
					t.Errorf("the server listed %v, and %v were called", listed, called)
				}
			})
		}
	}
}

// noteReadOnly notes which tools of a list are read-only.
func noteReadOnly(listed map[string]bool, result server.Object) {
	tools, _ := result["tools"].([]any)
	for _, one := range tools {
		tool, _ := one.(server.Object)
		name, _ := tool["name"].(string)
		annotations, _ := tool["annotations"].(server.Object)
		isReadOnly, _ := annotations["readOnlyHint"].(bool)
		listed[name] = isReadOnly
	}
}

func valuesOf(m map[string]bool) (out []bool) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
