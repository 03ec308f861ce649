package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// nearestTests are the tests of internal/engine that run judges on recorded sessions and
// client faults.
const nearestTests = "ViolationsFail|ClientFaults"

// kill runs the steps for one mutant alone, and returns what kills it, "" if nothing does.
func (r *measurement) kill(ctx context.Context, m mutant) (string, error) {
	nodes := r.uses.reaching(m.path, m.line)
	tests := [][2]string{{m.dir(), "."}}
	if servesJudge(nodes) {
		tests = append(tests, [2]string{"suites/catalog", "."}, [2]string{"internal/engine", nearestTests})
	}
	for _, test := range tests {
		if !r.build.hasTests(test[0]) {
			continue
		}
		if failed, err := r.test(ctx, []mutant{m}, test[0], test[1]); err != nil || len(failed) > 0 {
			return strings.Join(failed, " "), err
		}
	}
	return r.differ(ctx, m, nodes)
}

// servesJudge reports whether one of the places is in a judge, or in code that no check
// uses by name.
func servesJudge(nodes []node) bool {
	isUsed := false
	for _, n := range nodes {
		ids, haveJudge := checksAt(n.String())
		if haveJudge {
			return true
		}
		isUsed = isUsed || len(ids) > 0
	}
	return !isUsed
}

// differ runs the faults of the checks that use the mutated code with a mutant in effect.
// The limit is for each run of a fault: how many there are depends on the mutant.
func (r *measurement) differ(ctx context.Context, m mutant, nodes []node) (string, error) {
	limited, stop := context.WithCancel(ctx)
	defer stop()
	expired := time.AfterFunc(r.o.limit, stop)
	defer expired.Stop()
	var places []string
	for _, n := range nodes {
		places = append(places, n.String())
	}
	cmd := r.build.command(limited, []mutant{m}, "", r.build.worker(), "-differ")
	cmd.Stdin = strings.NewReader(strings.Join(places, "\n"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	found := ""
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		expired.Reset(r.o.limit)
		if text, ok := strings.CutPrefix(lines.Text(), differs); ok {
			found = text
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return fmt.Sprintf("no run ends within %s", r.o.limit), nil
	case errors.As(err, &exit):
		return "the run ends: " + lastLine(stderr.String()), nil
	}
	return found, err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// failedTest finds the names of tests that failed in the output of a test binary.
var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// exactly returns the pattern of tests by their names.
func exactly(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// test runs the tests of a package that match a pattern, without those of some names,
// with mutants in effect, and returns the names of those that fail.
func (r *measurement) test(
	ctx context.Context, in []mutant, name, pattern string, without ...string,
) (failed []string, err error) {
	limit := r.o.limit
	if slices.Contains(others, name) {
		limit *= 5 // they run many faults
	}
	limited, stop := context.WithTimeout(ctx, limit+10*time.Second)
	defer stop()
	args := []string{"-test.run", pattern, "-test.failfast", "-test.timeout", limit.String()}
	if len(without) > 0 {
		args = append(args, "-test.skip", exactly(without))
	}
	out, err := r.build.command(limited, in, name, r.build.binary(name), args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		return nil, nil
	case !errors.As(err, &exit):
		return nil, err
	}
	for _, found := range failedTest.FindAllStringSubmatch(string(out), -1) {
		failed = append(failed, found[1])
	}
	if len(failed) == 0 { // a panic, or no end
		failed = []string{name}
	}
	return failed, nil
}

// killTogether runs the other tests with all mutants in effect, and returns what kills
// which of them.
func (r *measurement) killTogether(ctx context.Context, left []mutant) (map[int]string, error) {
	killed := map[int]string{}
	for _, name := range r.build.tests {
		var unclear []string // tests that fail with several mutants, and with none alone
		for len(left) > 0 {
			failed, err := r.test(ctx, left, name, ".", unclear...)
			if err != nil {
				return nil, err
			}
			if len(failed) == 0 {
				break
			}
			isUnnamed := slices.Contains(failed, name) // the test binary ended
			pattern := exactly(failed)
			if isUnnamed {
				pattern = "."
			}
			if without, err := r.test(ctx, nil, name, pattern); err != nil {
				return nil, err
			} else if len(without) > 0 {
				return nil, fmt.Errorf("%s fails without a mutant", strings.Join(without, " "))
			}
			culprits, err := r.halve(ctx, left, name, pattern)
			if err != nil {
				return nil, err
			}
			if len(culprits) == 0 {
				r.progress("%s fails with %d mutants together, and with none of them alone", strings.Join(failed, " "),
					len(left))
				if isUnnamed {
					break
				}
				unclear = append(unclear, failed...)
				continue
			}
			for _, m := range culprits {
				killed[m.id] = strings.Join(failed, " ")
			}
			left = slices.DeleteFunc(left, func(m mutant) bool { return killed[m.id] != "" })
		}
	}
	return killed, nil
}

// halve returns the mutants that fail tests alone.
func (r *measurement) halve(ctx context.Context, in []mutant, name, pattern string) (culprits []mutant, err error) {
	for _, half := range [][]mutant{in[:len(in)/2], in[len(in)/2:]} {
		if len(half) == 0 {
			continue
		}
		failed, err := r.test(ctx, half, name, pattern)
		switch {
		case err != nil:
			return nil, err
		case len(failed) > 0 && len(half) == 1:
			culprits = append(culprits, half[0])
		case len(failed) > 0:
			more, err := r.halve(ctx, half, name, pattern)
			if err != nil {
				return nil, err
			}
			culprits = append(culprits, more...)
		}
	}
	return culprits, nil
}
