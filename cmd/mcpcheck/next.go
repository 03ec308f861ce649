package main

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/reports"
)

// nextSteps returns the function that gives the commands which help most after a run of
// a verb on the target that the words name.
func (f *flags) nextSteps(verb string, words []string) func(*reports.Run) []reports.Step {
	again := func(more ...string) string {
		args := append([]string{"mcpcheck", verb}, more...)
		args = append(args, f.givenFlags()...)
		return f.commandLine(append(args, words...))
	}
	return func(run *reports.Run) (steps []reports.Step) {
		if verb == "fuzz" {
			return nil // each finding has its command
		}
		causes := slices.DeleteFunc(run.Causes(), func(c reports.Cause) bool { return c.Baselined })
		if len(causes) > 0 && f.html == "" {
			steps = append(steps, reports.Step{
				Command: again("--html", "report.html"), Why: "everything, with the messages"})
		}
		if len(causes) > 0 {
			steps = append(steps, reports.Step{
				Command: "mcpcheck explain " + causes[0].ID, Why: "what the clause says"})
		}
		if run.Exit == exitFails && f.newBaseline == "" && f.baselineFile == "" {
			steps = append(steps, reports.Step{
				Command: again("--write-baseline", "baseline.yaml"), Why: "then --baseline excuses what fails now"})
		}
		if verb == "server" && len(f.allowTools) == 0 && wantsTools(run) {
			steps = append(steps, reports.Step{
				Command: again("--allow-tools", "all"), Why: "calls also tools that are not read-only"})
		}
		return steps
	}
}

// wantsTools reports whether a check was not observed for want of a tool that may be called.
func wantsTools(run *reports.Run) bool {
	return slices.ContainsFunc(run.Outcomes, func(o reports.Outcome) bool {
		return o.Verdict == reports.NotObserved && strings.Contains(o.Hint, "--allow-tools")
	})
}

// givenFlags are the flags of a command line that runs the same checks on the same target.
func (f *flags) givenFlags() []string {
	var args []string
	for _, list := range []struct {
		flag   string
		values []string
	}{{"--spec", f.specs}, {"--only", f.only}, {"--skip", f.skip}, {"--allow-tools", f.allowTools}} {
		if len(list.values) > 0 {
			args = append(args, list.flag, strings.Join(list.values, ","))
		}
	}
	for _, one := range []struct{ flag, value string }{{"--profile", f.profile}, {"--config", f.configFile}} {
		if one.value != "" {
			args = append(args, one.flag, one.value)
		}
	}
	return append(args, f.launchFlags()...)
}
