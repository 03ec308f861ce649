// Order judges third-party servers with the checks in several orders and compares the
// verdicts. It exits 1 if a verdict depends on the order.
//
//	go run ./interop/order [-orders N] [NAME…]
//
// Without names it takes the server of the Go SDK over stdio.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/interop/target"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

func main() {
	orders := flag.Int("orders", 3, "in how many orders each target is judged")
	flag.Parse()
	if err := run(*orders, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "order: %v\n", err)
		os.Exit(1)
	}
}

func run(orders int, names []string) error {
	if len(names) == 0 {
		names = []string{"go-sdk-server"}
	}
	root, err := target.Root()
	if err != nil {
		return err
	}
	targets, err := target.Read(root, names)
	if err != nil {
		return err
	}
	failed := 0
	for _, t := range targets {
		n, err := compare(root, t, orders)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		fmt.Printf("%s: %d verdicts depend on the order, of %d orders\n", t.Name, n, orders)
		if n > 0 {
			failed++
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(targets)-failed, failed)
	if failed > 0 {
		return errors.New("verdicts depend on the order of the checks")
	}
	return nil
}

// compare returns how many verdicts on a target differ between orders.
func compare(root string, t target.Target, orders int) (differ int, err error) {
	if t.TransportName() != "stdio" {
		return 0, errors.New("only targets over stdio are judged")
	}
	var first map[string]reports.Verdict
	for seed := range uint64(orders) {
		verdicts, err := judge(root, t, seed)
		if err != nil {
			return 0, err
		}
		if first == nil {
			first = verdicts
		}
		for key, v := range first {
			if verdicts[key] != v {
				fmt.Printf("  %s: %s, in order %d %s\n", key, v, seed, verdicts[key])
				differ++
			}
		}
	}
	return differ, nil
}

// judge returns the verdicts on a target with the checks in an order that seed
// chooses; 0 is the order of the list.
func judge(root string, t target.Target, seed uint64) (map[string]reports.Verdict, error) {
	checks := slices.Clone(catalog.InProfile("", catalog.Of(wire.Server, catalog.Checks())))
	if seed > 0 {
		rand.New(rand.NewPCG(seed, seed)).Shuffle(len(checks), func(i, j int) {
			checks[i], checks[j] = checks[j], checks[i]
		})
	}
	place := strings.NewReplacer("{root}", root)
	var env []string
	for _, k := range slices.Sorted(maps.Keys(t.Env)) {
		env = append(env, k+"="+place.Replace(t.Env[k]))
	}
	var argv []string
	for _, arg := range t.Command {
		argv = append(argv, place.Replace(arg))
	}
	command := transport.Command{Argv: argv, Env: env, Dir: filepath.Join(root, t.Cwd)}
	result, err := engine.Run(context.Background(), command,
		engine.Options{Checks: checks, Session: session.DefaultOptions(), Confirm: true})
	if err != nil {
		return nil, err
	}
	out := map[string]reports.Verdict{}
	for _, o := range result.Outcomes {
		out[string(o.Revision)+" "+o.ID] = o.Verdict
	}
	return out, nil
}
