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

var update = flag.Bool("update", false, "rewrite "+minimalPasses)

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
	passed := map[string]map[string]spec.Set{} // by check and way to run the server
	for name, s := range map[string]subject{
		"stdio":     {over: transport.Stdio},
		"http":      {over: transport.HTTP},
		"sse":       {over: transport.SSE},
		"protected": {over: transport.HTTP, protected: true},
	} {
		s.options.ChangeFeatures = offerNothing
		r, err := s.judge(t.Context(), engine.Options{Revisions: spec.Revisions(), Session: longDeadlines()})
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
				t.Errorf("%s at %s over %s is %s: %s%s", o.ID, o.Revision, name, o.Verdict, o.Detail, o.Cause)
			}
		}
	}
	var got []string
	for id, ways := range passed {
		for way, revisions := range ways {
			got = append(got, id+"/"+way+"/"+revisions.String())
		}
	}
	slices.Sort(got)
	if *update {
		if err := os.WriteFile(minimalPasses, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(minimalPasses)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(string(text))
	for _, line := range got {
		if !slices.Contains(listed, line) {
			t.Errorf("%s passes on the minimal server; %s does not list that", line, minimalPasses)
		}
	}
	for _, line := range listed {
		if !slices.Contains(got, line) {
			t.Errorf("%s is listed in %s, and does not pass on the minimal server", line, minimalPasses)
		}
	}
}
