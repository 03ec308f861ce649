package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fuzz"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

func replayCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "replay FILE [flags] -- CMD ARGS…",
		Short: "Play a finding of fuzz again",
		Long: "Play the frames of a case file on a fresh instance of the target, three times unless the finding shows before.\n\n" +
			"Exit codes: 0 it does not show; 1 it does; 2 usage, or a file that is no case; 3 the target could not be started.",
		Example: "  mcpcheck replay mcpcheck-findings/liveness-dead-2025-11-25-1a2b3c4d.jsonl -- node build/index.js",
		RunE:    func(cmd *cobra.Command, args []string) error { return replay(cmd, args, &f) },
	}
	f.addTarget(cmd)
	return cmd
}

func replay(cmd *cobra.Command, args []string, f *flags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
		return errReplayArgs
	}
	file := args[0]
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c, err := fuzz.ParseCase(text)
	if err != nil {
		return fmt.Errorf("%s is no case of mcpcheck fuzz: %w", file, err)
	}
	target, err := f.replayTarget(cmd, args[1:])
	if err != nil {
		return err
	}
	o := f.session()
	if d, err := time.ParseDuration(c.Timeout); err == nil && !cmd.Flags().Changed("timeout") {
		o.Timeout = d // as when it was found
	}
	target, stop, err := guarded(target)
	if err != nil {
		return exitError{exitBroken, err}
	}
	defer stop()
	r, err := fuzz.Replay(cmd.Context(), target, c, o)
	out := cmd.OutOrStdout()
	switch {
	case cmd.Context().Err() != nil:
		return exitError{code: exitInterrupted}
	case err != nil:
		return exitError{exitUnreachable, err}
	case !r.Reproduces:
		fmt.Fprintf(out, "does not reproduce: %s at %s has no objection\n", c.Oracle, c.Rev)
		return nil
	case r.Same:
		fmt.Fprintf(out, "reproduces: %s at %s: %q\n", c.Oracle, c.Rev, r.Symptom.Says)
	default:
		fmt.Fprintf(out, "reproduces in another way: %s at %s: %q\n", r.Symptom.Oracle, c.Rev, r.Symptom.Says)
	}
	return exitError{code: exitFails}
}

// replayTarget returns what a case is played on: what stands behind the dash.
func (f *flags) replayTarget(cmd *cobra.Command, args []string) (transport.Target, error) {
	switch {
	case f.reference != "" && len(args) > 0:
		return nil, fmt.Errorf("--reference takes our own server; %q is too much (a fault is named by --reference=FAULT)", args[0])
	case f.reference != "":
		return referenceTarget(f.reference, "", "")
	case len(args) == 0:
		return nil, errReplayArgs
	case cmd.ArgsLenAtDash() != 1:
		return nil, fmt.Errorf("%w; the command of the target goes after --", errReplayArgs)
	}
	return transport.Command{Argv: args, Env: f.env, Dir: f.cwd}, nil
}
