package engine

import (
	"context"
	"fmt"
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

// runSkillsChecks runs the checks of the profile against the reference. It returns the
// outcomes of the skills extension by their id without official.skills. No other check may
// fail or warn.
func runSkillsChecks(t *testing.T, edit func(*server.Features),
	handler func(next server.Handler) server.Handler) map[string]reports.Outcome {
	t.Helper()
	run, err := Run(t.Context(), server.Target("reference",
		server.Options{Official: true, StepDelay: time.Millisecond, ChangeFeatures: edit, Handler: handler}), Options{
		Revisions: []spec.Revision{spec.V2026_07_28}, Session: longDeadlines(), Profile: catalog.Official,
		Allow: func(string) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]reports.Outcome{}
	for _, o := range run.Outcomes {
		if name, ok := strings.CutPrefix(o.ID, "official.skills."); ok {
			out[name] = o
		} else if o.Verdict == reports.Fail || o.Verdict == reports.Warn {
			t.Errorf("%s is %s: %s", o.ID, o.Verdict, o.Detail)
		}
	}
	if len(out) < 30 {
		t.Fatalf("%d checks of the extension were run, want at least 30", len(out))
	}
	return out
}

// requireSkillsVerdicts compares the verdicts of the checks. Checks that are not named
// must have the verdict other.
func requireSkillsVerdicts(t *testing.T, got map[string]reports.Outcome, other reports.Verdict,
	named map[reports.Verdict]string) {
	t.Helper()
	for name, o := range got {
		want := other
		for verdict, names := range named {
			if slices.Contains(strings.Fields(names), name) {
				want = verdict
			}
		}
		if o.Verdict != want {
			t.Errorf("%s is %s, not %s: %s", name, o.Verdict, want, o.Detail)
		}
	}
}

// A server need not have the extension. Without it no request of the extension is sent.
func TestSkillsExtensionIsOptional(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 1000)
	got := runSkillsChecks(t, func(l *server.Features) {
		delete(l.Capabilities["extensions"].(server.Object), "io.modelcontextprotocol/skills")
		l.Skills = nil
	}, func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if strings.HasPrefix(r.Method, "skills/") || r.Method == "resources/directory/read" {
				sent <- r.Method
			}
			return next(ctx, r)
		}
	})
	requireSkillsVerdicts(t, got, reports.NotApplicable, nil)
	if len(sent) > 0 {
		t.Errorf("%s was sent, although the server does not declare it", <-sent)
	}
}

// A list may be empty (SEP-2640, listing skills).
func TestAcceptsEmptyListOfSkills(t *testing.T) {
	t.Parallel()
	got := runSkillsChecks(t, func(l *server.Features) { l.Skills = nil }, nil)
	requireSkillsVerdicts(t, got, reports.NotObserved, map[reports.Verdict]string{
		reports.Pass: "declared declared.resources list list.cached get.unknown directory.refused",
	})
}

// A server that declares an empty object has no resources/directory/read.
func TestDoesNotReadUndeclaredDirectories(t *testing.T) {
	t.Parallel()
	got := runSkillsChecks(t, func(l *server.Features) {
		l.Capabilities["extensions"].(server.Object)["io.modelcontextprotocol/skills"] = server.Object{}
	}, func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "resources/directory/read" {
				t.Error("resources/directory/read was sent, although the server does not declare it")
			}
			return next(ctx, r)
		}
	})
	requireSkillsVerdicts(t, got, reports.Pass, map[reports.Verdict]string{
		reports.NotApplicable: "directory directory.children directory.subdirectories directory.pages " +
			"directory.refused",
	})
}

// Dynamic skills list no files. Their SKILL.md is still judged.
func TestJudgesSkillFilesOfDynamicSkills(t *testing.T) {
	t.Parallel()
	got := runSkillsChecks(t, func(l *server.Features) {
		for _, s := range l.Skills {
			s.Dynamic = true
		}
	}, nil)
	requireSkillsVerdicts(t, got, reports.Pass, map[reports.Verdict]string{
		reports.NotObserved: "manifest.complete manifest.within manifest.digest manifest.size manifest.limits " +
			"read.bytes directory.subdirectories",
	})
}

// A server may serve its skills under a scheme of its own (SEP-2640, resource mapping).
// No clause states more about such a scheme.
func TestAcceptsSkillsOfAnotherScheme(t *testing.T) {
	t.Parallel()
	got := runSkillsChecks(t, func(l *server.Features) {
		for _, s := range l.Skills {
			s.Root = strings.Replace(s.Root, "skill://", "library://skills/", 1)
		}
	}, nil)
	requireSkillsVerdicts(t, got, reports.Pass, map[reports.Verdict]string{
		reports.NotObserved: "entry.path read.mime-type listed meta",
	})
}

// A file may change after its entry was read. A new request for the entry returns the
// digest of the new content (SEP-2640, verification on read).
func TestRequestsChangedSkillsAgain(t *testing.T) {
	t.Parallel()
	const file = "skill://desk/lending/references/loans.md"
	var changed atomic.Bool
	got := runSkillsChecks(t, nil, func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "resources/read" && r.Params["uri"] == file {
				changed.Store(true)
			}
			v, problem := next(ctx, r)
			o, _ := v.(server.Object)
			entries, _ := o["skills"].([]any)
			for _, entry := range append(entries, o["skill"]) {
				entry, _ := entry.(server.Object)
				records, _ := entry["resources"].([]any)
				for _, record := range records {
					if record := record.(server.Object); record["uri"] == file && !changed.Load() {
						record["digest"], record["size"] = "sha256:"+strings.Repeat("0", 64), 1
					}
				}
			}
			return v, problem
		}
	})
	if !changed.Load() {
		t.Error("the file was not read")
	}
	requireSkillsVerdicts(t, got, reports.Pass, nil)
}

// A note states how many skills of a long list were read.
func TestReadsSampleOfManySkills(t *testing.T) {
	t.Parallel()
	got := runSkillsChecks(t, func(l *server.Features) {
		i := slices.IndexFunc(l.Skills, func(s *server.Skill) bool {
			return strings.HasSuffix(s.Root, "/opening-hours")
		})
		for n := range 10 {
			more := *l.Skills[i]
			more.Root = fmt.Sprintf("skill://branch-%d/opening-hours", n)
			l.Skills = append(l.Skills, &more)
		}
	}, nil)
	requireSkillsVerdicts(t, got, reports.Pass, map[reports.Verdict]string{reports.Warn: "entry.name.unique"})
	for _, name := range []string{"get", "read", "read.bytes", "directory"} {
		if notes := strings.Join(got[name].Notes, "; "); !strings.Contains(notes,
			"10 of 15 skills were requested and read") {
			t.Errorf("%s notes %q", name, notes)
		}
	}
}
