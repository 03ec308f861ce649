package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

const guardVerb = "__guard"

// guardCommand is the hidden verb that ends our children should we be killed.
func guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardVerb,
		Hidden: true,
		Args:   cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			// ^C goes to our parent, which ends us by closing our input.
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
			transport.RunGuard(os.Stdin)
		},
	}
}

// startGuard starts the guard of this process.
func startGuard() (*transport.Guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return transport.StartGuard(self, guardVerb)
}
