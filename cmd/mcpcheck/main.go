// Mcpcheck tests servers and clients of the Model Context Protocol for
// conformance.
//
// Each verb has a file that declares its flags and calls the packages below.
// Verbs share the type flags; httpTarget is a server at a URL, outputs are the
// report files and the terminal. Two hidden verbs are for processes that
// mcpcheck starts from its own binary: the guard, which ends the children of a
// killed run, and the bridge between a client and its scripted server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/reports"
)

// version is the version of this program; releases set it at link time.
var version = "0.1.0-dev"

// The exit codes, which scripts may rely on.
const (
	exitConforms    = reports.ExitConforms
	exitFails       = reports.ExitFails
	exitUsage       = 2
	exitUnreachable = reports.ExitNotJudged
	exitBroken      = reports.ExitBroken
	exitInterrupted = reports.ExitInterrupted
)

// exitCodes is the paragraph on exit codes in the help of verbs that run checks.
const exitCodes = `Exit codes: 0 no violation found; 1 a check fails, or a baseline entry is wrong; 2 usage or
configuration; 3 the target could not be started or reached, or not everything could be judged; 4
internal error of mcpcheck; 130 interrupted.`

// An exitError is the exit code of a command. It has no error to print where the
// report says everything.
type exitError struct {
	code int
	err  error // to be printed, or nil
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// memoryLimit is the size of the heap from which garbage is collected early.
const memoryLimit = 128 << 20

func main() {
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(execute(os.Args[1:]))
}

// execute runs the command line and returns the exit code. An error that is no
// exitError concerns a flag, an argument or a file: a usage error.
func execute(args []string) int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit exitError
	switch {
	case err == nil:
		return exitConforms
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(os.Stderr, reports.EscapeLines(fmt.Sprintf("mcpcheck: %v", exit.err)))
		}
		return exit.code
	default:
		fmt.Fprintln(os.Stderr, reports.EscapeLines(fmt.Sprintf("mcpcheck: %v", err)))
		return exitUsage
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpcheck",
		Short: "Test servers and clients of the Model Context Protocol for conformance",
		Example: "  mcpcheck server -- node build/index.js\n" +
			"  mcpcheck client -- ./my-client {server}\n" +
			"  mcpcheck server --reference --html report.html",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		// Without Args, cobra prints the help for an unknown verb and exits 0.
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errUnknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(explainFlag)
	setHelp(root)
	root.SetVersionTemplate("mcpcheck {{.Version}}\n")
	root.AddCommand(
		serverCommand(),
		clientCommand(),
		fuzzCommand(),
		replayCommand(),
		listCommand(),
		explainCommand(),
		selftestCommand(),
		referenceCommand(),
		guardCommand(),
		bridgeCommand(),
	)
	return root
}
