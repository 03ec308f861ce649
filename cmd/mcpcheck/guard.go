package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

const guardVerb = "__guard"

// guardCommand is the hidden verb of the process that ends our children if we
// are killed.
func guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardVerb,
		Hidden: true,
		Args:   cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			// The parent handles an interrupt, and ends the guard by closing its input.
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
