// Package internal holds tests of the module as a whole: what each package may import
// and how large its parts may be.
package internal

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mcpcheck/mcpcheck/"

// Groups of the table.
const (
	anything  = "*"               // every package
	survey    = "suites/survey/*" // the packages of the survey
	areas     = "suites/<area>"   // the packages of areas and of the public contract
	otherArea = "suites/official/*"
)

// ofSurvey is what the packages of the survey may import.
var ofSurvey = []string{
	"suites/check", survey, "internal/format", "internal/memo", "internal/spec", "internal/wire", "internal/transport",
	"internal/session", "internal/schema", "uritemplate", "gjson",
}

// ofAreas is what an area may import: no other area.
var ofAreas = append([]string{
	"suites/expect", "suites/view", "internal/match", "internal/script", "internal/yamldoc", "fixtures", "gomega",
}, ofSurvey...)

// mayImport is what each package may import of this module and of others, besides the
// standard library. A package that is neither here nor in a group may not exist. An
// entry that no file uses is an error.
var mayImport = map[string][]string{
	"cmd/mcpcheck": {anything},
	"fixtures":     {"internal/spec", "internal/wire"},
	"fuzz": {
		"fixtures", "internal/schema", "internal/session", "internal/spec", "internal/transport",
		"internal/wire", "reports", "suites/catalog", "suites/check", "suites/view", "gjson", "rapid",
	},
	"internal/config": {"go-yaml", "internal/yamldoc"},
	"internal/engine": {
		"fixtures", "internal/script", "internal/session", "internal/spec", "internal/transport",
		"internal/sdk", "internal/wire", "reports", "suites/catalog", "suites/check", "suites/official",
		"suites/scenario", "suites/survey", survey, "suites/view",
	},
	"internal/exit":       {"internal/schema", "internal/session", "internal/spec", "internal/wire", "gjson"},
	"internal/format":     {},
	"internal/match":      {"internal/wire", "gomega"},
	"internal/memo":       {},
	"internal/mutate":     {"internal/engine", "internal/selftest", "suites/catalog"},
	"internal/schema":     {"fixtures", "internal/memo", "internal/spec", "internal/wire", "jsonschema", "gjson"},
	"internal/sdk":        {"internal/wire"},
	"internal/schema/gen": {"go-yaml", "internal/spec"},
	"internal/secret":     {},
	"internal/processes":  {},
	"internal/script":     {"internal/processes", "internal/spec", "internal/transport", "internal/wire"},
	"internal/selftest": {
		"fixtures", "internal/engine", "internal/session", "internal/spec", "internal/transport",
		"internal/wire", "reference/authserver", "reference/fault", "reference/server", "reports",
		"suites/catalog", "suites/check",
	},
	"internal/session":     {"internal/schema", "internal/spec", "internal/transport", "internal/wire", "gjson"},
	"internal/skip":        {},
	"internal/spec":        {},
	"internal/transport":   {"internal/processes", "internal/spec", "internal/wire", "gjson"},
	"internal/unreached":   {},
	"internal/wire":        {"gjson"},
	"internal/yamldoc":     {"go-yaml"},
	"reference/authserver": {"internal/memo", "internal/transport", "reference/server"},
	"reference/client":     {"internal/spec", "internal/transport", "internal/wire", "gjson"},
	"reference/fault": {
		"reference/authserver", "internal/spec", "internal/transport", "internal/wire", "reference/client",
		"reference/server", "gjson",
	},
	"reference/server": {
		"internal/memo", "internal/spec", "internal/transport", "internal/wire", "gjson", "jsonschema", "uritemplate",
	},
	"reports": {"go-yaml", "internal/spec", "internal/wire", "internal/yamldoc"},
	"suites": {
		"internal/engine", "internal/script", "internal/session", "internal/spec", "internal/transport",
		"internal/wire", "reports", "suites/catalog",
	},
	"suites/catalog": {"fixtures", "internal/spec", "internal/wire", areas, "suites/check"},
	"suites/check": {
		"internal/exit", "internal/secret", "internal/session", "internal/spec", "internal/transport", "internal/wire",
		"suites/view", "gjson",
	},
	"suites/expect": {
		"internal/session", "internal/spec", "internal/transport", "internal/wire", "suites/check", survey,
	},
	"suites/ginkgosuite": {"internal/engine", "internal/spec", "reports", "suites", "suites/check", "ginkgo"},
	"suites/scenario":    {"internal/script", "internal/spec", "internal/transport"},
	"suites/view":        {"internal/session", "internal/spec", "internal/wire", "gjson"},
}

// isArea reports whether a package is an area or a part of the public contract.
func isArea(name string) bool {
	_, known := mayImport[name]
	return strings.HasPrefix(name, "suites/") && !known && !strings.HasPrefix(name, "suites/survey")
}

// allowed returns what a package may import; known is false if the package may not
// exist.
func allowed(name string) (may []string, known bool) {
	if may, known = mayImport[name]; known {
		return may, true
	}
	switch {
	case name == "suites/survey", strings.HasPrefix(name, "suites/survey/"):
		return ofSurvey, true
	case name == "suites/official":
		return append([]string{otherArea}, ofAreas...), true
	case strings.HasPrefix(name, "suites/official/"):
		return append([]string{"suites/official/contract"}, ofAreas...), true
	case name == "suites/streamablehttp":
		return append([]string{"suites/streamablehttp/semantics", "suites/streamablehttp/streams"}, ofAreas...), true
	case isArea(name):
		return ofAreas, true
	}
	return nil, false
}

// matchesEntry reports whether an entry of the table allows an import.
func matchesEntry(entry, imported string) bool {
	switch entry {
	case survey, otherArea:
		return strings.HasPrefix(imported, strings.TrimSuffix(entry, "*"))
	case areas:
		return isArea(imported)
	}
	return entry == imported
}

// short names the modules of others in the table.
var short = map[string]string{
	"github.com/tidwall/gjson":                 "gjson",
	"github.com/santhosh-tekuri/jsonschema/v6": "jsonschema",
	"github.com/goccy/go-yaml":                 "go-yaml",
	"github.com/yosida95/uritemplate/v3":       "uritemplate",
	"github.com/onsi/gomega":                   "gomega",
	"github.com/onsi/ginkgo/v2":                "ginkgo",
	"pgregory.net/rapid":                       "rapid",
}

// shortName returns the name of an import path in the table.
func shortName(path string) string {
	for long, s := range short {
		if path == long || strings.HasPrefix(path, long+"/") {
			return s
		}
	}
	return strings.TrimPrefix(path, module)
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestPackagesImportAllowedPackagesOnly(t *testing.T) {
	std := standardLibrary(t)
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "interop") || name == "internal" {
			continue
		}
		may, known := allowed(name)
		if !known {
			t.Errorf("%s is not in the table", name)
			continue
		}
		if slices.Contains(may, anything) {
			continue
		}
		used := map[string]bool{}
		for _, path := range p.Imports {
			if std[path] {
				continue
			}
			at := slices.IndexFunc(may, func(entry string) bool { return matchesEntry(entry, shortName(path)) })
			if at < 0 {
				t.Errorf("%s imports %s, which the table does not allow", name, path)
				continue
			}
			used[may[at]] = true
		}
		for _, entry := range mayImport[name] {
			if !used[entry] {
				t.Errorf("%s does not import %s, which the table allows", name, entry)
			}
		}
	}
}

func standardLibrary(t *testing.T) map[string]bool {
	t.Helper()
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Fatalf("go list std: %v", err)
	}
	std := map[string]bool{}
	for _, p := range strings.Fields(string(out)) {
		std[p] = true
	}
	return std
}

// Values that differ between revisions are facts of internal/spec, and where a check
// applies is data. Only these packages may compare revisions.
func TestFewPackagesCompareRevisions(t *testing.T) {
	allowed := []string{"internal/spec", "internal/session", "internal/transport", "reference"}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel("..", path)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "interop" ||
				slices.Contains(allowed, filepath.ToSlash(rel))) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		for _, at := range comparisons(file) {
			t.Errorf("%s compares revisions: ask for a fact instead", fset.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// comparisons returns where a file compares with or switches over a constant
// of a revision.
func comparisons(file *ast.File) (at []token.Pos) {
	revision := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == "spec" && strings.HasPrefix(s.Sel.Name, "V20")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if revision(n.X) || revision(n.Y) {
				at = append(at, n.Pos())
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				if revision(e) {
					at = append(at, n.Pos())
				}
			}
		}
		return true
	})
	return at
}

func TestDetectsComparisonsOfRevisions(t *testing.T) {
	for src, want := range map[string]int{
		`if rev == spec.V2025_06_18 {}`:                  1,
		`if spec.V2024_11_05 != rev || rev > other {}`:   1,
		`switch rev { case spec.V2026_07_28: }`:          1,
		`x := spec.Since(spec.V2025_06_18)`:              0,
		`if t.Facts.Stateless && rev.Facts().Batches {}`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+src+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(comparisons(file)); got != want {
			t.Errorf("%s: %d comparisons seen, want %d", src, got, want)
		}
	}
}
