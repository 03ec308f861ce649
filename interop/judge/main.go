// Judge runs mcpcheck on the pinned targets of targets.json and compares every
// fail and warn with the ledger of adjudicated verdicts. It exits 1 for a
// verdict that is new, that has vanished, or that nobody has adjudicated, and
// leaves the frames of the new ones in interop/build/frames. A verdict that has
// vanished is looked for in two runs more, since a peer may win a race with
// itself; one that came in a later run only is told.
//
//	go run ./interop/judge [-mcpcheck PATH] [-write] [-parallel N] [NAME…]
//
// With -write it puts the present verdicts into the ledger, keeps what was
// adjudicated, and leaves the rest to be.
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
	write := flag.Bool("write", false, "put the present verdicts into the ledger")
	slots := flag.Int("parallel", 4, "how many targets are judged at once: most of a run is waiting")
	flag.Parse()
	if err := run(*binary, *write, *slots, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "judge: %v\n", err)
		os.Exit(1)
	}
}

func run(binary string, write bool, slots int, names []string) error {
	bench, err := target.Open(binary, names)
	if err != nil {
		return err
	}
	defer bench.Close()
	targets := bench.Targets
	wrong := make([][]string, len(targets))
	target.EachOf(targets, slots, func(i int, t target.Target) {
		wrong[i] = judge(bench.Root, bench.Mcpcheck, t, write)
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

// laterRuns is how often a target is judged again for verdicts that have
// vanished.
const laterRuns = 2

// judge runs mcpcheck on a target and returns what is wrong with its verdicts.
func judge(root, binary string, t target.Target, write bool) []string {
	r, err := t.Run(root, binary)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	if spoken := r.Spoken(); !slices.Equal(spoken, t.Speaks) {
		wrong = append(wrong, fmt.Sprintf("speaks %v, not %v as targets.json says", spoken, t.Speaks))
	}
	if over := r.Over(); !slices.Equal(over, []string{t.Over()}) {
		wrong = append(wrong, fmt.Sprintf("was judged over %v, not %s as targets.json says", over, t.Over()))
	}
	wrong = append(wrong, unjudged(r.Outcomes)...)
	path := filepath.Join(root, "interop", "verdicts", t.Name+".jsonl")
	then, err := ledger(path)
	if err != nil {
		return append(wrong, err.Error())
	}
	outcomes := r.Outcomes
	if write {
		if err := save(path, entries(t, outcomes), then); err != nil {
			return append(wrong, err.Error())
		}
		if then, err = ledger(path); err != nil {
			return append(wrong, err.Error())
		}
	}
	for range laterRuns {
		gone := vanished(t, outcomes, then)
		if len(gone) == 0 {
			break
		}
		fmt.Printf("%s is judged again\n  %s\n", t.Name, strings.Join(gone, "\n  "))
		again, err := t.Run(root, binary)
		if err != nil {
			return append(wrong, err.Error())
		}
		wrong = append(wrong, unjudged(again.Outcomes)...)
		outcomes = join(outcomes, again.Outcomes)
	}
	frames := filepath.Join("interop", "build", "frames", t.Name)
	if err := os.RemoveAll(filepath.Join(root, frames)); err != nil {
		return append(wrong, err.Error())
	}
	for _, o := range open(outcomes, t, then) {
		file := filepath.Join(frames, o.ID+"@"+o.Revision+".jsonl")
		if err := saveFrames(filepath.Join(root, file), o.Frames); err != nil {
			return append(wrong, err.Error())
		}
	}
	return append(wrong, compare(t, outcomes, then, frames)...)
}

// unjudged names the outcomes that no run on a real peer should have: broken is
// our bug, and not-run means that something before it failed.
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
