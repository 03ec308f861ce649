package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// scenarios are those that the public suite runs against servers.
const scenarios = `
	server-initialize server-session-lifecycle server-stateless ping logging-set-level completion-complete
	tools-list tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource
	tools-call-mixed-content tools-call-with-logging tools-call-error tools-call-with-progress tools-call-sampling
	tools-call-elicitation json-schema-2020-12 elicitation-sep1034-defaults elicitation-sep1330-enums
	server-sse-polling server-sse-multiple-streams resources-list resources-read-text resources-read-binary
	resources-templates-read resources-subscribe resources-unsubscribe sep-2164-resource-not-found prompts-list
	prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image
	dns-rebinding-protection caching input-required-result-basic-elicitation input-required-result-basic-sampling
	input-required-result-basic-list-roots input-required-result-request-state
	input-required-result-multiple-input-requests input-required-result-multi-round
	input-required-result-missing-input-response input-required-result-non-tool-request
	input-required-result-result-type input-required-result-unsupported-methods input-required-result-tampered-state
	input-required-result-capability-check input-required-result-ignore-extra-params
	input-required-result-validate-input http-header-validation http-custom-header-server-validation tasks-lifecycle
	tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input
	tasks-request-headers tasks-dispatch-and-envelope tasks-status-notifications tasks-required-task-error
	tasks-mrtr-composition sep-2640-skills-directory sep-2640-skills-enumeration sep-2640-skills-manifest`

// Every scenario of the public suite has checks as its counterpart, or a reason why not.
// Every check of the contract belongs to a scenario.
func TestEveryOfficialScenarioHasCounterpart(t *testing.T) {
	official, err := fixtures.ReadOfficial()
	if err != nil {
		t.Fatal(err)
	}
	checks := catalog.Of(wire.Server, catalog.Checks())
	mapped := map[string]bool{}
	seen := map[string]bool{}
	for _, c := range official {
		if seen[c.Name()] {
			t.Errorf("%s is listed twice", c.Name())
		}
		seen[c.Name()], seen[c.Scenario] = true, true
		if (len(c.Ours) > 0) == (c.Why != "") || c.In() == 0 {
			t.Errorf("%s must have either checks or a reason, and a revision", c.Name())
		}
		for _, id := range c.Ours {
			mapped[id] = true
			i := slices.IndexFunc(checks, func(k check.Check) bool { return k.ID == id })
			if i < 0 || checks[i].In&c.In() == 0 {
				t.Errorf("%s has the counterpart %s, which is no check of servers at its revisions", c.Name(), id)
			}
		}
	}
	for _, s := range strings.Fields(scenarios) {
		if !seen[s] {
			t.Errorf("the scenario %s is not listed", s)
		}
	}
	for _, c := range checks {
		if c.Profile == catalog.Official && (!mapped[c.ID] || !seen[c.Spec]) {
			t.Errorf("%s names the scenario %q, which does not list it", c.ID, c.Spec)
		}
	}
}

func TestCounterpartsDependOnRevision(t *testing.T) {
	official, err := fixtures.ReadOfficial()
	if err != nil {
		t.Fatal(err)
	}
	for rev, want := range map[spec.Revision]string{
		spec.V2025_06_18: "", spec.V2025_11_25: "tools-list:tools-name-format",
	} {
		if got := strings.Join(official.Of("tools.name.length", rev), " "); got != want {
			t.Errorf("at %s the counterpart of tools.name.length is %q, not %q", rev, got, want)
		}
	}
}

// runWithImageTool runs all checks against a reference whose image tool is not declared
// read-only. It returns the arguments of the calls of that tool.
func runWithImageTool(t *testing.T, profile string) (args []string, run *reports.Run) {
	t.Helper()
	var mu sync.Mutex
	o := server.Options{
		Official: true,
		ChangeFeatures: func(l *server.Features) {
			for _, tool := range l.Tools {
				if tool.Name == "test_image_content" {
					tool.Annotations = nil
				}
			}
		},
		Handler: func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				if r.Method == "tools/call" && strings.EqualFold(text(r.Params["name"]), "test_image_content") {
					mu.Lock()
					defer mu.Unlock()
					args = append(args, wire.Clip(text(r.Params["name"])+" "+strings.Join(keys(r.Params["arguments"]),
						","), 80))
				}
				return next(ctx, r)
			}
		},
	}
	run, err := Run(t.Context(), server.Target("reference", o), Options{
		Revisions: []spec.Revision{spec.V2026_07_28}, Session: longDeadlines(), Profile: profile,
	})
	if err != nil {
		t.Fatal(err)
	}
	return args, run
}

func text(v any) string { s, _ := v.(string); return s }

func keys(v any) (out []string) {
	o, _ := v.(server.Object)
	for k := range o {
		out = append(out, k)
	}
	return out
}

// With a profile its checks are run and its tools are called, with valid arguments only.
func TestProfileAllowsItsTools(t *testing.T) {
	t.Parallel()
	args, run := runWithImageTool(t, "")
	if len(args) > 0 || slices.ContainsFunc(run.Outcomes, func(o reports.Outcome) bool {
		return o.Area == catalog.Official
	}) {
		t.Errorf("without the profile its checks are run, or its tool is called with %q", args)
	}
	args, run = runWithImageTool(t, catalog.Official)
	if len(args) == 0 || slices.ContainsFunc(args, func(a string) bool { return a != "test_image_content " }) {
		t.Errorf("with the profile the tool is called with %q", args)
	}
	for _, o := range run.Outcomes {
		if o.ID == "official.tools.image" && (o.Verdict != reports.Pass ||
			!slices.Contains(o.Official, "tools-call-image:tools-call-image")) {
			t.Errorf("%s: %s, counterparts %v", o.Verdict, o.Detail, o.Official)
		}
	}
}

func TestCheckOfProfileClaimsNoRule(t *testing.T) {
	c := check.Check{
		ID: "a.b", Says: "x", Level: spec.Must, In: spec.Every, On: 1, Of: wire.Server, Profile: "p", Spec: "s",
		Idle: "i", Hint: "h", Probe: func(*check.T) {},
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if c.Rules = []string{"jsonrpc-utf8"}; c.Validate() == nil {
		t.Error("a check of a profile that claims a rule is valid")
	}
	if c.Profile, c.Rules = "", nil; c.Validate() == nil {
		t.Error("a MUST without rule and profile is valid")
	}
}
