package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reference/authserver"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// tellTokens tells who starts a protected reference server how it is called, and
// judged.
func tellTokens(cmd *cobra.Command, s *authserver.Server) {
	resource := s.Issuer() + "/mcp"
	fmt.Fprintf(cmd.ErrOrStderr(), "authorization server: %s\n"+
		"header of its first user, good for an hour: Authorization: Bearer %s\n"+
		"to judge it: mcpcheck server --config FILE %s\n"+
		"with in FILE: authorization: {issuer: %q, private: [%q]}\n",
		s.Issuer(), s.Tokens(resource)[string(authserver.First)], resource, s.Issuer(), authserver.Cards()[0])
}

// tokensOf is what the checks are given of a protected reference server.
func tokensOf(s *authserver.Served) check.Authorization {
	return check.Authorization{Tokens: s.Tokens, Private: authserver.Cards(), Mint: func(_ context.Context, scope string) (string, error) {
		return s.Server.Mint(authserver.First, s.Server.Issuer()+"/mcp", scope)
	}}
}

func authorizationServerCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "authorization-server",
		Short: "Serve tokens to whoever asks, as an OAuth 2.1 authorization server for tests",
		Long: "Serve an OAuth 2.1 authorization server on the loopback interface, for a server under test that trusts\n" +
			"it: metadata, keys (Ed25519), registration, the code flow with PKCE in which the user always agrees.\n" +
			"A configuration of mcpcheck server with authorization: {issuer: URL} has it mint the tokens of the\n" +
			"checks: good, of a second user, expired, for another server, with less scope or more.",
		Example: "  mcpcheck reference authorization-server --http 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, stop, err := authserver.Listen(address)
			if err != nil {
				return exitError{exitFails, err}
			}
			fmt.Fprintln(cmd.OutOrStdout(), s.Issuer())
			<-cmd.Context().Done()
			if err := stop(); err != nil {
				return exitError{exitFails, fmt.Errorf("close: %w", err)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "http", "127.0.0.1:0", "listen on `ADDR`, host:port of the loopback interface, and print the issuer")
	return cmd
}
