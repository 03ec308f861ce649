package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// transportPackages declare the targets, clients and links of the transports.
var transportPackages = []string{"internal/transport", "internal/script"}

// TestNoTypeAssertionsOnTransports keeps code outside internal/session from
// depending on which transport a target or client has: a caller that needs a
// property of one target calls a method of the interface, which every target
// implements.
func TestNoTypeAssertionsOnTransports(t *testing.T) {
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("..", file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || rel == "interop" || rel == "internal/session") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			return err
		}
		for _, at := range transportAssertions(syntax, path.Dir(rel)) {
			t.Errorf("%s: type assertion on a transport: call a method of the interface instead", fset.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// transportAssertions returns the positions at which a file of a package asserts
// or switches over an exported type of the transport packages.
func transportAssertions(file *ast.File, dir string) (at []token.Pos) {
	names := map[string]bool{} // of the imports
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		for _, p := range transportPackages {
			if imported != module+p {
				continue
			}
			names[path.Base(p)] = true
			if spec.Name != nil {
				names[spec.Name.Name] = true
			}
		}
	}
	own := false // the package is one of them
	for _, p := range transportPackages {
		own = own || dir == p
	}
	isTransport := func(e ast.Expr) bool {
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		switch e := e.(type) {
		case *ast.Ident:
			return own && e.IsExported()
		case *ast.SelectorExpr:
			x, ok := e.X.(*ast.Ident)
			return ok && names[x.Name]
		}
		return false
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			if n.Type != nil && isTransport(n.Type) {
				at = append(at, n.Pos())
			}
		case *ast.TypeSwitchStmt:
			for _, clause := range n.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					if isTransport(e) {
						at = append(at, e.Pos())
					}
				}
			}
		}
		return true
	})
	return at
}

func TestTransportAssertionsFindsAssertionsAndSwitches(t *testing.T) {
	const imports = `import ("` + module + `internal/transport"; client "` + module + `internal/script"; "fmt")` + "\n"
	for _, c := range []struct {
		dir, body string
		want      int
	}{
		{"suites", `_, _ = x.(transport.Site)`, 1},
		{"suites", `_ = x.(*transport.Streamable)`, 1},
		{"suites", `_ = x.(client.Client)`, 1},
		{"suites", `switch y := x.(type) { case transport.Command, *transport.Stream: _ = y; case fmt.Stringer: }`, 2},
		{"suites", `switch x.(type) { case string, error: }`, 0},
		{"suites", `_, _ = x.(fmt.Stringer); _ = transport.Site{}`, 0},
		{"suites", `_ = x.(Site)`, 0},
		{"internal/transport", `_ = x.(Site)`, 1},
		{"internal/transport", `_ = x.(timeout)`, 0},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+imports+"func f() {\n"+c.body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(transportAssertions(file, c.dir)); got != c.want {
			t.Errorf("%s in %s: %d assertions found, want %d", c.body, c.dir, got, c.want)
		}
	}
}
