package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fuzz"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

func replayCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "replay FILE [flags] -- CMD ARGS… | URL | --url URL -- CMD ARGS…",
		Short: "Play a finding of fuzz again",
		Long: "Play the frames of a case file on a fresh instance of the target, three times unless the finding shows before.\n" +
			"A case that was found over HTTP tells its target, so that the file is enough; a command in it is run with\n" +
			"--recorded only, and header fields that were given must be given again.\n\n" +
			"Exit codes: 0 it does not show; 1 it does; 2 usage, or a file that is no case; 3 the target could not be started.",
		Example: "  mcpcheck replay mcpcheck-findings/liveness-dead-2025-11-25-1a2b3c4d.jsonl -- node build/index.js\n" +
			"  mcpcheck replay mcpcheck-findings/liveness-mute-2025-11-25-1a2b3c4d.jsonl http://localhost:3000/mcp",
		RunE: func(cmd *cobra.Command, args []string) error { return replay(cmd, args, &f) },
	}
	f.addTarget(cmd)
	f.addSite(cmd)
	cmd.Flags().BoolVar(&f.recorded, "recorded", false, "run the command that the case names, where no target is given")
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
	for _, name := range missing(c.Headers, headerFields(f.headers)) {
		fmt.Fprintf(cmd.ErrOrStderr(), "the case was recorded with a header field %s, which is not given: --header '%s: …'\n", name, name)
	}
	words, err := f.replayed(c, args[1:], cmd)
	if err != nil {
		return err
	}
	at, err := f.siteBehind(words.args, words.dash)
	if err != nil {
		return err
	}
	target, again := transport.Target(nil), (func(context.Context) error)(nil)
	if at == nil {
		target, err = f.replayTarget(words, c.Transport)
	} else {
		if at.kind == "" && c.Transport != transport.Stdio {
			at.kind = c.Transport // as when it was found
		}
		var end func() string
		target, _, end, err = at.open(cmd.Context(), f)
		defer func() { end() }()
		again = at.again
		if err != nil {
			return exitError{exitUnreachable, err}
		}
	}
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
	r, err := fuzz.Replay(cmd.Context(), target, c, o, again)
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

// Operands are the words that name a target, and how many of them stand before the
// dash; less than 0 where there is none.
type operands struct {
	args []string
	dash int
}

// replayed returns the words of what a case is played on: those of the command
// line, or where there are none those of the case. A command in a file is not run
// unasked, since who wrote the file need not be who plays it.
func (f *flags) replayed(c fuzz.Case, args []string, cmd *cobra.Command) (operands, error) {
	dash := cmd.ArgsLenAtDash()
	if dash >= 0 {
		dash-- // the file
	}
	if len(args) > 0 || f.reference != "" || f.url != "" {
		return operands{args, dash}, nil
	}
	switch at, argv, err := recorded(c.Target); {
	case err != nil:
		return operands{}, err
	case argv != nil && !f.recorded:
		return operands{}, fmt.Errorf("the case was recorded from a server that is started: %s; say --recorded to have that command run, or name the target yourself", transport.Quote(c.Target))
	case argv != nil:
		f.url = at
		return operands{argv, 0}, nil
	default:
		return operands{[]string{at}, -1}, nil
	}
}

// recorded takes the words of a case apart: the URL, and the command that starts
// what serves there, or nil.
func recorded(words []string) (at string, argv []string, err error) {
	switch {
	case len(words) == 1 && isURL(words[0]):
		return words[0], nil, nil
	case len(words) > 3 && words[0] == "--url" && isURL(words[1]) && words[2] == "--":
		return words[1], words[3:], nil
	case len(words) == 0:
		return "", nil, errReplayArgs
	}
	return "", nil, fmt.Errorf("the target in the case is not understood: %s", transport.Quote(words))
}

// replayTarget returns what a case is played on that no URL names: what stands
// behind the dash, or our own server over the transport of the case.
func (f *flags) replayTarget(words operands, over transport.Kind) (transport.Target, error) {
	args := words.args
	switch {
	case f.reference != "" && len(args) > 0:
		return nil, fmt.Errorf("--reference takes our own server; %q is too much (a fault is named by --reference=FAULT)", args[0])
	case f.reference != "":
		return referenceTarget(f.reference, "", over, &f.given)
	case len(args) == 0:
		return nil, errReplayArgs
	case words.dash != 0:
		return nil, fmt.Errorf("%w; the command of the target goes after --", errReplayArgs)
	}
	return transport.Command{Argv: args, Env: f.env, Dir: f.cwd}, nil
}

// missing returns those names of header fields that are not among the given.
func missing(names, given []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(given, func(g string) bool { return strings.EqualFold(g, name) })
	})
}
