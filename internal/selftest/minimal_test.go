package selftest

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// minimalPasses lists the checks that a server passes which offers nothing: for each
// check the transports with the revisions.
const minimalPasses = "testdata/minimal-passes.txt"

var update = flag.Bool("update", false, "rewrite the lists of passes")

// offerNothing has the server declare no capability and offer nothing.
func offerNothing(l *server.Features) {
	l.Info = server.Object{"name": "minimal", "version": "1"}
	l.Capabilities = server.Object{}
	l.Instructions = ""
	l.Tools, l.Resources, l.Templates, l.Prompts, l.Skills = nil, nil, nil, nil, nil
}

// A server that conforms, opens correctly and offers nothing gives few checks a subject:
// the opening, ping, subscriptions without content, messages that are invalid or of an
// unknown method, and the transport. A check beyond the list that passes on it passes
// without a subject, and needs evidence. A check that passes no more has lost its subject.
//
// go test ./internal/selftest -run Minimal -update rewrites the list: read the difference.
func TestMinimalServerPassesListedChecksOnly(t *testing.T) {
	t.Parallel()
	subjects := map[string]subject{
		"stdio":     {over: transport.Stdio},
		"http":      {over: transport.HTTP},
		"sse":       {over: transport.SSE},
		"protected": {over: transport.HTTP, protected: true},
	}
	for name, s := range subjects {
		s.options.ChangeFeatures = offerNothing
		subjects[name] = s
	}
	passed := passesOf(t, spec.Revisions(), subjects, func(way string, o reports.Outcome) {
		t.Errorf("%s at %s over %s is %s: %s%s", o.ID, o.Revision, way, o.Verdict, o.Detail, o.Cause)
	})
	requireListed(t, minimalPasses, passed)
}

// passesOf returns the checks that pass on subjects, each with the subject and the
// revisions, and calls report with the problems.
func passesOf(
	t *testing.T, revisions []spec.Revision, subjects map[string]subject, report func(way string, o reports.Outcome),
) (got []string) {
	t.Helper()
	passed := map[string]map[string]spec.Set{} // by check and way to run the server
	for name, s := range subjects {
		r, err := s.judge(t.Context(), engine.Options{Revisions: revisions, Session: longDeadlines()})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range r.Outcomes {
			switch {
			case o.Verdict == reports.Pass:
				if passed[o.ID] == nil {
					passed[o.ID] = map[string]spec.Set{}
				}
				passed[o.ID][name] |= spec.Only(o.Revision)
			case isProblem(o.Verdict):
				report(name, o)
			}
		}
	}
	for id, ways := range passed {
		for way, in := range ways {
			got = append(got, id+"/"+way+"/"+in.String())
		}
	}
	slices.Sort(got)
	return got
}

// requireListed requires that a file lists exactly these passes.
func requireListed(t *testing.T, file string, got []string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(string(text))
	for _, line := range got {
		if !slices.Contains(listed, line) {
			t.Errorf("%s passes; %s does not list that", line, file)
		}
	}
	for _, line := range listed {
		if !slices.Contains(got, line) {
			t.Errorf("%s is listed in %s, and does not pass", line, file)
		}
	}
}

// poorPasses lists the checks that pass on servers which declare everything and give
// nothing.
const poorPasses = "testdata/poor-passes.txt"

// failsFeatures answers all that uses what the server offers with an error.
func failsFeatures(code int) func(next server.Handler) server.Handler {
	return fails(code, func(r *server.Request) bool {
		area, _, _ := strings.Cut(r.Method, "/")
		return slices.Contains([]string{"tools", "prompts", "resources", "completion", "logging", "tasks"}, area)
	})
}

// Servers that declare all capabilities give checks no subject if their lists are empty,
// they know no method, or each request fails. A check beyond the list that passes on one
// passes without a subject.
//
// go test ./internal/selftest -run Poor -update rewrites the list: read the difference.
func TestPoorServersPassListedChecksOnly(t *testing.T) {
	t.Parallel()
	passed := passesOf(t, []spec.Revision{spec.V2025_11_25, spec.V2026_07_28}, map[string]subject{
		"empty":   {over: transport.Stdio, options: server.Options{ChangeFeatures: offerEmptyLists}},
		"http":    {over: transport.HTTP, options: server.Options{ChangeFeatures: offerEmptyLists}},
		"unknown": {over: transport.Stdio, options: server.Options{Handler: failsFeatures(spec.MethodNotFound)}},
		"failing": {over: transport.Stdio, options: server.Options{Handler: failsFeatures(spec.InternalError)}},
	}, func(string, reports.Outcome) {}) // they break rules
	requireListed(t, poorPasses, passed)
}
