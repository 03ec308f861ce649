package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/selftest"
	"github.com/mcpcheck/mcpcheck/reference/fault"
)

func selftestCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "selftest [GLOB]...",
		Short:   "Prove the checks: every seeded fault must set off exactly the checks it names",
		Example: "  mcpcheck selftest\n  mcpcheck selftest 'tools.*' jsonrpc",
		RunE: func(cmd *cobra.Command, globs []string) error {
			faults, err := selftest.Select(fault.All(), globs)
			if err != nil {
				return exitError{exitUsage, err}
			}
			m, err := selftest.Run(cmd.Context(), faults, selftest.Workers())
			if err != nil {
				if cmd.Context().Err() != nil {
					return exitError{exitInterrupted, err}
				}
				return exitError{exitBroken, err}
			}
			if err := m.Write(cmd.OutOrStdout()); err != nil {
				return exitError{exitBroken, err}
			}
			wrong := m.Wrong()
			for _, w := range wrong {
				fmt.Fprintln(cmd.OutOrStdout(), "  "+w)
			}
			if len(wrong) > 0 {
				return exitError{exitBroken, fmt.Errorf("%d deviations between the faults and the checks", len(wrong))}
			}
			return nil
		},
	}
}
