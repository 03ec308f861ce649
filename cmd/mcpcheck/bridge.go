package main

import (
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/script"
)

const bridgeVerb = "__bridge"

// bridgeCommand is the hidden verb that a client under test starts as its server.
// It carries bytes between the client and the scripted server.
func bridgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    bridgeVerb + " ADDRESS",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ended, err := script.RunBridge(args[0], os.Stdin, os.Stdout)
			if err != nil {
				return exitError{exitUnreachable, err}
			}
			if s, ok := ended.(syscall.Signal); ok {
				if err := endBySignal(s); err != nil {
					return exitError{exitBroken, err}
				}
			}
			return nil
		},
	}
}

// bridgeArgv returns the command of the bridge, without its address.
func bridgeArgv() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{self, bridgeVerb}, nil
}
