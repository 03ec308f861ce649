package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/processes"
)

const guardVerb = "__guard"

// guardCommand is the hidden verb of the process that ends our children if we
// are killed.
func guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardVerb,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		Run: func(_ *cobra.Command, args []string) {
			// The parent handles an interrupt, and ends the guard by closing its input.
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			processes.RunGuard(os.Stdin, args[0])
		},
	}
}

// startGuard starts the guard of this process.
func startGuard() (*processes.Guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	processes.AdoptOrphans()
	return processes.StartGuard(self, guardVerb)
}
