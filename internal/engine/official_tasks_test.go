package engine

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// runTasksChecks runs all checks against the reference with the contract. It returns how
// many requests declared the tasks extension. The server ignores the member swallow of
// subscription filters.
func runTasksChecks(t *testing.T, profile string, edit func(*server.Features),
	swallow string) (declared int, run *reports.Run) {
	t.Helper()
	var n atomic.Int64
	o := server.Options{
		Official: true, StepDelay: time.Millisecond, ChangeFeatures: edit,
		Handler: func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				meta, _ := r.Params["_meta"].(server.Object)
				capabilities, _ := meta[spec.MetaClientCapabilities].(server.Object)
				if _, ok := capabilities["extensions"]; ok {
					n.Add(1)
				}
				if filter, ok := r.Params["notifications"].(server.Object); ok && swallow != "" {
					delete(filter, swallow)
				}
				return next(ctx, r)
			}
		},
	}
	run, err := Run(t.Context(), server.Target("reference", o), Options{
		Revisions: []spec.Revision{spec.V2026_07_28}, Session: longDeadlines(), Profile: profile,
		Allow: func(string) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(n.Load()), run
}

// A server may answer with tasks if a client declares the extension. A run without the
// profile does not declare it.
func TestDeclaresTasksExtensionInProfileOnly(t *testing.T) {
	t.Parallel()
	declared, run := runTasksChecks(t, "", nil, "")
	if declared != 0 {
		t.Errorf("without the profile %d requests declare the extension", declared)
	}
	for _, o := range run.Outcomes {
		if o.Verdict == reports.Fail || o.Verdict == reports.Warn {
			t.Errorf("without the profile %s is %s: %s", o.ID, o.Verdict, o.Detail)
		}
	}
	if declared, _ = runTasksChecks(t, catalog.Official, nil, ""); declared == 0 {
		t.Error("with the profile no request declares the extension")
	}
}

// A server need not have the extension, and a server with the extension need not notify
// of tasks.
func TestTasksExtensionIsOptional(t *testing.T) {
	t.Parallel()
	_, run := runTasksChecks(t, catalog.Official, func(l *server.Features) {
		delete(l.Capabilities, "extensions")
		l.Tools = slices.DeleteFunc(l.Tools, func(tool *server.Tool) bool {
			return tool.TaskSupport != "" && tool.In == spec.Stateless || tool.Name == "greet"
		})
	}, "")
	seen := 0
	for _, o := range run.Outcomes {
		if strings.HasPrefix(o.ID, "official.tasks.") {
			if seen++; o.Verdict != reports.NotApplicable {
				t.Errorf("%s is %s: %s", o.ID, o.Verdict, o.Detail)
			}
		} else if o.Verdict == reports.Fail || o.Verdict == reports.Warn {
			t.Errorf("%s is %s: %s", o.ID, o.Verdict, o.Detail)
		}
	}
	if seen == 0 {
		t.Error("no check of the extension was run")
	}
	_, run = runTasksChecks(t, catalog.Official, nil, "taskIds")
	for _, o := range run.Outcomes {
		if strings.HasPrefix(o.ID, "official.tasks.notifications") && o.Verdict != reports.NotObserved {
			t.Errorf("%s is %s: %s", o.ID, o.Verdict, o.Detail)
		}
	}
}
