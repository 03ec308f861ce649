package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/authserver"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func referenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reference server|client|authorization-server",
		Short:   "Run our own reference implementation",
		Example: "  mcpcheck reference server --stdio\n  mcpcheck reference client --stdio -- node build/index.js",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("reference needs a role: server, client or authorization-server")
			}
			return fmt.Errorf("unknown role %q: there are server, client and authorization-server", args[0])
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(referenceServerCommand(), referenceClientCommand(), authorizationServerCommand())
	return cmd
}

func referenceServerCommand() *cobra.Command {
	var stdio, stateless, preferSSE, protected bool
	var streamable, sse, name, profile string
	var revisions []string
	cmd := &cobra.Command{
		Use:     "server",
		Short:   "Serve the lending desk of a small library, as an MCP server of all revisions",
		Example: "  mcpcheck reference server --stdio --spec 2025-06-18,2025-11-25\n  mcpcheck reference server --http 127.0.0.1:0\n  mcpcheck reference server --http 127.0.0.1:0 --protected",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stdio && (stateless || preferSSE || protected) {
				return errors.New("--stateless, --prefer-sse and --protected go with --http")
			}
			o, err := referenceServer(name, profile, revisions)
			if err != nil {
				return err
			}
			o.HTTP.SessionLess = o.HTTP.SessionLess || stateless
			o.HTTP.PreferSSE = o.HTTP.PreferSSE || preferSSE
			if protected || o.HTTP.Guard != nil {
				o = authserver.Protect(o, func(s *authserver.Server) { tellTokens(cmd, s) })
			}
			switch {
			case streamable != "":
				return serveHTTP(cmd, streamable, o, (*server.Listener).URLs)
			case sse != "":
				return serveHTTP(cmd, sse, o, func(l *server.Listener) []string { return []string{l.SSE()} })
			}
			// A signal ends the process as it would end any server.
			err = server.Serve(cmd.Context(), os.Stdin, os.Stdout, o)
			if err != nil && cmd.Context().Err() == nil {
				return exitError{exitFails, fmt.Errorf("serve: %w", err)}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve on standard input and output")
	cmd.Flags().StringVar(&streamable, "http", "", "serve over streamable HTTP on `ADDR`, host:port of the loopback interface, beside HTTP+SSE; print both URLs")
	cmd.Flags().StringVar(&sse, "sse", "", "the same, but print the URL of HTTP+SSE alone; `ADDR` is host:port")
	cmd.MarkFlagsOneRequired("stdio", "http", "sse")
	cmd.MarkFlagsMutuallyExclusive("stdio", "http", "sse")
	cmd.Flags().BoolVar(&stateless, "stateless", false, "serve the handshake revisions without sessions too")
	cmd.Flags().BoolVar(&preferSSE, "prefer-sse", false, "answer by a stream, where JSON would do")
	cmd.Flags().BoolVar(&protected, "protected", false, "serve only who brings a token of an authorization server at the same origin; print a token")
	cmd.Flags().StringVar(&name, "fault", "", "deviate from the specification by this seeded `fault`")
	cmd.Flags().StringSliceVar(&revisions, "spec", nil, "speak these `revisions` only")
	cmd.Flags().StringVar(&profile, "profile", "", "offer the fixtures of this `profile` too: official, the public conformance contract")
	complete(cmd, "fault", faultNames)
	complete(cmd, "profile", profileNames)
	complete(cmd, "spec", revisionNames)
	return cmd
}

// serveHTTP serves over HTTP until the command is interrupted, and prints the
// URLs on one line once it listens.
func serveHTTP(cmd *cobra.Command, address string, o server.Options, urls func(*server.Listener) []string) error {
	l, err := server.Listen(address, o)
	if err != nil {
		return exitError{exitFails, err}
	}
	fmt.Fprintln(cmd.OutOrStdout(), strings.Join(urls(l), " "))
	<-cmd.Context().Done()
	if err := l.Close(); err != nil {
		return exitError{exitFails, fmt.Errorf("close: %w", err)}
	}
	return nil
}

// referenceServer returns the options of the reference server with a fault, ""
// or referenceHonest for none, that offers the fixtures of a profile, "" for
// none, at some revisions, none for all.
func referenceServer(name, profile string, revisions []string) (server.Options, error) {
	var o server.Options
	switch profile {
	case "", catalog.Official:
		o.Official = profile != ""
	default:
		return o, fmt.Errorf("--profile takes official, not %q", profile)
	}
	for _, r := range revisions {
		rev, err := spec.ParseRevision(r)
		if err != nil {
			return o, fmt.Errorf("--spec: %w", err)
		}
		o.Revisions |= spec.Only(rev)
	}
	if name == "" || name == referenceHonest {
		return o, nil
	}
	f, err := fault.Lookup(name)
	if err != nil {
		return o, fmt.Errorf("%w%s", err, nearest(name, faultNames()))
	}
	return f.Options(o), nil
}

// referenceTarget is the reference server in this process, over a transport: ""
// for that which shows its fault. Over HTTP it serves as long as the process lives.
// Of a protected one the tokens are given too.
func referenceTarget(name, profile string, over transport.Kind, given *check.Given) (transport.Target, error) {
	o, err := referenceServer(name, profile, nil)
	if err != nil {
		return nil, err
	}
	if f, err := fault.Lookup(name); err == nil {
		over = cmp.Or(over, f.Over)
	}
	if o.HTTP.Guard != nil && over != transport.Stdio {
		s, err := authserver.Serving(over, o)
		if err != nil {
			return nil, err
		}
		given.Authorization = tokensOf(s)
		return s.Site, nil
	}
	if over == transport.HTTP || over == transport.SSE {
		site, _, err := server.Serving(over, o)
		return site, err
	}
	return server.Target("--reference="+name, o), nil
}

func faultNames() []string {
	var out []string
	for _, f := range fault.All() {
		out = append(out, f.Name)
	}
	return out
}

func revisionNames() []string {
	var out []string
	for _, r := range spec.Revisions() {
		out = append(out, string(r))
	}
	return out
}

// complete gives the shell what a flag may hold; of a list it completes the
// last element.
func complete(cmd *cobra.Command, flag string, values func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var out []string
		for _, v := range values() {
			out = append(out, before+v)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is not declared: a slip of ours
	}
}

// referenceHonest stands for --reference without a fault.
const referenceHonest = "honest"
