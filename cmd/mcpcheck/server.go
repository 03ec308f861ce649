package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/ginkgosuite"
)

const serverHelp = `Test a server at every protocol revision that it speaks. The server is a command that speaks over
stdio, a URL, or a command that serves at a URL.

A configuration gives values that are used before any that mcpcheck makes. Tools with arguments in
it are called with these arguments, even if they are not read-only:

  tools:     {search: {arguments: [{query: harbour}]}}
  prompts:   {greet: {arguments: [{name: Ada}]}}
  templates: {"file:///{path}": {variables: [{path: notes.txt}]}}
  resources: ["file:///notes.txt"]

A protected server over HTTP needs a valid token (--header). Some checks need further tokens:

  authorization: {second: "${OTHER_USER}", expired: …, audience: …, narrow: …, broad: …}

`

func serverCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "server [flags] -- CMD ARGS… | URL | --url URL -- CMD ARGS…",
		Short: "Test a server",
		Long:  serverHelp + exitCodes,
		Example: "  mcpcheck server -- node build/index.js\n" +
			"  mcpcheck server --header 'Authorization: Bearer …' http://localhost:3000/mcp\n" +
			"  mcpcheck server --url http://localhost:3000/mcp -- node build/http.js\n" +
			"  mcpcheck server --junit report.xml --html report.html -- python -m my_server\n" +
			"  mcpcheck server --spec 2025-11-25 --only tools -- ./my-server --stdio\n" +
			"  mcpcheck server --config mcpcheck.yaml --allow-tools search -- ./my-server\n" +
			"  mcpcheck server --reference",
		RunE: func(cmd *cobra.Command, args []string) error { return f.hideIn(testServer(cmd, args, &f)) },
	}
	f.addJudging(cmd)
	f.addLaunch(cmd, faultNames)
	f.addOutputs(cmd)
	f.addServer(cmd)
	f.addHTTP(cmd)
	f.addProfile(cmd)
	cmd.Flags().StringVar(&f.configFile, "config", "",
		"use the arguments, prompts, resources and tokens in this YAML `file`")
	return cmd
}

// testServer reads the whole command line before it starts anything.
func testServer(cmd *cobra.Command, args []string, f *flags) error {
	if err := f.prepare(cmd, args); err != nil {
		return err
	}
	revisions, checks, err := f.selectChecks(wire.Server)
	if err != nil {
		return err
	}
	server, err := f.serverTarget(cmd, args)
	if err != nil {
		return err
	}
	if server.http != nil {
		if server.http.endpoint, err = f.authorize(cmd.Context(), server.http.endpoint); err != nil {
			return err
		}
	}
	out, err := f.openOutputs()
	if err != nil {
		return err
	}
	began := time.Now()
	note, end, err := server.open(cmd.Context(), f)
	if err != nil {
		end()
		return f.conclude("server", server.words, unreachedRun(cmd.Context(), began, f.seed), err, out)
	}
	target, guard, err := server.target.WithGuard(startGuard)
	if err != nil {
		end()
		out.close()
		return exitError{exitBroken, err}
	}
	defer guard.Close()
	run, err := judge(cmd.Context(), target, engine.Options{
		Checks: checks, Revisions: revisions, Allow: f.allow(), Given: f.given, Profile: f.profile,
		Session: f.session(), Deadline: f.deadline, Seed: f.seed,
		Confirm: f.reference == "", Progress: f.hideOutcome(out.progress.Outcome),
		Notice: out.progress.Notice, Rerun: f.rerun("server", server.words),
	})
	early := end()
	if run != nil && note != "" {
		run.Notes = append(run.Notes, note)
	}
	if run != nil && early != "" {
		run.Notes = append(run.Notes, "the server ended during the run: "+early)
	}
	return f.conclude("server", server.words, run, err, out)
}

// judge runs the Ginkgo suite of a server.
func judge(ctx context.Context, target transport.Target, o engine.Options) (*reports.Run, error) {
	e, err := engine.New(target, o)
	if err != nil {
		return nil, err
	}
	return ginkgosuite.Run(ctx, engine.AsTarget(e).(suites.Target))
}

// A serverTarget is the server that the command line names. A server at a URL
// has no target before it is open.
type serverTarget struct {
	target transport.Target
	http   *httpTarget // nil for a server over stdio and for the reference
	words  []string    // that name it on a command line
}

func (f *flags) serverTarget(cmd *cobra.Command, args []string) (s serverTarget, err error) {
	if s.http, err = f.httpTarget(args, cmd.ArgsLenAtDash()); err != nil {
		return s, err
	}
	switch {
	case s.http != nil:
		s.words = s.http.words()
	case f.reference != "":
		s.words = f.referenceWords()
		s.target, err = f.referenceServerTarget(args)
	default:
		s.words = append([]string{"--"}, args...)
		s.target, err = f.command("server", "node build/index.js", cmd, args)
	}
	return s, err
}

// open starts and reaches a server at a URL; see httpTarget.open.
func (s *serverTarget) open(ctx context.Context, f *flags) (note string, end func() (early string), err error) {
	if s.http == nil {
		return "", func() string { return "" }, nil
	}
	s.target, note, end, err = s.http.open(ctx, f)
	return note, end, err
}

// restart returns the function that starts a server at a URL again, nil where
// mcpcheck did not start it.
func (s *serverTarget) restart() func(context.Context) error {
	if s.http == nil {
		return nil
	}
	return s.http.restart
}

// command returns the command of a target, which the arguments give after --.
func (f *flags) command(verb, example string, cmd *cobra.Command, args []string) (transport.Command, error) {
	if len(args) == 0 {
		return transport.Command{}, fmt.Errorf(
			"no target: give the command that starts the %s after --, for example: mcpcheck %s "+
				"-- %s", verb, verb, example)
	}
	if cmd.ArgsLenAtDash() != 0 {
		return transport.Command{}, fmt.Errorf(
			"the command of the target must follow --: mcpcheck %s -- %s", verb, transport.ShellQuote(args))
	}
	return transport.Command{Argv: args, Env: f.env, Dir: f.cwd}, nil
}

// referenceWords name the reference on a command line.
func (f *flags) referenceWords() []string {
	if f.reference == noFault {
		return []string{"--reference"}
	}
	return []string{"--reference=" + f.reference}
}

// errReferenceArgs is the error for arguments beside --reference.
func errReferenceArgs(args []string) error {
	return fmt.Errorf("unexpected argument %q: --reference is the target; to name a fault, write --reference=FAULT",
		args[0])
}

// referenceServerTarget returns the reference server in this process.
func (f *flags) referenceServerTarget(args []string) (transport.Target, error) {
	if len(args) > 0 {
		return nil, errReferenceArgs(args)
	}
	over, err := f.transportKind()
	if err != nil {
		return nil, err
	}
	return referenceTarget(f.reference, f.profile, over, &f.given)
}
