// Rerun runs mcpcheck on targets and then every command that its report names to
// show a fail or warn again. It exits 1 if one of them does not give the same
// verdict.
//
//	go run ./interop/rerun [-mcpcheck PATH] [-parallel N] [NAME…]
//
// Without names it uses two targets over stdio and one over HTTP, on different SDKs.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

func main() {
	binary := flag.String("mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	slots := flag.Int("parallel", 3, "how many targets are tested at once; a run mostly waits")
	flag.Parse()
	if err := run(*binary, *slots, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "rerun: %v\n", err)
		os.Exit(1)
	}
}

func run(binary string, slots int, names []string) error {
	if len(names) == 0 {
		names = []string{"everything", "mcp-go-server", "python-server-http"}
	}
	env, err := target.Open(binary, names)
	if err != nil {
		return err
	}
	defer env.Close()
	if env.Mcpcheck, err = filepath.Abs(env.Mcpcheck); err != nil {
		return err
	}
	results := make([]result, len(env.Targets))
	target.ForEach(env.Targets, slots, func(i int, t target.Target) { results[i] = repeat(env, t) })
	failed := 0
	for i, t := range env.Targets {
		for _, d := range results[i].differ {
			fmt.Printf("%s: %s\n", t.Name, d)
		}
		fmt.Printf("%s: %d commands, %d give another verdict\n", t.Name, results[i].commands, len(results[i].differ))
		failed += len(results[i].differ)
	}
	if failed > 0 {
		return errors.New("a command does not show its verdict again")
	}
	return nil
}

// A result is what the commands of one report gave.
type result struct {
	commands int
	differ   []string
}

// repeat judges a target and runs the commands of its report.
func repeat(env *target.Environment, t target.Target) (r result) {
	report, err := t.Execute(env.Root, env.Mcpcheck)
	if err != nil {
		return result{differ: []string{err.Error()}}
	}
	for _, o := range report.Outcomes {
		if o.Rerun == "" {
			continue
		}
		r.commands++
		again, err := t.Rerun(env.Root, env.Mcpcheck, o.Rerun)
		if err != nil {
			r.differ = append(r.differ, fmt.Sprintf("%s: %v\n  %s", o.Subject(), err, o.Rerun))
			continue
		}
		got := target.BySubject(again.Outcomes)[o.Subject()]
		if got.Verdict != o.Verdict {
			r.differ = append(r.differ, fmt.Sprintf("%s is %s: %s\n  run alone it is %s: %s\n  %s", o.Subject(),
				o.Verdict, o.Detail, cmp.Or(got.Verdict, "not in the report"), got.Detail, o.Rerun))
		}
	}
	return r
}
