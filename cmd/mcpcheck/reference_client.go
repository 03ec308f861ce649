package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/fault"
)

// referenceClientFlags are the flags of the verb reference client.
type referenceClientFlags struct {
	stdio, legacyFirst bool
	http, sse          string // URLs
	fault              string
	revisions          []string
}

func referenceClientCommand() *cobra.Command {
	var f referenceClientFlags
	cmd := &cobra.Command{
		Use:   "client --stdio -- CMD ARGS… | --http URL | --sse URL",
		Short: "Show what a server offers, as an MCP client of all revisions",
		Example: "  mcpcheck reference client --stdio -- node build/index.js\n" +
			"  mcpcheck reference client --http http://localhost:3000/mcp",
		RunE: func(cmd *cobra.Command, args []string) error { return runReferenceClient(cmd, args, f) },
	}
	s := cmd.Flags()
	s.BoolVar(&f.stdio, "stdio", false, "start the server and speak to it on its standard input and output")
	s.StringVar(&f.http, "http", "", "speak to the server at this `URL` over streamable HTTP")
	s.StringVar(&f.sse, "sse", "", "speak to the server at this `URL` over HTTP+SSE")
	s.BoolVar(&f.legacyFirst, "legacy-first", false, "open with initialize instead of server/discover")
	s.StringVar(&f.fault, "fault", "", "deviate from the specification by this seeded `fault`")
	s.StringSliceVar(&f.revisions, "spec", nil, "speak these `revisions` only")
	completeFlag(cmd, "fault", clientFaultNames)
	completeFlag(cmd, "spec", revisionNames)
	return cmd
}

// runReferenceClient runs the reference client against a server.
func runReferenceClient(cmd *cobra.Command, args []string, f referenceClientFlags) error {
	if err := requireOneTransport(f.stdio, f.http, f.sse); err != nil {
		return err
	}
	switch {
	case f.stdio && len(args) == 0:
		return errors.New("no server: give the command that starts it after --")
	case !f.stdio && len(args) > 0:
		return fmt.Errorf("unexpected argument %q: a server at a URL is not started", args[0])
	}
	o, err := referenceClient(f.fault)
	if err != nil {
		return err
	}
	revisions, err := parseRevisions(f.revisions)
	if err != nil {
		return err
	}
	o.Revisions = append(o.Revisions, revisions...)
	o.HandshakeFirst = f.legacyFirst
	o.Log = func(format string, args ...any) {
		fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
	switch {
	case f.http != "":
		err = client.RunURL(cmd.Context(), f.http, transport.HTTP, o)
	case f.sse != "":
		err = client.RunURL(cmd.Context(), f.sse, transport.SSE, o)
	default:
		guard, guardErr := startGuard()
		if guardErr != nil {
			return exitError{exitBroken, guardErr}
		}
		defer guard.Close()
		err = client.Run(cmd.Context(), transport.Command{Argv: args, Guard: guard}, o)
	}
	if err != nil {
		return exitError{exitFails, err}
	}
	return nil
}

// referenceClient returns the options of the reference client with a fault, ""
// or noFault for none.
func referenceClient(name string) (client.Options, error) {
	o := client.DefaultOptions()
	if name == "" || name == noFault {
		return o, nil
	}
	f, err := fault.LookupClient(name)
	if err != nil {
		return o, fmt.Errorf("%w; %s", err, suggest(name, clientFaultNames(), faultsHint))
	}
	f.Apply(&o)
	return o, nil
}

// referenceClientTarget returns the reference client in this process.
func referenceClientTarget(name string, over transport.Kind) (script.Client, error) {
	o, err := referenceClient(name)
	if err != nil {
		return nil, err
	}
	if over != transport.Stdio {
		run := func(ctx context.Context, url string) error { return client.RunURL(ctx, url, over, o) }
		return script.HTTPFunc{Name: "--reference=" + name, Kind: over, Run: run}, nil
	}
	run := func(ctx context.Context, server transport.Starter) error { return client.Run(ctx, server, o) }
	return script.StdioFunc{Name: "--reference=" + name, Run: run}, nil
}

func clientFaultNames() []string {
	var out []string
	for _, f := range fault.Clients() {
		out = append(out, f.Name)
	}
	return out
}
