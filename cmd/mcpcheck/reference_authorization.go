package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reference/authserver"
)

const authorizationHelp = `Serve an OAuth 2.1 authorization server on the loopback interface, for a server under test
that trusts it: metadata, keys (Ed25519), registration, and the code flow with PKCE, in
which the user always agrees. With authorization: {issuer: URL} in its configuration,
mcpcheck server has it mint the tokens that checks need: valid, of a second user, expired,
for another server, with less or more scope.`

func referenceAuthorizationCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:     "authorization-server",
		Short:   "Serve an OAuth 2.1 authorization server for tests, which gives a token to every client",
		Long:    authorizationHelp,
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
	cmd.Flags().StringVar(&address, "http", "127.0.0.1:0",
		"listen on `ADDR`, host:port of the loopback interface, and print the issuer")
	return cmd
}
