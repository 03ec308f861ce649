package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fuzz"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

const replayHelp = `Send the frames of a case file to fresh instances of the target, up to three times until the
finding reproduces. A case that was found over HTTP names its target, so that the file is
enough. A command in the file runs with --recorded only. Header fields that were given must
be given again.

Exit codes: 0 it does not reproduce; 1 it reproduces; 2 usage, or a file that is not a case;
3 the target could not be started or reached; 4 internal error of mcpcheck; 130 interrupted.`

func replayCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "replay FILE [flags] -- CMD ARGS… | URL | --url URL -- CMD ARGS…",
		Short: "Execute a finding of fuzz again",
		Long:  replayHelp,
		Example: "  mcpcheck replay mcpcheck-findings/liveness-dead-2025-11-25-1a2b3c4d.jsonl " +
			"-- node build/index.js\n" +
			"  mcpcheck replay mcpcheck-findings/liveness-mute-2025-11-25-1a2b3c4d.jsonl http://localhost:3000/mcp",
		RunE: func(cmd *cobra.Command, args []string) error { return f.hideIn(replay(cmd, args, &f)) },
	}
	f.addLaunch(cmd, faultNames)
	f.addHTTP(cmd)
	cmd.Flags().BoolVar(&f.recorded, "recorded", false,
		"run the command that the case names, where no target is given")
	return cmd
}

var errReplayArgs = errors.New(
	"replay needs one case file and a target: mcpcheck replay FILE -- CMD ARGS…, or mcpcheck replay FILE URL")

func replay(cmd *cobra.Command, args []string, f *flags) error {
	if err := f.prepare(cmd, args); err != nil {
		return err
	}
	if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
		return errReplayArgs
	}
	c, err := readCase(args[0])
	if err != nil {
		return err
	}
	for _, name := range missingHeaders(c.Headers, f.headerNames()) {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"the finding was made with the header field %s; give it too: --header '%s: …'\n", name, name)
	}
	server, err := f.replayTarget(c, args[1:], cmd)
	if err != nil {
		return err
	}
	_, end, err := server.open(cmd.Context(), f)
	defer func() { end() }()
	if err != nil {
		return exitError{exitUnreachable, err}
	}
	o := f.session()
	if d, err := time.ParseDuration(c.Timeout); err == nil && !cmd.Flags().Changed("timeout") {
		o.Timeout = d // that of the search
	}
	target, guard, err := server.target.WithGuard(startGuard)
	if err != nil {
		return exitError{exitBroken, err}
	}
	defer guard.Close()
	r, err := fuzz.Replay(cmd.Context(), target, c, o, server.restart())
	out := cmd.OutOrStdout()
	switch {
	case cmd.Context().Err() != nil:
		return exitError{code: exitInterrupted}
	case err != nil:
		return exitError{exitUnreachable, err}
	case !r.Reproduces:
		fmt.Fprintf(out, "does not reproduce: %s at %s reports no violation\n", c.Oracle, c.Revision)
		return nil
	case r.SameOutcome:
		fmt.Fprintf(out, "reproduces: %s at %s: %q\n", c.Oracle, c.Revision, f.secrets.Hide(r.Symptom.Says))
	default:
		fmt.Fprintf(out, "reproduces in another way: %s at %s: %q\n", r.Symptom.Oracle, c.Revision,
			f.secrets.Hide(r.Symptom.Says))
	}
	return exitError{code: exitFails}
}

func readCase(file string) (fuzz.Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return fuzz.Case{}, err
	}
	c, err := fuzz.ParseCase(text)
	if err != nil {
		return c, fmt.Errorf("%s is not a case file of mcpcheck fuzz: %w", file, err)
	}
	return c, nil
}

// replayTarget returns the target of a replay: that of the command line, or else
// that of the case. The transport of the case applies where the command line
// leaves it open.
func (f *flags) replayTarget(c fuzz.Case, args []string, cmd *cobra.Command) (t serverTarget, err error) {
	dash := cmd.ArgsLenAtDash()
	if dash >= 0 {
		dash-- // the case file
	}
	if len(args) == 0 && f.reference == "" && f.url == "" {
		if args, dash, err = f.recordedTarget(c); err != nil {
			return t, err
		}
	}
	if t.http, err = f.httpTarget(args, dash); err != nil {
		return t, err
	}
	switch {
	case t.http != nil:
		if t.http.kind == "" && c.Transport != transport.Stdio {
			t.http.kind = c.Transport
		}
	case f.reference != "" && len(args) > 0:
		return t, errReferenceArgs(args)
	case f.reference != "":
		t.target, err = referenceTarget(f.reference, "", c.Transport, &f.given)
	case len(args) == 0:
		return t, errReplayArgs
	case dash != 0:
		return t, fmt.Errorf("%w; the command of the target must follow --", errReplayArgs)
	default:
		t.target = transport.Command{Argv: args, Env: f.env, Dir: f.cwd}
	}
	return t, err
}

// recordedTarget returns the arguments for the target that a case names, as
// httpTarget takes them. It rejects a command unless --recorded is given: the
// author of the file need not be its user.
func (f *flags) recordedTarget(c fuzz.Case) (args []string, dash int, err error) {
	words := c.Target
	switch {
	case len(words) == 0:
		return nil, -1, errReplayArgs
	case len(words) == 1 && isURL(words[0]):
		return words, -1, nil
	case len(words) <= 3 || words[0] != "--url" || !isURL(words[1]) || words[2] != "--":
		return nil, -1, fmt.Errorf("the case names a target that is not understood: %s", transport.ShellQuote(words))
	case !f.recorded:
		return nil, -1, fmt.Errorf("the case names a command that starts the server: %s; "+
			"to run it, give --recorded, or else give the target", transport.ShellQuote(words))
	}
	f.url = words[1]
	return words[3:], 0, nil
}

// missingHeaders returns the names of header fields that are not given.
func missingHeaders(names, given []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(given, func(g string) bool { return strings.EqualFold(g, name) })
	})
}
