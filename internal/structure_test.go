package internal

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Limits of what a reader has to read at once.
const (
	maxProbeMethods  = 40   // of check.T
	maxHandleMethods = 20   // of each of its handles
	maxBodyLines     = 40   // of the body of a check
	maxPackageLines  = 2600 // of a package under suites, tests not counted
	maxColumns       = 120  // of a line
	maxFunctionLines = 60   // of a function that is no table
	tabColumns       = 4    // that a tab counts for
)

// A source is one Go file of the module.
type source struct {
	path string // from the module's root
	text []byte
	file *ast.File
	set  *token.FileSet
}

// sources returns the Go files of folders that are no tests.
func sources(t *testing.T, folders ...string) (out []source) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, text, parser.ParseComments)
			out = append(out, source{filepath.ToSlash(strings.TrimPrefix(path, "../")), text, file, set})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestHandlesOfProbesAreSmall(t *testing.T) {
	limits := map[string]int{
		"T": maxProbeMethods, "HTTP": maxHandleMethods, "Auth": maxHandleMethods,
		"Config": maxHandleMethods, "Sessions": maxHandleMethods, "Client": maxHandleMethods,
	}
	methods := map[string]int{}
	for _, s := range sources(t, "suites/check") {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if name, ok := of.(*ast.Ident); ok {
				methods[name.Name]++
			}
		}
	}
	for name, limit := range limits {
		if methods[name] == 0 || methods[name] > limit {
			t.Errorf("check.%s has %d methods, at most %d are allowed", name, methods[name], limit)
		}
	}
}

// Reports show the location of the body, so that the body is a literal in its check.
func TestCheckBodiesAreFunctionLiterals(t *testing.T) {
	bodies := 0
	for _, s := range sources(t, "suites") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			fields := map[string]ast.Expr{}
			for _, e := range literal.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if key, ok := kv.Key.(*ast.Ident); ok {
						fields[key.Name] = kv.Value
					}
				}
			}
			for _, key := range []string{"Probe", "Judge"} {
				value, ok := fields[key]
				if !ok || fields["ID"] == nil {
					continue
				}
				bodies++
				body, ok := value.(*ast.FuncLit)
				if !ok {
					t.Errorf("%s: the body of a check is no function literal", s.set.Position(value.Pos()))
					continue
				}
				first, last := s.set.Position(body.Body.Pos()).Line, s.set.Position(body.Body.End()).Line
				if n := last - first - 1; n > maxBodyLines {
					t.Errorf("%s: the body of a check has %d lines, at most %d are allowed",
						s.set.Position(value.Pos()), n, maxBodyLines)
				}
			}
			return true
		})
	}
	if bodies < 500 {
		t.Errorf("only %d bodies were found", bodies)
	}
}

func TestPackagesOfSuitesAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, s := range sources(t, "suites") {
		lines[filepath.Dir(s.path)] += bytes.Count(s.text, []byte("\n"))
	}
	for name, n := range lines {
		if n > maxPackageLines {
			t.Errorf("%s has %d lines, at most %d are allowed", name, n, maxPackageLines)
		}
	}
}

// goFiles returns every Go file of the repository, tests too. Folders that are built or
// installed are not part of it.
func goFiles(t *testing.T) (out []source) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		isHidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".."
		if d.IsDir() && (isHidden || d.Name() == "build" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		out = append(out, source{filepath.ToSlash(strings.TrimPrefix(path, "../")), text, file, set})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 500 {
		t.Fatalf("only %d Go files were found", len(out))
	}
	return out
}

func TestLinesAreShort(t *testing.T) {
	for _, s := range goFiles(t) {
		n := 0
		for line := range strings.Lines(string(s.text)) {
			n++
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", strings.Repeat(" ", tabColumns))
			if columns := utf8.RuneCountInString(line); columns > maxColumns {
				t.Errorf("%s:%d: the line has %d columns, at most %d are allowed", s.path, n, columns, maxColumns)
			}
		}
	}
}

func TestFunctionsAreShort(t *testing.T) {
	for _, s := range goFiles(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || isTable(f) {
				continue
			}
			if n := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1; n > maxFunctionLines {
				t.Errorf("%s:%d: %s has %d lines, at most %d are allowed", s.path, s.set.Position(f.Pos()).Line,
					f.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

// isTable reports whether a function is a table: its body is one composite literal,
// which it returns.
func isTable(f *ast.FuncDecl) bool {
	if len(f.Body.List) != 1 {
		return false
	}
	result, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(result.Results) != 1 {
		return false
	}
	_, ok = result.Results[0].(*ast.CompositeLit)
	return ok
}
