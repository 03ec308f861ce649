// Stable runs mcpcheck on targets several times and compares the verdicts. It
// exits 1 if a check does not have the same verdict in all runs.
//
//	go run ./interop/stable [-mcpcheck PATH] [-runs N] [-parallel N] [-load N] [NAME…]
//
// Without names it uses three targets over stdio and two over HTTP, on different
// SDKs, with sessions and without. Besides those of targets.json there is
// time-slow, which delays the answers of time. With -load it keeps as many
// processors busy meanwhile.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

func main() {
	binary := flag.String("mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	runs := flag.Int("runs", 3, "how often each target is tested")
	slots := flag.Int("parallel", 4, "how many targets are tested at once; a run mostly waits")
	load := flag.Int("load", 0, "how many processors to keep busy meanwhile")
	flag.Parse()
	for range *load {
		go burn()
	}
	if err := run(*binary, *runs, *slots, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "stable: %v\n", err)
		os.Exit(1)
	}
}

// burn keeps one processor busy until the program ends.
func burn() {
	for n := uint64(1); ; n++ {
		busy.Store(n * n)
	}
}

var busy atomic.Uint64

// slow is time behind interop/slow: each answer is 5 ms late, and each 25th 700 ms.
var slow = target.Target{
	Name: "time-slow", Kind: "server", Cwd: ".", Version: "0.4.0",
	Command: []string{"interop/slow", "0.005", "0.7", "25",
		"interop/build/node/node_modules/mcp-time-linux-x64/bin/mcp-time"},
}

func run(binary string, runs, slots int, names []string) error {
	if runs < 2 {
		return fmt.Errorf("-runs must be at least 2, not %d", runs)
	}
	if len(names) == 0 {
		names = []string{"everything", "go-sdk-server", "python-server", "typescript-v1-server-http",
			"typescript-v2-server-http"}
	}
	env, err := target.Open(binary, names, slow)
	if err != nil {
		return err
	}
	defer env.Close()
	targets := env.Targets
	differ := make([][]string, len(targets))
	summary := make([]string, len(targets))
	target.ForEach(targets, slots, func(i int, t target.Target) {
		differ[i], summary[i] = repeat(env.Root, env.Mcpcheck, runs, t)
	})
	passed := 0
	for i, t := range targets {
		for _, d := range differ[i] {
			fmt.Printf("%s: %s\n", t.Name, d)
		}
		fmt.Printf("%s: %s\n", t.Name, summary[i])
		if len(differ[i]) == 0 {
			passed++
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, len(targets)-passed)
	if passed < len(targets) {
		return errors.New("verdicts differ between runs")
	}
	return nil
}

// repeat returns which verdicts differ between runs, and a summary line.
func repeat(root, binary string, runs int, t target.Target) (differ []string, summary string) {
	begun := time.Now()
	reports := make([]map[target.Subject]target.Outcome, runs)
	outcomes := 0
	for k := range reports {
		report, err := t.Run(root, binary)
		if err != nil {
			return []string{fmt.Sprintf("run %d: %v", k+1, err)}, "stopped"
		}
		reports[k] = target.BySubject(report.Outcomes)
		outcomes = max(outcomes, len(reports[k]))
	}
	differ = compare(reports)
	return differ, fmt.Sprintf("%d outcomes in each of %d runs, %d differ, %.0f s",
		outcomes, runs, len(differ), time.Since(begun).Seconds())
}

// compare names each subject whose verdict was not the same in all runs, with
// the runs of each verdict and the detail of the first of them.
func compare(reports []map[target.Subject]target.Outcome) []string {
	var differ []string
	for _, s := range target.Differing(func(o target.Outcome) string { return o.Verdict }, reports...) {
		runs := map[string][]string{}
		var verdicts, lines []string
		for k, report := range reports {
			v := cmp.Or(report[s].Verdict, "no verdict")
			if runs[v] == nil {
				verdicts = append(verdicts, v)
				lines = append(lines, report[s].Detail)
			}
			runs[v] = append(runs[v], fmt.Sprint(k+1))
		}
		for i, v := range verdicts {
			lines[i] = strings.TrimSuffix(fmt.Sprintf("  run %s: %s: %s", strings.Join(runs[v], ","), v, lines[i]),
				": ")
		}
		differ = append(differ, fmt.Sprintf("%v\n%s", s, strings.Join(lines, "\n")))
	}
	return differ
}
