// Mcpcheck judges servers and clients of the Model Context Protocol.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is the version of this program; releases set it at link time.
var version = "0.1.0-dev"

// Exit codes, which scripts may rely on.
const (
	exitConforms    = 0
	exitFails       = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitBroken      = 4
	exitInterrupted = 130
)

// exitError carries the exit code of a command whose report is already out.
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

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs the command line and returns the exit code. An error of a flag,
// an argument or a file is a usage error.
func execute(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
			fmt.Fprintf(os.Stderr, "mcpcheck: %v\n", exit.err)
		}
		return exit.code
	default:
		fmt.Fprintf(os.Stderr, "mcpcheck: %v\n", err)
		return exitUsage
	}
}

// helpTemplate shows an example before anything else, which is what most who
// ask for help are after; examplesOfCobra is the place that cobra gives them.
const (
	helpTemplate = `{{if .HasExample}}{{.Example}}

{{end}}{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{.UsageString}}`
	examplesOfCobra = `{{if .HasExample}}

Examples:
{{.Example}}{{end}}`
)

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "mcpcheck",
		Short:         "Judge servers and clients of the Model Context Protocol",
		Example:       "  mcpcheck server -- node build/index.js\n  mcpcheck client -- ./my-client {server}\n  mcpcheck server --reference --html report.html",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		// Without this, an unknown verb would print the help and exit 0.
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q (mcpcheck --help shows all)", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), examplesOfCobra, "", 1))
	root.SetVersionTemplate("mcpcheck {{.Version}}\n")
	root.AddCommand(serverCommand(), clientCommand(), fuzzCommand(), replayCommand(), listCommand(), explainCommand(), selftestCommand(), referenceCommand(), guardCommand(), bridgeCommand())
	return root
}
