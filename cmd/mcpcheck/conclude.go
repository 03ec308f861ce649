package main

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reports"
)

// conclude completes a run that ended, writes the reports, and returns the exit
// code. The words name the target on a command line. A run that is nil could not
// be made; failure then says why.
func (f *flags) conclude(verb string, words []string, run *reports.Run, failure error, out *outputs) error {
	if run == nil {
		out.close()
		return exitError{exitBroken, failure}
	}
	run.Tool = reports.Tool{Name: "mcpcheck", Version: version}
	run.Target.URL, run.Target.Argv = splitTarget(words)
	run.Options = f.options()
	run.Harness = measureProcess()
	if f.baseline != nil {
		f.baseline.Apply(run)
	}
	run.Exit = reports.ExitCode(run, f.strict)
	if failure != nil && run.Exit != exitInterrupted {
		run.Exit = exitUnreachable
		run.Notes = append(run.Notes, failure.Error())
	}
	f.secrets.HideIn(run)
	out.next = f.nextSteps(verb, words)
	if err := out.write(run); err != nil {
		return exitError{exitBroken, err}
	}
	if run.Exit != exitConforms {
		return exitError{code: run.Exit}
	}
	return nil
}

// splitTarget returns the URL and the command in the words that name a target.
func splitTarget(words []string) (url string, argv []string) {
	switch {
	case len(words) == 1 && isURL(words[0]):
		return words[0], nil
	case len(words) > 2 && words[0] == "--url":
		url, words = words[1], words[2:]
	}
	if words[0] == "--" {
		words = words[1:]
	}
	return url, words
}

// options are the flags that influence verdicts, for the report.
func (f *flags) options() map[string]any {
	o := map[string]any{"timeout": f.timeout.String(), "start-timeout": f.startTimeout.String()}
	if f.deadline > 0 {
		o["deadline"] = f.deadline.String()
	}
	for name, list := range map[string][]string{
		"spec": f.specs, "only": f.only, "skip": f.skip, "allow-tools": f.allowTools, "header": f.maskedHeaders(),
	} {
		if len(list) > 0 {
			o[name] = list
		}
	}
	for name, value := range map[string]string{"strict": f.strict, "config": f.configFile, "profile": f.profile} {
		if value != "" {
			o[name] = value
		}
	}
	if f.serial {
		o["serial"] = true
	}
	if f.transport != "" && f.transport != transportAuto {
		o["transport"] = f.transport
	}
	return o
}

// rerun returns the function that gives the command which runs some checks alone.
func (f *flags) rerun(verb string, words []string) func(ids []string, rev spec.Revision) string {
	return func(ids []string, rev spec.Revision) string {
		args := []string{
			"mcpcheck", verb, "--verbose", "--only", strings.Join(ids, ","), "--spec", string(rev),
			"--seed", fmt.Sprint(f.seed),
		}
		for _, name := range f.allowTools {
			args = append(args, "--allow-tools", name)
		}
		if f.profile != "" {
			args = append(args, "--profile", f.profile)
		}
		if f.configFile != "" {
			args = append(args, "--config", f.configFile)
		}
		args = append(args, f.launchFlags()...)
		return f.commandLine(append(args, words...))
	}
}
