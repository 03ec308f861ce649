package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
)

func serverCommand() *cobra.Command {
	o := session.Defaults()
	cmd := &cobra.Command{
		Use:     "server [flags] -- CMD ARGS…",
		Short:   "Judge a server",
		Example: "  mcpcheck server -- node build/index.js",
		RunE: func(cmd *cobra.Command, args []string) error {
			guard, err := startGuard()
			if err != nil {
				return exitError{exitBroken, err}
			}
			defer guard.Close()
			began := time.Now()
			run, err := suites.Run(cmd.Context(), transport.Command{Argv: args, Guard: guard}, suites.Options{
				Checks: suites.Of(wire.Server, suites.All()), Revisions: spec.Revisions(), Session: o, Deadline: 10 * time.Minute, Seed: rand.Uint64(), Confirm: true,
				Progress: func(o reports.Outcome) { fmt.Println(o.Verdict, o.Revision, o.ID, o.Detail, o.Cause) },
			})
			if err != nil {
				return exitError{exitUnreachable, err}
			}
			fmt.Println(run.Target, run.Revisions, run.Totals, time.Since(began))
			_ = os.Stdout
			return nil
		},
	}
	cmd.Flags().DurationVar(&o.Timeout, "timeout", o.Timeout, "wait at most this long for one answer")
	return cmd
}
