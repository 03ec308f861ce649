package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/ginkgosuite"
)

func clientCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "client [flags] [--transport streamable-http|sse] -- CMD ARGS…",
		Short: "Judge a client",
		Long: "Judge a client by what it does with a dozen scripted servers, ordinary and odd ones.\n\n" +
			"The command is run once for each of them. " + script.Placeholder + " in it stands for the command of the server:\n" +
			"as an argument of its own it becomes the several arguments of that command, inside a\n" +
			"longer argument one string that a shell reads back as them. Over HTTP the client is given a URL, in\n" +
			"the place of " + script.URLPlaceholder + " or as its last argument, and finds MCP_CONFORMANCE_SCENARIO,\n" +
			"MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT in its environment, as the public\n" +
			"conformance suite gives them.\n\n" +
			"Exit codes: 0 conforms; 1 a check fails, or a baseline entry no longer holds; 2 usage;\n" +
			"3 the client did not start the server or call it, or nothing was judged; 4 mcpcheck itself broke; 130 interrupted.",
		Example: "  mcpcheck client -- ./my-client " + script.Placeholder + "\n" +
			"  mcpcheck client --html report.html -- node client.mjs --command '" + script.Placeholder + "'\n" +
			"  mcpcheck client --transport streamable-http -- node client.mjs http\n" +
			"  mcpcheck client --reference",
		RunE: func(cmd *cobra.Command, args []string) error { return judgeClient(cmd, args, &f) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.transport, "transport", "", "have the client speak over this `transport`: stdio, which is the default, streamable-http, or sse")
	complete(cmd, "transport", func() []string { return []string{transportStdio, transportHTTP, transportSSE} })
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
	if f.reference == "" {
		guard, err := startGuard()
		if err != nil {
			out.close()
			return exitError{exitBroken, err}
		}
		defer guard.Close()
		switch c := target.(type) {
		case script.Command:
			c.Guard = guard
			target = c
		case script.Site:
			c.Guard = guard
			target = c
		}
	}
	e, err := engine.NewClient(target, engine.Options{
		Checks: checks, Revisions: revisions, Session: f.session(), Deadline: f.deadline, Seed: f.seed,
		Progress: out.live.Outcome, Rerun: rerun("client", f, argv),
	})
	var run *reports.Run
	if err == nil {
		run, err = ginkgosuite.Run(cmd.Context(), engine.AsTarget(e).(suites.Target))
	}
	return f.conclude(argv, run, err, out)
}

// clientTarget returns what is to be judged, and how to name it on a command
// line.
func (f *flags) clientTarget(cmd *cobra.Command, args []string) (script.Client, []string, error) {
	over, err := f.clientTransport()
	if err != nil {
		return nil, nil, err
	}
	if f.reference != "" {
		if len(args) > 0 {
			return nil, nil, fmt.Errorf("--reference judges our own client; %q is too much (a fault is named by --reference=FAULT)", args[0])
		}
		target, err := referenceClientTarget(f.reference, over)
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
	command := transport.Command{Argv: args, Env: f.env, Dir: f.cwd}
	if over != transport.Stdio {
		if _, err := script.ExpandURL(args, ""); err != nil {
			return nil, nil, err
		}
		return script.Site{Command: command, Kind: over}, append([]string{"--"}, args...), nil
	}
	carry, err := bridge()
	if err != nil {
		return nil, nil, exitError{exitBroken, err}
	}
	if _, err := script.Expand(args, carry); err != nil {
		return nil, nil, err
	}
	return script.Command{Command: command, Bridge: carry}, append([]string{"--"}, args...), nil
}

// clientTransport is what --transport says of a client.
func (f *flags) clientTransport() (transport.Kind, error) {
	switch f.transport {
	case "", transportStdio:
		return transport.Stdio, nil
	case transportHTTP, string(transport.HTTP):
		return transport.HTTP, nil
	case transportSSE:
		return transport.SSE, nil
	}
	return "", fmt.Errorf("--transport takes %s, %s or %s, not %q", transportStdio, transportHTTP, transportSSE, f.transport)
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
func referenceClientTarget(name string, over transport.Kind) (script.Client, error) {
	o, err := referenceClient(name)
	if err != nil {
		return nil, err
	}
	if over != transport.Stdio {
		return script.InProcessURL{Name: "--reference=" + name, Kind: over, Run: func(ctx context.Context, url string) error {
			return client.RunAt(ctx, url, over, o)
		}}, nil
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
	var name, streamable, sse string
	var revisions []string
	cmd := &cobra.Command{
		Use:     "client --stdio -- CMD ARGS… | --http URL | --sse URL",
		Short:   "Look at what a server offers, as an MCP client of all revisions",
		Example: "  mcpcheck reference client --stdio -- node build/index.js\n  mcpcheck reference client --http http://localhost:3000/mcp",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case stdio && len(args) == 0:
				return errors.New("no server: say the command that starts it after --")
			case !stdio && len(args) > 0:
				return fmt.Errorf("%q is too much: a server at a URL is not started", args[0])
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
			at, over := streamable, transport.HTTP
			if sse != "" {
				at, over = sse, transport.SSE
			}
			if at != "" {
				if err := client.RunAt(cmd.Context(), at, over, o); err != nil {
					return exitError{exitFails, err}
				}
				return nil
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
	cmd.Flags().StringVar(&streamable, "http", "", "speak to the server at this `URL` over streamable HTTP")
	cmd.Flags().StringVar(&sse, "sse", "", "speak to the server at this `URL` over HTTP+SSE")
	cmd.MarkFlagsOneRequired("stdio", "http", "sse")
	cmd.MarkFlagsMutuallyExclusive("stdio", "http", "sse")
	cmd.Flags().BoolVar(&legacy, "legacy-first", false, "open with initialize instead of server/discover")
	cmd.Flags().StringVar(&name, "fault", "", "deviate from the specification by this seeded `fault`")
	cmd.Flags().StringSliceVar(&revisions, "spec", nil, "speak these `revisions` only")
	complete(cmd, "fault", clientFaultNames)
	complete(cmd, "spec", revisionNames)
	return cmd
}
