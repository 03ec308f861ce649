// Unreached lists the calls of Fail in the judging code that no test reaches, and compares
// them with the list in the repository. A deviation that no test shows may be reported
// wrongly, or not at all.
//
//	go run ./internal/unreached
//
// It runs the tests that run checks, with a coverage profile, which takes minutes;
// -profile reads one that is there already. It fails if a call is unreached that
// unreached.tsv does not list, and names listed calls that are reached, which depends on
// time for some: the list may only shrink. Reach a call by a seeded fault, a violation file
// or a test.
package main

import (
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// list is the file with the calls that are known to be unreached, from the root of the
// module.
const list = "internal/unreached/unreached.tsv"

// tested are the packages whose tests run checks.
var tested = []string{"./suites/...", "./internal/engine", "./internal/selftest", "./fuzz"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	profile := flag.String("profile", "", "a coverage `file` of these tests; empty: run them")
	write := flag.Bool("write", false, "write the list")
	flag.Parse()
	err := run(ctx, *profile, *write)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "unreached:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, profile string, write bool) error {
	if profile == "" {
		folder, err := os.MkdirTemp("", "unreached")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		profile = filepath.Join(folder, "cover.out")
		args := append([]string{"test", "-count=1", "-coverpkg=./suites/...", "-coverprofile=" + profile}, tested...)
		if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("go test: %w\n%s", err, out)
		}
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	calls, err := failCalls("suites")
	if err != nil {
		return err
	}
	got := unreached(calls, readProfile(string(text)))
	if write {
		return os.WriteFile(list, []byte(strings.Join(got, "\n")+"\n"), 0o600)
	}
	known, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	listed := strings.Split(strings.TrimSpace(string(known)), "\n")
	for _, call := range missing(listed, got) {
		fmt.Printf("a test reaches, take it out of %s: %s\n", list, call)
	}
	if further := missing(got, listed); len(further) > 0 {
		return fmt.Errorf("no test reaches %d further calls of Fail:\n%s", len(further), strings.Join(further, "\n"))
	}
	fmt.Printf("no test reaches %d calls of Fail, all of them listed\n", len(got))
	return nil
}

// missing returns the calls that a list does not have.
func missing(calls, list []string) (out []string) {
	for _, call := range calls {
		if !slices.Contains(list, call) {
			out = append(out, call)
		}
	}
	return out
}

// A block is a range of a file that is run as a whole.
type block struct{ line, column, lastLine, lastColumn int }

// holds reports whether a position is in the block.
func (b block) holds(p token.Position) bool {
	return (p.Line > b.line || p.Line == b.line && p.Column >= b.column) &&
		(p.Line < b.lastLine || p.Line == b.lastLine && p.Column < b.lastColumn)
}

// readProfile returns the blocks of a coverage profile by file, with whether a test runs
// them.
func readProfile(text string) map[string]map[block]bool {
	files := map[string]map[block]bool{}
	for line := range strings.Lines(text) {
		path, place, ok := strings.Cut(line, ".go:")
		_, path, inModule := strings.Cut(path, "/suites/")
		var b block
		var statements, count int
		_, err := fmt.Sscanf(place, "%d.%d,%d.%d %d %d", &b.line, &b.column, &b.lastLine, &b.lastColumn, &statements,
			&count)
		if !ok || !inModule || err != nil {
			continue
		}
		path = "suites/" + path + ".go"
		if files[path] == nil {
			files[path] = map[block]bool{}
		}
		files[path][b] = files[path][b] || count > 0
	}
	return files
}

// A failCall is a call that fails a check.
type failCall struct {
	at   token.Position // its file from the root of the module
	text string         // what the list says of it
}

// failCalls returns the calls of Fail, FailSession and fail below a folder, in order.
func failCalls(folder string) (calls []failCall, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.Name() == "ginkgosuite" { // its Fail is that of Ginkgo
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, filepath.ToSlash(path), text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Fail", "FailSession", "fail"}, method.Sel.Name) {
				return true
			}
			at, end := set.Position(call.Pos()), set.Position(call.End())
			words := strings.Join(strings.Fields(string(text[at.Offset:end.Offset])), " ")
			calls = append(calls, failCall{at, at.Filename + "\t" + words})
			return true
		})
		return nil
	})
	return calls, err
}

// unreached returns the calls that no test runs, sorted. Calls with the same text in one
// file are one.
func unreached(calls []failCall, files map[string]map[block]bool) (out []string) {
	for _, c := range calls {
		isRun := false
		for b, covered := range files[c.at.Filename] {
			isRun = isRun || covered && b.holds(c.at) && !isSplit(files[c.at.Filename], b, c.at)
		}
		if !isRun {
			out = append(out, c.text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isSplit reports whether a smaller block within b holds a position: a function literal
// has blocks of its own.
func isSplit(blocks map[block]bool, b block, p token.Position) bool {
	for other := range blocks {
		if other != b && other.holds(p) && (other.line > b.line || other.line == b.line && other.column > b.column) {
			return true
		}
	}
	return false
}
