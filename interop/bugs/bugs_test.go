package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

var (
	pair = bug{Slug: "pair", Side: "server", Package: "sdk", Buggy: "1.0.0", Fixed: "1.0.1",
		Checks: []string{"a.named"}}
	live = bug{Slug: "live", Side: "server", Package: "sdk", Buggy: "1.0.0", Checks: []string{"a.named"}}
)

// reportOf returns a report with one passed check and further outcomes, each
// written as "ID VERDICT".
func reportOf(outcomes ...string) *target.Report {
	r := &target.Report{Outcomes: []target.Outcome{{ID: "a.passed", Verdict: "pass"}}}
	for _, o := range outcomes {
		id, verdict, _ := strings.Cut(o, " ")
		r.Outcomes = append(r.Outcomes, target.Outcome{ID: id, Verdict: verdict})
	}
	return r
}

func trialOf(b bug, reports ...*target.Report) trial {
	return trial{bug: b, transport: "stdio", reports: reports}
}

func TestPairIsDetectedByVerdictOnBuggyReleaseOnly(t *testing.T) {
	for _, c := range []struct {
		buggy, fixed string
		detected     bool
	}{
		{"fail", "pass", true}, {"warn", "pass", true},
		{"fail", "not-observed", true}, {"warn", "not-applicable", true},
		{"fail", "fail", false}, {"fail", "warn", false}, {"warn", "fail", false},
		{"pass", "pass", false}, {"pass", "fail", false}, {"not-observed", "pass", false}, {"not-run", "pass", false},
		{"broken", "pass", false},
	} {
		got := trialOf(pair, reportOf("a.named "+c.buggy), reportOf("a.named "+c.fixed)).detectedBy()
		if detected := slices.Equal(got, pair.Checks); detected != c.detected {
			t.Errorf("%s on the buggy and %s on the fixed release: detected by %v", c.buggy, c.fixed, got)
		}
	}
}

func TestLiveBugIsDetectedByVerdictOnItsRelease(t *testing.T) {
	for verdict, detected := range map[string]bool{"fail": true, "warn": true, "pass": false, "not-observed": false} {
		if got := trialOf(live, reportOf("a.named "+verdict)).detectedBy(); (len(got) == 1) != detected {
			t.Errorf("%s: detected by %v", verdict, got)
		}
	}
}

func TestOnlyNamedChecksDetect(t *testing.T) {
	tr := trialOf(pair, reportOf("a.other fail", "a.named pass"), reportOf("a.other pass", "a.named pass"))
	if got := tr.detectedBy(); got != nil {
		t.Errorf("detected by %v", got)
	}
	if got := tr.differing(); !slices.Equal(got, []string{"a.other"}) {
		t.Errorf("the releases differ in %v, want a.other", got)
	}
}

func TestMostSevereVerdictOverRevisionsCounts(t *testing.T) {
	buggy, fixed := reportOf("a.named pass", "a.named fail"), reportOf("a.named pass", "a.named warn", "a.named pass")
	if got := trialOf(pair, buggy, fixed).detectedBy(); got != nil {
		t.Errorf("detected by %v although the fixed release has a warning at one revision", got)
	}
	if got := trialOf(pair, buggy, reportOf("a.named pass", "a.named pass")).detectedBy(); len(got) != 1 {
		t.Errorf("detected by %v, want a.named, which fails at one revision", got)
	}
}

func TestReportWithoutVerdictsDetectsNothing(t *testing.T) {
	none := &target.Report{Outcomes: []target.Outcome{{ID: "a.named", Verdict: "not-run"}}}
	for name, tr := range map[string]trial{
		"the fixed release did not start": trialOf(pair, reportOf("a.named fail"), none),
		"the buggy release did not start": trialOf(pair, none, reportOf("a.named pass")),
		"there is no report":              {bug: pair, transport: "stdio", err: errors.New("exit code 2")},
	} {
		r := row{bug: pair, trials: []trial{tr}}
		if tr.detectedBy() != nil || r.wrong() == "" {
			t.Errorf("%s: detected by %v, wrong: %q", name, tr.detectedBy(), r.wrong())
		}
	}
}

func TestResultThatDiffersFromTheTableIsWrong(t *testing.T) {
	for _, c := range []struct {
		inTable, inRun, wrong bool
	}{{true, true, false}, {false, false, false}, {true, false, true}, {false, true, true}} {
		b, verdict := pair, "pass"
		b.Detected = c.inTable
		if c.inRun {
			verdict = "fail"
		}
		r := row{bug: b, trials: []trial{trialOf(b, reportOf("a.named "+verdict), reportOf("a.named pass"))}}
		if why := r.wrong(); (why != "") != c.wrong {
			t.Errorf("detected in the table %t, in the run %t: %q", c.inTable, c.inRun, why)
		}
	}
}

func TestBugIsDetectedOverEachOfItsTransports(t *testing.T) {
	yes, no := trialOf(live, reportOf("a.named fail")), trialOf(live, reportOf("a.named pass"))
	if r := (row{bug: live, trials: []trial{yes, yes}}); !r.isDetected() {
		t.Error("not detected although both transports show it")
	}
	if r := (row{bug: live, trials: []trial{yes, no}}); r.isDetected() {
		t.Error("detected although one transport does not show it")
	}
}

func TestTotalsCountHiddenBugsApart(t *testing.T) {
	hidden, client := pair, live
	hidden.Hidden, client.Side = true, "client"
	yes, no := reportOf("a.named fail"), reportOf("a.named pass")
	rows := []row{
		{bug: pair, trials: []trial{trialOf(pair, yes, no)}},
		{bug: pair, trials: []trial{trialOf(pair, no, no)}},
		{bug: hidden, trials: []trial{trialOf(hidden, no, no)}},
		{bug: live, trials: []trial{trialOf(live, no)}},
		{bug: client, trials: []trial{trialOf(client, yes)}},
	}
	want := "servers: 1 of 2 visible pairs detected, 0 of 1 live bugs detected, 1 hidden"
	if got := totals(rows, "server"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want = "clients: 0 of 0 visible pairs detected, 1 of 1 live bugs detected, 0 hidden"
	if got := totals(rows, "client"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReleasesOfABug(t *testing.T) {
	moved := bug{Package: "@scope/sdk", Buggy: "1.0.0", Fixed: "@scope/server@2.0.0"}
	for _, c := range []struct {
		bug  bug
		want []release
	}{
		{pair, []release{{"sdk", "1.0.0"}, {"sdk", "1.0.1"}}},
		{live, []release{{"sdk", "1.0.0"}}},
		{moved, []release{{"@scope/sdk", "1.0.0"}, {"@scope/server", "2.0.0"}}},
	} {
		if got := c.bug.releases(); !slices.Equal(got, c.want) {
			t.Errorf("releases of %+v: %v", c.bug, got)
		}
	}
	if (release{"@scope/sdk", "1.0.0"}).isGo() || !(release{"example.com/sdk", "v1.0.0"}).isGo() {
		t.Error("the path of a Go module begins with a host, that of an npm package does not")
	}
}

func TestArgumentsOfEachTransport(t *testing.T) {
	b := bug{Slug: "b", Side: "server", Package: "sdk", Buggy: "1.0.0", Transports: map[string][]string{
		"stdio": {"node", "{release}/s.mjs"}, "sse": {"{release}/s", "{port}"}}}
	got := b.targetOn("/installed", b.releases()[0], "sse")
	if got.URL != "http://127.0.0.1:{port}/sse" || got.Command[0] != "/installed/sdk-1.0.0/s" ||
		!slices.Contains(got.Flags, "sse") {
		t.Errorf("over HTTP+SSE: %+v", got)
	}
	got = b.targetOn("/installed", b.releases()[0], "stdio")
	if got.URL != "" || slices.Contains(got.Flags, "--transport") {
		t.Errorf("over stdio: %+v", got)
	}
	b.Side = "client"
	if got = b.targetOn("/installed", b.releases()[0], "stdio"); slices.Contains(got.Flags, "--allow-tools") {
		t.Errorf("a client is given tools: %+v", got)
	}
}
