package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/ginkgosuite"
)

const clientHelp = `Test a client against a dozen scripted servers, both ordinary and unusual ones.

The command is run once for each of them. In it, {server} stands for the command of the server: as
an argument of its own it becomes the arguments of that command, within a longer argument one
string that a shell splits into them. Over HTTP the client gets a URL, in the place of {url} or as
its last argument, and finds MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION and
MCP_CONFORMANCE_CONTEXT in its environment, as the public conformance suite gives them.

A client that neither starts nor calls the server counts as not reached.

`

func clientCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "client [flags] [--transport streamable-http|sse] -- CMD ARGS…",
		Short: "Test a client",
		Long:  clientHelp + exitCodes,
		Example: "  mcpcheck client -- ./my-client " + script.ServerPlaceholder + "\n" +
			"  mcpcheck client --html report.html -- node client.mjs --command '" + script.ServerPlaceholder + "'\n" +
			"  mcpcheck client --transport streamable-http -- node client.mjs http\n" +
			"  mcpcheck client --reference",
		RunE: func(cmd *cobra.Command, args []string) error { return f.hideIn(testClient(cmd, args, &f)) },
	}
	f.addJudging(cmd)
	f.addLaunch(cmd, clientFaultNames)
	f.addOutputs(cmd)
	cmd.Flags().StringVar(&f.transport, "transport", "",
		"have the client speak over this `transport`: stdio (the default), streamable-http, or sse")
	completeFlag(cmd, "transport", func() []string { return []string{transportStdio, transportHTTP, transportSSE} })
	return cmd
}

// testClient reads the whole command line before it starts anything.
func testClient(cmd *cobra.Command, args []string, f *flags) error {
	if err := f.prepare(cmd, args); err != nil {
		return err
	}
	revisions, checks, err := f.selectChecks(wire.Client)
	if err != nil {
		return err
	}
	target, words, err := f.clientTarget(cmd, args)
	if err != nil {
		return err
	}
	out, err := f.openOutputs()
	if err != nil {
		return err
	}
	target, guard, err := target.WithGuard(startGuard)
	if err != nil {
		out.close()
		return exitError{exitBroken, err}
	}
	defer guard.Close()
	e, err := engine.NewClient(target, engine.Options{
		Checks: checks, Revisions: revisions, Session: f.session(), Deadline: f.deadline, Seed: f.seed,
		Progress: f.hideOutcome(out.progress.Outcome), Rerun: f.rerun("client", words),
	})
	var run *reports.Run
	if err == nil {
		run, err = ginkgosuite.Run(cmd.Context(), engine.AsTarget(e).(suites.Target))
	}
	return f.conclude("client", words, run, err, out)
}

// clientTarget returns the client that the command line names, and the words
// that name it.
func (f *flags) clientTarget(cmd *cobra.Command, args []string) (script.Client, []string, error) {
	over, err := f.clientTransport()
	if err != nil {
		return nil, nil, err
	}
	if f.reference != "" {
		if len(args) > 0 {
			return nil, nil, errReferenceArgs(args)
		}
		target, err := referenceClientTarget(f.reference, over)
		return target, f.referenceWords(), err
	}
	command, err := f.command("client", "./my-client "+script.ServerPlaceholder, cmd, args)
	if err != nil {
		return nil, nil, err
	}
	words := append([]string{"--"}, args...)
	if over != transport.Stdio {
		if _, err := script.ExpandURL(args, ""); err != nil {
			return nil, nil, err
		}
		return script.HTTPCommand{Command: command, Kind: over}, words, nil
	}
	bridge, err := bridgeArgv()
	if err != nil {
		return nil, nil, exitError{exitBroken, err}
	}
	if _, err := script.ExpandCommand(args, bridge); err != nil {
		return nil, nil, err
	}
	return script.StdioCommand{Command: command, Bridge: bridge}, words, nil
}

// clientTransport returns the transport that --transport names for a client.
func (f *flags) clientTransport() (transport.Kind, error) {
	switch f.transport {
	case "", transportStdio:
		return transport.Stdio, nil
	case transportHTTP, string(transport.HTTP):
		return transport.HTTP, nil
	case transportSSE:
		return transport.SSE, nil
	}
	return "", fmt.Errorf("--transport must be %s, %s or %s, not %q",
		transportStdio, transportHTTP, transportSSE, f.transport)
}
