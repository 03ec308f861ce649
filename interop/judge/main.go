// Judge runs mcpcheck on the pinned targets of targets.json and compares every
// fail and warn with the adjudicated verdicts in interop/verdicts. It exits 1 for
// a verdict that is new, that has vanished, or that is not adjudicated, and writes
// the frames of new verdicts to interop/build/frames. It repeats the run up to two
// times for a verdict that has vanished, since a peer may have a race.
//
//	go run ./interop/judge [-mcpcheck PATH] [-gate] [-write] [-parallel N] [NAME…]
//
// With -write it replaces the file of a target by the present verdicts. Those
// that were adjudicated keep their clause and reason; the others have to be
// filled in. An entry is a verdict of one check on one target.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

func main() {
	binary := flag.String("mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	write := flag.Bool("write", false, "write the present verdicts to interop/verdicts")
	slots := flag.Int("parallel", 4, "how many targets are tested at once; a run mostly waits")
	gate := flag.Bool("gate", false, "leave out the targets that targets.json marks as nightly")
	flag.Parse()
	if err := run(*binary, *write, *gate, *slots, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "judge: %v\n", err)
		os.Exit(1)
	}
}

func run(binary string, write, gate bool, slots int, names []string) error {
	env, err := target.Open(binary, names)
	if err != nil {
		return err
	}
	defer env.Close()
	targets := slices.DeleteFunc(slices.Clone(env.Targets), func(t target.Target) bool { return gate && t.Nightly })
	wrong := make([][]string, len(targets))
	target.ForEach(targets, slots, func(i int, t target.Target) {
		wrong[i] = judge(env.Root, env.Mcpcheck, t, write)
	})
	passed := 0
	for i, t := range targets {
		if len(wrong[i]) == 0 {
			passed++
			continue
		}
		fmt.Printf("%s\n  %s\n", t.Name, strings.ReplaceAll(strings.Join(wrong[i], "\n"), "\n", "\n  "))
	}
	fmt.Printf("%d passed, %d failed\n", passed, len(targets)-passed)
	if passed < len(targets) {
		return errors.New("verdicts differ from interop/verdicts")
	}
	return nil
}

// laterRuns is how often the run of a target is repeated for verdicts that have
// vanished.
const laterRuns = 2

// judge runs mcpcheck on a target and returns the differences of its verdicts.
func judge(root, binary string, t target.Target, write bool) []string {
	r, err := t.Run(root, binary)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	if spoken := r.Spoken(); !slices.Equal(spoken, t.Speaks) {
		wrong = append(wrong, fmt.Sprintf("the target speaks %v; targets.json says %v", spoken, t.Speaks))
	}
	if over := r.Transports(); !slices.Equal(over, []string{t.TransportName()}) {
		wrong = append(wrong, fmt.Sprintf("the target was tested over %v; targets.json says %s", over,
			t.TransportName()))
	}
	wrong = append(wrong, unjudged(r.Outcomes)...)
	path := filepath.Join(root, "interop", "verdicts", t.Name+".jsonl")
	then, err := readLedger(path)
	if err != nil {
		return append(wrong, err.Error())
	}
	outcomes := r.Outcomes
	if write {
		if err := save(path, entries(t, outcomes), then); err != nil {
			return append(wrong, err.Error())
		}
		if then, err = readLedger(path); err != nil {
			return append(wrong, err.Error())
		}
	}
	for range laterRuns {
		gone := vanished(t, outcomes, then)
		if len(gone) == 0 {
			break
		}
		fmt.Printf("%s is tested again\n  %s\n", t.Name, strings.Join(gone, "\n  "))
		again, err := t.Run(root, binary)
		if err != nil {
			return append(wrong, err.Error())
		}
		wrong = append(wrong, unjudged(again.Outcomes)...)
		outcomes = merge(outcomes, again.Outcomes)
	}
	frames := filepath.Join("interop", "build", "frames", t.Name)
	if err := os.RemoveAll(filepath.Join(root, frames)); err != nil {
		return append(wrong, err.Error())
	}
	for _, o := range unadjudicated(outcomes, t, then) {
		file := filepath.Join(frames, o.ID+"@"+o.Revision+".jsonl")
		if err := saveFrames(filepath.Join(root, file), o.Frames); err != nil {
			return append(wrong, err.Error())
		}
	}
	return append(wrong, compare(t, outcomes, then, frames)...)
}

// unjudged names the outcomes that a run on a real target must not have: broken is
// a bug of mcpcheck, and not-run means that a prerequisite failed.
func unjudged(outcomes []target.Outcome) []string {
	var out []string
	for _, o := range outcomes {
		if o.Verdict == "broken" || o.Verdict == "not-run" {
			out = append(out, fmt.Sprintf("%s at %s is %s: %s", o.ID, o.Revision, o.Verdict, o.Detail))
		}
	}
	return out
}

func saveFrames(path string, frames []json.RawMessage) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range frames {
		b.Write(f)
		b.WriteByte('\n')
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
