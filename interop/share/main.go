// Share runs mcpcheck without flags on ordinary servers and prints how many of the
// applicable outcomes are a verdict: pass, fail or warn.
//
//	go run ./interop/share [-mcpcheck PATH] [-checks FILE] [-parallel N] [-reasons] [NAME…]
//
// An outcome is one check at one revision; not-applicable ones are not counted. Without
// names it uses mcp-server-time, filesystem and a server of each SDK over stdio. FILE
// has one id a line; checks that it does not list are not counted, so that two releases
// can be compared. With -reasons it prints the details of the not-observed outcomes,
// the most frequent first.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

func main() {
	binary := flag.String("mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	list := flag.String("checks", "", "a file of the ids that count, one a line (default: all)")
	slots := flag.Int("parallel", 4, "how many targets are tested at once; a run mostly waits")
	reasons := flag.Bool("reasons", false, "print the details of the not-observed outcomes")
	flag.Parse()
	if err := run(os.Stdout, *binary, *list, *slots, *reasons, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "share: %v\n", err)
		os.Exit(1)
	}
}

func run(w io.Writer, binary, list string, slots int, reasons bool, names []string) error {
	counts, err := readIDs(list)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{"mcp-server-time", "filesystem", "typescript-v1-server", "typescript-v2-server",
			"go-sdk-server", "mcp-go-server", "python-server", "rmcp-server"}
	}
	env, err := target.Open(binary, names)
	if err != nil {
		return err
	}
	defer env.Close()
	shares, errs := make([]share, len(env.Targets)), make([]error, len(env.Targets))
	target.ForEach(env.Targets, slots, func(i int, t target.Target) {
		report, err := t.Execute(env.Root, env.Mcpcheck)
		if err != nil {
			errs[i] = fmt.Errorf("%s: %w", t.Name, err)
			return
		}
		shares[i] = count(report.Outcomes, counts)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	total := share{idle: map[string][]string{}}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "target\tapplicable\tverdict\tshare\tnot observed\twithout hint\tother\t")
	for i, t := range env.Targets {
		shares[i].print(table, t.Name)
		total.add(shares[i], t.Name)
	}
	total.print(table, "total")
	if err := table.Flush(); err != nil || !reasons {
		return err
	}
	return total.printReasons(w)
}

// readIDs returns a function that reports whether a file lists an id. Without a file
// it reports true.
func readIDs(file string) (counts func(id string) bool, err error) {
	if file == "" {
		return func(string) bool { return true }, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for line := range bytes.Lines(text) {
		listed[string(bytes.TrimSpace(line))] = true
	}
	return func(id string) bool { return listed[id] }, nil
}

// A share says how many outcomes apply to a target and how many of these are a verdict.
type share struct {
	applicable, verdicts, notObserved, unhinted int

	// idle has the not-observed checks by the detail and hint of their outcomes.
	idle map[string][]string
}

// count counts the outcomes of the checks that count.
func count(outcomes []target.Outcome, counts func(id string) bool) share {
	s := share{idle: map[string][]string{}}
	for _, o := range outcomes {
		if !counts(o.ID) || o.Verdict == "not-applicable" {
			continue
		}
		s.applicable++
		switch o.Verdict {
		case "pass", "fail", "warn":
			s.verdicts++
		case "not-observed":
			s.notObserved++
			if o.Hint == "" {
				s.unhinted++
			}
			why := o.Detail + "\n      hint: " + cmp.Or(o.Hint, "none")
			s.idle[why] = append(s.idle[why], o.ID)
		}
	}
	return s
}

// add adds the outcomes of a target.
func (s *share) add(of share, name string) {
	s.applicable += of.applicable
	s.verdicts += of.verdicts
	s.notObserved += of.notObserved
	s.unhinted += of.unhinted
	for why, ids := range of.idle {
		for _, id := range ids {
			s.idle[why] = append(s.idle[why], name+" "+id)
		}
	}
}

func (s *share) print(w io.Writer, name string) {
	percent := 0.0
	if s.applicable > 0 {
		percent = 100 * float64(s.verdicts) / float64(s.applicable)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%.1f %%\t%d\t%d\t%d\t\n", name, s.applicable, s.verdicts, percent,
		s.notObserved, s.unhinted, s.applicable-s.verdicts-s.notObserved)
}

// printReasons prints why checks were not observed, the most frequent reason first, with
// the targets and checks.
func (s *share) printReasons(w io.Writer) error {
	reasons := slices.SortedFunc(maps.Keys(s.idle), func(a, b string) int {
		return cmp.Or(len(s.idle[b])-len(s.idle[a]), cmp.Compare(a, b))
	})
	for _, why := range reasons {
		ids := slices.Compact(slices.Sorted(slices.Values(s.idle[why])))
		if _, err := fmt.Fprintf(w, "%5d %s\n      %s\n", len(s.idle[why]), why, strings.Join(ids, ", ")); err != nil {
			return err
		}
	}
	return nil
}
