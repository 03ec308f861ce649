package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func referenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reference server|client|authorization-server",
		Short: "Run the reference implementation",
		Example: "  mcpcheck reference server --stdio\n" +
			"  mcpcheck reference client --stdio -- node build/index.js",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("reference needs a role: server, client or authorization-server")
			}
			return fmt.Errorf("unknown role %q; the roles are server, client and authorization-server", args[0])
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(referenceServerCommand(), referenceClientCommand(), referenceAuthorizationCommand())
	return cmd
}
