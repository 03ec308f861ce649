package ginkgosuite

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
)

// inProcess returns the reference server as a target of the public API.
func inProcess(o server.Options) suites.Target {
	target := server.Target("reference", o)
	return suites.InProcess(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return target.Serve(ctx, in, out)
	})
}

// verdicts returns the verdict of each check at each revision.
func verdicts(r *suites.Result) map[string]reports.Verdict {
	out := map[string]reports.Verdict{}
	for _, o := range r.Outcomes {
		out[string(o.Revision)+" "+o.ID] = o.Verdict
	}
	return out
}

// specStates returns the state of each spec of a tree, by revision and id.
func specStates(t *testing.T, configure func(*types.SuiteConfig), build func()) map[string]types.SpecState {
	t.Helper()
	globals.Reset()
	formatter.ColorableStdOut = io.Discard
	states := map[string]types.SpecState{}
	ginkgo.ReportAfterSuite("states", func(report ginkgo.Report) {
		for _, s := range report.SpecReports {
			if s.LeafNodeType == types.NodeTypeIt {
				id, _, _ := strings.Cut(s.LeafNodeText, " ")
				states[s.ContainerHierarchyTexts[1]+" "+id] = s.State
			}
		}
	})
	build()
	suite, reporter := ginkgo.GinkgoConfiguration()
	// RunSpecs keeps the configuration.
	suite.LabelFilter, suite.FocusStrings, suite.DryRun = "", nil, false
	configure(&suite)
	ginkgo.RunSpecs(failures{}, "test", suite, reporter)
	return states
}

func TestRunAndGinkgoGiveEqualVerdicts(t *testing.T) {
	twice := server.Options{Frames: func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			next(f)
			if f.Kind == wire.Result && f.Method == "ping" {
				next(f)
			}
		}
	}}
	options := []suites.Option{
		suites.Revisions(suites.V2025_06_18, suites.V2026_07_28), suites.AllowTools("all"),
		suites.Only("jsonrpc", "ping", "pagination", "tools"),
	}
	for name, o := range map[string]server.Options{"conforming": {}, "answers ping twice": twice} {
		direct, err := suites.Run(t.Context(), inProcess(o), options...)
		if err != nil {
			t.Fatal(err)
		}
		want := verdicts(direct)
		byGinkgo, err := Run(t.Context(), inProcess(o), options...)
		if err != nil {
			t.Fatal(err)
		}
		for key, v := range verdicts(byGinkgo) {
			if want[key] != v {
				t.Errorf("%s: %s is %s by Run, %s by ginkgosuite.Run", name, key, want[key], v)
			}
		}
		states := specStates(t, func(*types.SuiteConfig) {}, func() { Describe(inProcess(o), options...) })
		for key, v := range want {
			state := types.SpecStateSkipped
			switch v {
			case reports.Pass, reports.Warn:
				state = types.SpecStatePassed
			case reports.Fail, reports.Broken:
				state = types.SpecStateFailed
			}
			if states[key] != state {
				t.Errorf("%s: %s is %s by Run, its spec %s", name, key, v, states[key])
			}
		}
	}
}

func TestFiltersSelectSpecs(t *testing.T) {
	asked := map[string]bool{}
	o := server.Options{Handler: func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			asked[r.Method] = true
			return next(ctx, r)
		}
	}}
	build := func() { Describe(inProcess(o), suites.Revisions(suites.V2025_06_18)) }
	for name, c := range map[string]struct {
		configure func(*types.SuiteConfig)
		runs      []string
	}{
		"label of an area": {func(s *types.SuiteConfig) { s.LabelFilter = "ping && MUST" }, []string{"ping.answered"}},
		"focus": {func(s *types.SuiteConfig) {
			s.FocusStrings = []string{"ping\\.answered "}
		}, []string{"ping.answered"}},
	} {
		clear(asked)
		var ran []string
		for key, state := range specStates(t, c.configure, build) {
			if state == types.SpecStatePassed {
				_, id, _ := strings.Cut(key, " ")
				ran = append(ran, id)
			}
		}
		if !slices.Equal(ran, c.runs) {
			t.Errorf("%s: %q ran, want %q", name, ran, c.runs)
		}
		if asked["resources/read"] {
			t.Errorf("%s: the engine ran checks that were not selected", name)
		}
	}
}

func TestBuildingTreeStartsNoTarget(t *testing.T) {
	started := false
	target := suites.InProcess(func(context.Context, io.ReadCloser, io.WriteCloser) error {
		started = true
		return nil
	})
	specStates(t, func(s *types.SuiteConfig) { s.DryRun = true }, func() { Describe(target) })
	if started {
		t.Error("the target was started")
	}
}

func TestInvalidOptionsFailOneSpec(t *testing.T) {
	states := specStates(t, func(*types.SuiteConfig) {}, func() {
		ginkgo.Describe("suite", func() { Describe(inProcess(server.Options{}), suites.Only("no.such.check")) })
	})
	if state := states["server in process has"]; state != types.SpecStateFailed {
		t.Errorf("the specs are %v", states)
	}
}
