// Package internal holds tests of the module as a whole.
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

// surveyImports is what the packages of the survey may import; they may also
// import each other.
var surveyImports = []string{"suites/check", "suites/survey/*", "internal/format", "internal/spec", "internal/wire", "internal/transport", "internal/session", "internal/schema", "uritemplate", "gjson"}

// areaImports is what an area may import: no other area is among it.
var areaImports = append([]string{"suites/expect", "internal/match", "internal/script", "internal/yamldoc", "fixtures", "gomega"}, surveyImports...)

// mayImport is the table of rooms: what each may import of this module and of
// others, besides the standard library. What a room may import is not what it
// must; a room that is missing here may not exist.
var mayImport = map[string][]string{
	"internal/spec":            {},
	"internal/memo":            {},
	"internal/yamldoc":         {"go-yaml"},
	"internal/wire":            {"gjson"},
	"fixtures":                 {"internal/spec", "internal/wire"},
	"internal/schema":          {"internal/spec", "internal/wire", "internal/memo", "fixtures", "jsonschema", "gjson"},
	"internal/schema/gen":      {"internal/spec", "go-yaml"},
	"internal/transport":       {"internal/spec", "internal/wire", "gjson"}, // streamable HTTP repeats members of a message in its headers
	"internal/session":         {"internal/spec", "internal/wire", "internal/transport", "internal/schema", "gjson"},
	"internal/script":          {"internal/spec", "internal/wire", "internal/transport", "fixtures", "gjson"},
	"internal/match":           {"internal/wire", "gomega"},
	"reports":                  {"internal/spec", "internal/wire", "internal/yamldoc", "go-yaml", "gjson"},
	"internal/format":          {},
	"suites/check":             {"internal/spec", "internal/wire", "internal/transport", "internal/session", "internal/schema", "fixtures", "gjson"},
	"suites/scenario":          {"suites/check", "internal/spec", "internal/wire", "internal/transport", "internal/script"},
	"suites/expect":            areaImports,
	"suites/official":          append([]string{"suites/official/skills", "suites/official/contract"}, areaImports...),
	"suites/official/skills":   append([]string{"suites/official/contract"}, areaImports...),
	"suites/official/contract": areaImports,
	"suites/survey":            surveyImports,
	"suites/survey/asking":     surveyImports,
	"suites/survey/changes":    surveyImports,
	"suites/survey/offer":      surveyImports,
	"suites/survey/opening":    surveyImports,
	"suites/survey/posting":    surveyImports,
	"suites/survey/taskcalls":  surveyImports,
	"suites/survey/toolcalls":  surveyImports,
	"suites/survey/transcript": surveyImports,
	"suites/survey/usage":      surveyImports,
	"suites/survey/watch":      surveyImports,
	"suites/authorization":     areaImports,
	"suites/batching":          areaImports,
	"suites/caching":           areaImports,
	"suites/cancellation":      areaImports,
	"suites/completion":        areaImports,
	"suites/discover":          areaImports,
	"suites/elicitation":       areaImports,
	"suites/headers":           areaImports,
	"suites/httpsse":           areaImports,
	"suites/inputrequired":     areaImports,
	"suites/jsonrpc":           areaImports,
	"suites/lifecycle":         areaImports,
	"suites/logging":           areaImports,
	"suites/pagination":        areaImports,
	"suites/ping":              areaImports,
	"suites/progress":          areaImports,
	"suites/prompts":           areaImports,
	"suites/resources":         areaImports,
	"suites/roots":             areaImports,
	"suites/sampling":          areaImports,
	"suites/schema":            areaImports,
	"suites/stdio":             areaImports,
	"suites/streamablehttp":    areaImports,
	"suites/subscriptions":     areaImports,
	"suites/tasks":             areaImports,
	"suites/tools":             areaImports,
	"suites/versioning":        areaImports,
	"suites/catalog":           {"suites/check", "suites/official", "suites/authorization", "suites/batching", "suites/caching", "suites/cancellation", "suites/completion", "suites/discover", "suites/elicitation", "suites/headers", "suites/httpsse", "suites/inputrequired", "suites/jsonrpc", "suites/lifecycle", "suites/logging", "suites/pagination", "suites/ping", "suites/progress", "suites/prompts", "suites/resources", "suites/roots", "suites/sampling", "suites/schema", "suites/stdio", "suites/streamablehttp", "suites/subscriptions", "suites/tasks", "suites/tools", "suites/versioning"},
	"suites":                   {"suites/catalog", "suites/check", "suites/official", "suites/scenario", "suites/survey", "suites/survey/transcript", "internal/spec", "internal/wire", "internal/transport", "internal/session", "internal/script", "fixtures", "reports", "ginkgo", "gomega"},
	"reference/server":         {"internal/spec", "internal/wire", "internal/memo", "internal/transport", "fixtures", "jsonschema", "uritemplate", "gjson"},
	"reference/authserver":     {"reference/server", "internal/transport"},
	"reference/client":         {"internal/spec", "internal/wire", "internal/transport", "fixtures", "jsonschema", "uritemplate", "gjson"},
	"reference/fault":          {"reference/server", "reference/client", "internal/spec", "internal/wire", "internal/transport", "gjson"},
	"internal/skip":            {},
	"internal/config":          {"internal/yamldoc", "go-yaml"},
	"internal/selftest":        {"suites", "suites/check", "reference/fault", "reference/server", "reference/client", "reference/authserver", "reports", "internal/spec", "internal/wire", "internal/transport", "internal/session", "fixtures"},
	"fuzz":                     {"suites/catalog", "suites/check", "internal/spec", "internal/wire", "internal/transport", "internal/session", "internal/script", "internal/schema", "fixtures", "reports", "rapid", "gjson"},
	"cmd/mcpcheck":             {"*"},
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

func TestRoomsImportOnlyDownwards(t *testing.T) {
	std := standardLibrary(t)
	for _, p := range packages(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(room, "interop") || room == "internal" {
			continue
		}
		allowed, known := mayImport[room]
		if !known {
			t.Errorf("%s is no room of the table", room)
			continue
		}
		if slices.Contains(allowed, "*") {
			continue
		}
		for _, path := range p.Imports {
			if std[path] {
				continue
			}
			name := strings.TrimPrefix(path, module)
			for long, s := range short {
				if path == long || strings.HasPrefix(path, long+"/") {
					name = s
				}
			}
			if strings.HasPrefix(name, "suites/survey/") && slices.Contains(allowed, "suites/survey/*") {
				continue
			}
			if !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s, which the table does not allow", room, path)
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

// Values that differ between revisions are facts, and where a check applies is
// data; only four rooms may ask which revision it is.
func TestRevisionsAreComparedInFewRooms(t *testing.T) {
	rooms := []string{"internal/spec", "internal/session", "internal/transport", "reference"}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel("..", path)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "interop" || slices.Contains(rooms, filepath.ToSlash(rel))) {
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

func TestComparisonsAreSeen(t *testing.T) {
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
