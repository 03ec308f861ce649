package main

import (
	"context"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// loaded are the judging packages. The tests only read them.
var loaded = sync.OnceValues(func() (p struct {
	all     []listed
	sources []*source
}, err error) {
	root, err := moduleRoot(context.Background())
	if err != nil {
		return p, err
	}
	if p.all, err = listPackages(context.Background(), root); err != nil {
		return p, err
	}
	p.sources, err = loadSources(root, p.all)
	return p, err
})

func load(t *testing.T) (all []listed, sources []*source) {
	t.Helper()
	p, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return p.all, p.sources
}

// typeCheck parses and type-checks the files of a package, by name.
func typeCheck(imports types.Importer, files map[string]string) error {
	set := token.NewFileSet()
	var parsed []*ast.File
	for name, text := range files {
		file, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	_, err := (&types.Config{Importer: imports}).Check("p", set, parsed, nil)
	return err
}

// Every mutant can be drawn: all of them together compile.
func TestAllMutantsCompile(t *testing.T) {
	all, sources := load(t)
	exports := map[string]string{}
	for _, l := range all {
		exports[l.ImportPath] = l.Export
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	packages, n := map[string]map[string]string{}, 0
	for _, s := range sources {
		dir := path.Dir(s.path)
		if packages[dir] == nil {
			packages[dir] = map[string]string{helperFile: helpers(s.file.Name.Name)}
		}
		mutants := findMutants(s)
		for i := range mutants {
			n++
			mutants[i].id = n
		}
		packages[dir][s.path] = rewrite(s.text, mutants)
		if got, want := strings.Count(packages[dir][s.path], "\n"), strings.Count(string(s.text), "\n"); got < want {
			t.Errorf("%s has %d lines with its mutants, and %d without", s.path, got, want)
		}
	}
	for dir, files := range packages {
		if err := typeCheck(imports, files); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if n < 5000 {
		t.Errorf("only %d mutants were found", n)
	}
}

// The list names mutants that exist.
func TestListedMutantsExist(t *testing.T) {
	known, err := equivalences()
	if err != nil {
		t.Fatal(err)
	}
	_, sources := load(t)
	var mutants []mutant
	for _, s := range sources {
		mutants = append(mutants, findMutants(s)...)
	}
	for _, e := range known {
		if !slices.ContainsFunc(mutants, e.names) {
			t.Errorf("equivalent.tsv names no mutant: %s, %s, %s", e.path, e.in, e.change)
		}
	}
}

// The checks that use a helper are found, and not those beside them.
func TestFindsChecksThatUseMutatedCode(t *testing.T) {
	_, sources := load(t)
	i := slices.IndexFunc(sources, func(s *source) bool { return s.path == "suites/pagination/probes.go" })
	before, _, _ := strings.Cut(string(sources[i].text), "\nfunc listChanged(")
	var got []string
	for _, n := range newUseGraph(sources).reaching(sources[i].path, strings.Count(before, "\n")+3) {
		ids, _ := checksAt(n.String())
		got = append(got, ids...)
	}
	if want := []string{"pagination.cursor.stable"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

const example = `package p

type T struct{}

func (T) Fail(a, b string, n int)  {}
func (T) Note(text string, n int) {}

func describe(n int) bool { return n > 1 }

func f(t T, all []int, is bool) (found bool) {
	for i, n := range all {
		if n < 3 && is {
			continue
		}
		if n == 7 {
			t.Fail("a", "b", 8)
			t.Note("c", 9)
		}
		if n == 6 && describe(5) {
			t.Note("d", 9)
		}
		found = i > 0
	}
	return !found
}
`

func TestFindsMutants(t *testing.T) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", example, 0)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{}).Check("p", set, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	s := &source{"suites/p/p.go", []byte(example), file, set, info}
	var got []string
	mutants := findMutants(s)
	for i := range mutants {
		mutants[i].id = i + 1
		got = append(got, mutants[i].change)
	}
	want := []string{
		"not (n < 3 && is)", "never: if n < 3 && is", "n < 3 || is, for &&", "n <= 3, for <", "3 + 1",
		"n != 7, for ==", "7 + 1", `without t.Fail("a", "b", 8)`,
		"5 + 1", "without found = i > 0", "i >= 0, for >", "0 + 1", "return not (!found)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	text := rewrite(s.text, mutants)
	if err := typeCheck(importer.ForCompiler(set, "source", nil), map[string]string{
		"p.go": text, helperFile: helpers("p"),
	}); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// The seed decides the sample.
func TestDrawsTheSameMutantsAgain(t *testing.T) {
	_, sources := load(t)
	draw := func(seed uint64) (out []string) {
		o := options{seed: seed, size: 20}
		sample, _ := o.draw(sources, nil)
		for _, m := range sample {
			out = append(out, m.String())
		}
		return out
	}
	if first := draw(1); !slices.Equal(first, draw(1)) || slices.Equal(first, draw(2)) {
		t.Errorf("the sample does not depend on the seed alone: %q", first)
	}
}
