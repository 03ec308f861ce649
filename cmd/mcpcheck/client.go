package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/suites"
)

func clientCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "client [flags] -- CMD ARGS…",
		Short: "Judge a client",
		Long: "Judge a client by what it does with a dozen scripted servers, ordinary and odd ones.\n\n" +
			"The command is run once for each of them. " + script.Placeholder + " in it stands for the command of the server:\n" +
			"as an argument of its own it becomes the several arguments of that command, inside a\n" +
			"longer argument one string that a shell reads back as them.\n\n" +
			"Exit codes: 0 conforms; 1 a check fails, or a baseline entry no longer holds; 2 usage;\n" +
			"3 the client did not start the server, or nothing was judged; 4 mcpcheck itself broke; 130 interrupted.",
		Example: "  mcpcheck client -- ./my-client " + script.Placeholder + "\n" +
			"  mcpcheck client --html report.html -- node client.mjs --command '" + script.Placeholder + "'\n" +
			"  mcpcheck client --reference",
		RunE: func(cmd *cobra.Command, args []string) error { return judgeClient(cmd, args, &f) },
	}
	f.add(cmd)
	complete(cmd, "reference", clientFaultNames)
	return cmd
}

// judgeClient reads the whole command line before it starts anything.
func judgeClient(cmd *cobra.Command, args []string, f *flags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	revisions, checks, err := f.selected(wire.Client)
	if err != nil {
		return err
	}
	target, argv, err := f.clientTarget(cmd, args)
	if err != nil {
		return err
	}
	out, err := f.outputs()
	if err != nil {
		return err
	}
	if c, ok := target.(script.Command); ok {
		guard, err := startGuard()
		if err != nil {
			out.close()
			return exitError{exitBroken, err}
		}
		defer guard.Close()
		c.Guard = guard
		target = c
	}
	run, err := suites.RunClient(cmd.Context(), target, suites.Options{
		Checks: checks, Revisions: revisions, Session: f.session(), Deadline: f.deadline, Seed: f.seed,
		Progress: out.live.Outcome, Rerun: rerun("client", f, argv),
	})
	return f.conclude(argv, run, err, out)
}

// clientTarget returns what is to be judged, and how to name it on a command
// line.
func (f *flags) clientTarget(cmd *cobra.Command, args []string) (script.Client, []string, error) {
	if f.reference != "" {
		if len(args) > 0 {
			return nil, nil, fmt.Errorf("--reference judges our own client; %q is too much (a fault is named by --reference=FAULT)", args[0])
		}
		target, err := referenceClientTarget(f.reference)
		argv := []string{"--reference"}
		if f.reference != referenceHonest {
			argv[0] += "=" + f.reference
		}
		return target, argv, err
	}
	if len(args) == 0 {
		return nil, nil, errors.New("no target: say the command that starts the client after --, as in mcpcheck client -- ./my-client " + script.Placeholder)
	}
	if cmd.ArgsLenAtDash() != 0 {
		return nil, nil, fmt.Errorf("the command of the target goes after --, as in mcpcheck client -- %s", transport.Quote(args))
	}
	carry, err := bridge()
	if err != nil {
		return nil, nil, exitError{exitBroken, err}
	}
	if _, err := script.Expand(args, carry); err != nil {
		return nil, nil, err
	}
	target := script.Command{Command: transport.Command{Argv: args, Env: f.env, Dir: f.cwd}, Bridge: carry}
	return target, append([]string{"--"}, args...), nil
}

// referenceClient returns the options of the reference client with a fault, ""
// or referenceHonest for none.
func referenceClient(name string) (client.Options, error) {
	o := client.Defaults()
	if name == "" || name == referenceHonest {
		return o, nil
	}
	f, err := fault.LookupClient(name)
	if err != nil {
		return o, fmt.Errorf("%w%s", err, nearest(name, clientFaultNames()))
	}
	f.Apply(&o)
	return o, nil
}

// referenceClientTarget is the reference client in this process.
func referenceClientTarget(name string) (script.Client, error) {
	o, err := referenceClient(name)
	if err != nil {
		return nil, err
	}
	return script.InProcess{Name: "--reference=" + name, Run: func(ctx context.Context, server transport.Starter) error {
		return client.Run(ctx, server, o)
	}}, nil
}

func clientFaultNames() []string {
	var out []string
	for _, f := range fault.Clients() {
		out = append(out, f.Name)
	}
	return out
}

// referenceClientCommand runs the reference client against a server.
func referenceClientCommand() *cobra.Command {
	var stdio, legacy bool
	var name string
	var revisions []string
	cmd := &cobra.Command{
		Use:     "client --stdio -- CMD ARGS…",
		Short:   "Look at what a server offers, as an MCP client of all revisions",
		Example: "  mcpcheck reference client --stdio -- node build/index.js",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !stdio {
				return errors.New("say how to reach the server: --stdio")
			}
			if len(args) == 0 {
				return errors.New("no server: say the command that starts it after --")
			}
			o, err := referenceClient(name)
			if err != nil {
				return err
			}
			for _, r := range revisions {
				rev, err := spec.ParseRevision(r)
				if err != nil {
					return fmt.Errorf("--spec: %w", err)
				}
				o.Revisions = append(o.Revisions, rev)
			}
			o.LegacyFirst = legacy
			o.Log = func(format string, args ...any) {
				fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(fmt.Sprintf(format, args...)))
			}
			guard, err := startGuard()
			if err != nil {
				return exitError{exitBroken, err}
			}
			defer guard.Close()
			if err := client.Run(cmd.Context(), transport.Command{Argv: args, Guard: guard}, o); err != nil {
				return exitError{exitFails, err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "start the server and speak to it on its standard input and output")
	cmd.Flags().BoolVar(&legacy, "legacy-first", false, "open with initialize instead of server/discover")
	cmd.Flags().StringVar(&name, "fault", "", "deviate from the specification by this seeded `fault`")
	cmd.Flags().StringSliceVar(&revisions, "spec", nil, "speak these `revisions` only")
	complete(cmd, "fault", clientFaultNames)
	complete(cmd, "spec", revisionNames)
	return cmd
}
