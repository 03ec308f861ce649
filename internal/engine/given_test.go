package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// recordingTarget returns a server with two tools that are not read-only, a prompt with a
// required argument and a template. sent are the params of the requests by method.
func recordingTarget(sent map[string][]string) transport.Target {
	var mu sync.Mutex
	return functionTarget("recording", func(m wire.Message) string {
		result := `{}`
		switch m.Method() {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},` +
				`"serverInfo":{"name":"recording","version":"1"}}`
		case "tools/list":
			schema := `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`
			result = `{"tools":[{"name":"given","inputSchema":` + schema + `},{"name":"other","inputSchema":` + schema +
				`}]}`
		case "prompts/list":
			result = `{"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}]}`
		case "resources/list":
			result = `{"resources":[]}`
		case "resources/templates/list":
			result = `{"resourceTemplates":[{"uriTemplate":"note:///{id}","name":"note"}]}`
		case "tools/call":
			result = `{"content":[]}`
		case "prompts/get":
			result = `{"messages":[]}`
		case "resources/read":
			result = `{"contents":[]}`
		}
		mu.Lock()
		defer mu.Unlock()
		sent[m.Method()] = append(sent[m.Method()], m.Params().Raw)
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID().Raw, result)
	})
}

func TestUsesConfiguredValuesOnly(t *testing.T) {
	sent := map[string][]string{}
	checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), []string{"tools.*", "jsonrpc.version"},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := Run(t.Context(), recordingTarget(sent), Options{
		Checks: checks, Revisions: []spec.Revision{spec.V2025_06_18}, Session: shortDeadlines(),
		Given: check.Given{
			Tools:     map[string][]string{"given": {`{"q":"mine"}`}, "gone": {`{}`}},
			Prompts:   map[string][]string{"greet": {`{"who":"Ada"}`}, "left": {`{}`}},
			Templates: map[string][]string{"note:///{id}": {`{"id":"a b"}`}},
			Resources: []string{"note:///7"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := slices.DeleteFunc(slices.Clone(sent["tools/call"]), func(params string) bool {
		return strings.Contains(params, "mcpcheck_no_such_tool")
	})
	if len(calls) == 0 {
		t.Error("the tool with configured arguments was not called")
	}
	for _, params := range calls {
		if !strings.Contains(params, `"name":"given"`) || !strings.Contains(params, `"arguments":{"q":"mine"}`) {
			t.Errorf("tools/call was sent with %s", params)
		}
	}
	for method, want := range map[string][]string{
		"prompts/get":    {`"arguments":{"who":"Ada"}`},
		"resources/read": {`"uri":"note:///7"`, `"uri":"note:///a%20b"`},
	} {
		for _, w := range want {
			if !slices.ContainsFunc(sent[method], func(params string) bool { return strings.Contains(params, w) }) {
				t.Errorf("%s was never sent with %s, but with %q", method, w, sent[method])
			}
		}
	}
	notes := strings.Join(run.Notes, "\n")
	for _, name := range []string{`the tool "gone"`, `the prompt "left"`} {
		if !strings.Contains(notes, name) {
			t.Errorf("no note names %s, which the server does not list: %q", name, notes)
		}
	}
	if strings.Contains(notes, `"given"`) || strings.Contains(notes, "greet") || strings.Contains(notes, "note:") {
		t.Errorf("the notes name entries that the server lists: %q", notes)
	}
}

// A tool that is not declared read-only is called with configured arguments only, by no
// check, and under no spelling of its name.
func TestCallsToolsWithConfiguredArgumentsOnly(t *testing.T) {
	t.Parallel()
	given := map[string][]string{
		"check_file": {`{"uri":"file:///mcpcheck-test/mine"}`},
		"empty_bin":  {`{"deep":true}`},
	}
	for name, tools := range map[string]map[string][]string{"nothing is configured": nil, "two tools are": given} {
		calls := &recordedCalls{}
		run, err := Run(t.Context(), server.Target("unannotated", calls.options()), Options{
			Checks: catalog.Of(wire.Server, catalog.Checks()), Revisions: spec.Revisions(), Session: shortDeadlines(),
			Given: check.Given{Tools: tools},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls.made {
			if !slices.Contains(tools[c.tool], c.arguments) {
				t.Errorf("%s: %s was called as %q with %s", name, c.tool, c.name, c.arguments)
			}
		}
		if len(calls.made) == 0 && tools != nil {
			t.Errorf("%s: no tool was called", name)
		}
		for _, o := range run.Outcomes {
			if o.ID == "tools.call.arguments.validated" && o.Verdict != reports.NotObserved {
				t.Errorf("%s: %s is %s", name, o.ID, o.Verdict)
			}
		}
	}
}

// recordedCalls are the calls of the tools of a server.
type recordedCalls struct {
	mu   sync.Mutex
	made []recordedCall
}

// A recordedCall is a call of a tool by its name in any case.
type recordedCall struct{ tool, name, arguments string }

// options returns those of a server whose tools have no annotations: all of the
// reference, one of which requests roots, and one that requires no argument.
func (c *recordedCalls) options() server.Options {
	var names []string // of all tools
	return server.Options{
		ChangeFeatures: func(l *server.Features) {
			l.Tools = append(l.Tools, &server.Tool{
				Name: "empty_bin",
				InputSchema: server.Object{
					"type": "object", "properties": server.Object{"deep": server.Object{"type": "boolean"}},
				},
				Run: func(context.Context, *server.Call) server.Outcome { return server.Outcome{} },
			})
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, tool := range l.Tools {
				tool.Annotations = nil
				names = append(names, tool.Name)
			}
		},
		Handler: func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				if r.Method == "tools/call" {
					c.record(names, r.Params)
				}
				return next(ctx, r)
			}
		},
	}
}

// record records a call if it names a tool in any case.
func (c *recordedCalls) record(tools []string, params server.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, _ := params["name"].(string)
	at := slices.IndexFunc(tools, func(tool string) bool { return strings.EqualFold(tool, name) })
	if at < 0 {
		return
	}
	arguments := string(check.MustJSON(params["arguments"]))
	if c.made = append(c.made, recordedCall{tools[at], name, arguments}); len(c.made) > 1000 {
		c.made = c.made[:1000]
	}
}
