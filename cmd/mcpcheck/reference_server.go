package main

import (
	"cmp"
	"context"
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

// referenceServerFlags are the flags of the verb reference server.
type referenceServerFlags struct {
	stdio, stateless, preferSSE, protected bool
	http, sse                              string // addresses
	fault, profile                         string
	revisions                              []string
}

func referenceServerCommand() *cobra.Command {
	var f referenceServerFlags
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve the data of a small library, as an MCP server of all revisions",
		Example: "  mcpcheck reference server --stdio --spec 2025-06-18,2025-11-25\n" +
			"  mcpcheck reference server --http 127.0.0.1:0\n" +
			"  mcpcheck reference server --http 127.0.0.1:0 --protected",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveReference(cmd, f) },
	}
	s := cmd.Flags()
	s.BoolVar(&f.stdio, "stdio", false, "serve on standard input and output")
	s.StringVar(&f.http, "http", "", "serve over streamable HTTP and HTTP+SSE on `ADDR`, host:port of the loopback "+
		"interface; print both URLs")
	s.StringVar(&f.sse, "sse", "", "serve as with --http on `ADDR`; print the URL of HTTP+SSE only")
	s.BoolVar(&f.stateless, "stateless", false, "serve the handshake revisions without sessions too")
	s.BoolVar(&f.preferSSE, "prefer-sse", false, "answer by a stream where JSON would do")
	s.BoolVar(&f.protected, "protected", false,
		"require a token of an authorization server at the same origin; print a token")
	s.StringVar(&f.fault, "fault", "", "deviate from the specification by this seeded `fault`")
	s.StringSliceVar(&f.revisions, "spec", nil, "speak these `revisions` only")
	s.StringVar(&f.profile, "profile", "",
		"also offer the fixtures of this `profile`: official, the public conformance contract")
	completeFlag(cmd, "fault", faultNames)
	completeFlag(cmd, "profile", profileNames)
	completeFlag(cmd, "spec", revisionNames)
	return cmd
}

func serveReference(cmd *cobra.Command, f referenceServerFlags) error {
	if err := requireOneTransport(f.stdio, f.http, f.sse); err != nil {
		return err
	}
	if f.stdio && (f.stateless || f.preferSSE || f.protected) {
		return errors.New("--stateless, --prefer-sse and --protected need --http or --sse")
	}
	o, err := referenceServer(f.fault, f.profile, f.revisions)
	if err != nil {
		return err
	}
	o.HTTP.Sessionless = o.HTTP.Sessionless || f.stateless
	o.HTTP.PreferSSE = o.HTTP.PreferSSE || f.preferSSE
	if f.protected || o.HTTP.Authorization != nil {
		o = authserver.Protect(o, func(s *authserver.Server) { printTokens(cmd, s) })
	}
	switch {
	case f.http != "":
		return serveHTTP(cmd, f.http, o, (*server.Listener).URLs)
	case f.sse != "":
		return serveHTTP(cmd, f.sse, o, func(l *server.Listener) []string { return []string{l.SSE()} })
	}
	err = server.Serve(cmd.Context(), os.Stdin, os.Stdout, o)
	if err != nil && cmd.Context().Err() == nil { // a signal is an ordinary end
		return exitError{exitFails, fmt.Errorf("serve: %w", err)}
	}
	return nil
}

// serveHTTP serves over HTTP until the command is interrupted. Once it listens it
// prints the URLs on one line.
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

// printTokens prints a token of a protected reference server, and how to test
// that server.
func printTokens(cmd *cobra.Command, s *authserver.Server) {
	resource := s.Issuer() + "/mcp"
	fmt.Fprintf(cmd.ErrOrStderr(), "authorization server: %s\n"+
		"header of its first user, valid for an hour: Authorization: Bearer %s\n"+
		"to test it: mcpcheck server --config FILE %s\n"+
		"with this in FILE: authorization: {issuer: %q, private: [%q]}\n",
		s.Issuer(), s.Tokens(resource)[string(authserver.FirstUserToken)], resource, s.Issuer(),
		authserver.PrivateResources()[0])
}

// referenceServer returns the options of the reference server with a fault, ""
// or noFault for none, that offers the fixtures of a profile, "" for none, at
// some revisions, none for all.
func referenceServer(name, profile string, revisions []string) (server.Options, error) {
	var o server.Options
	if profile != "" && profile != catalog.Official {
		return o, fmt.Errorf("--profile must be official, not %q", profile)
	}
	o.Official = profile != ""
	revs, err := parseRevisions(revisions)
	if err != nil {
		return o, err
	}
	for _, rev := range revs {
		o.Revisions |= spec.Only(rev)
	}
	if name == "" || name == noFault {
		return o, nil
	}
	f, err := fault.Lookup(name)
	if err != nil {
		return o, fmt.Errorf("%w; %s", err, suggest(name, faultNames(), faultsHint))
	}
	return f.Options(o), nil
}

// referenceTarget returns the reference server in this process, over a
// transport, "" for that which shows its fault. Over HTTP it serves as long as
// the process lives. The tokens of a protected one are added to given.
func referenceTarget(name, profile string, over transport.Kind, given *check.Given) (transport.Target, error) {
	o, err := referenceServer(name, profile, nil)
	if err != nil {
		return nil, err
	}
	if f, err := fault.Lookup(name); err == nil {
		over = cmp.Or(over, f.Over)
	}
	if o.HTTP.Authorization != nil && over != transport.Stdio {
		s, err := authserver.StartProtected(over, o)
		if err != nil {
			return nil, err
		}
		given.Authorization = check.Authorization{
			Tokens: s.Tokens, Private: authserver.PrivateResources(),
			Mint: func(_ context.Context, scope string) (string, error) {
				return s.Server.Mint(authserver.FirstUserToken, s.Server.Issuer()+"/mcp", scope)
			},
		}
		return s.Site, nil
	}
	if over == transport.HTTP || over == transport.SSE {
		site, _, err := server.HTTPTarget(over, o)
		return site, err
	}
	return server.Target("--reference="+name, o), nil
}

// requireOneTransport requires that one of --stdio, --http and --sse is given.
func requireOneTransport(stdio bool, http, sse string) error {
	given := 0
	for _, is := range []bool{stdio, http != "", sse != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("give one of --stdio, --http and --sse")
	}
	return nil
}

// faultsHint is the hint for the name of a fault that is similar to none.
const faultsHint = "the folder reference/fault of the source lists the faults"

func faultNames() []string {
	var out []string
	for _, f := range fault.All() {
		out = append(out, f.Name)
	}
	return out
}
