package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/selftest"
	"github.com/mcpcheck/mcpcheck/reference/fault"
)

const selftestHelp = `Test the checks: run them against each seeded fault of the reference implementation, which must be
caught by exactly the checks that it names.

Exit codes: 0 faults and checks agree; 2 a glob matches no fault; 4 they disagree; 130
interrupted.`

func selftestCommand() *cobra.Command {
	newest := false
	cmd := &cobra.Command{
		Use:     "selftest [GLOB]...",
		Short:   "Test the checks: each seeded fault must be caught by exactly the checks that it names",
		Long:    selftestHelp,
		Example: "  mcpcheck selftest\n  mcpcheck selftest 'tools.*' jsonrpc",
		RunE: func(cmd *cobra.Command, globs []string) error {
			faults, err := selftest.Select(fault.All(), globs)
			if err != nil {
				return exitError{exitUsage, err}
			}
			compute := selftest.Run
			if newest {
				compute = selftest.RunNewest
			}
			matrix, err := compute(cmd.Context(), faults, selftest.Workers())
			if err != nil {
				if cmd.Context().Err() != nil {
					return exitError{exitInterrupted, err}
				}
				return exitError{exitBroken, err}
			}
			if err := matrix.Write(cmd.OutOrStdout()); err != nil {
				return exitError{exitBroken, err}
			}
			wrong := matrix.Wrong()
			for _, w := range wrong {
				fmt.Fprintln(cmd.OutOrStdout(), "  "+w)
			}
			if len(wrong) > 0 {
				return exitError{exitBroken, fmt.Errorf("faults and checks disagree; differences: %d", len(wrong))}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&newest, "newest", false,
		"run all checks at the newest revision of each fault, and at the others only the checks that it names")
	return cmd
}
