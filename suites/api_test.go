package suites_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// exported are the internal types for which the API has an alias.
var exported = map[string]bool{
	"github.com/mcpcheck/mcpcheck/internal/spec.Revision": true,
	"github.com/mcpcheck/mcpcheck/internal/spec.Level":    true,
	"github.com/mcpcheck/mcpcheck/internal/wire.Frame":    true,
}

func TestAPIExposesNoInternalType(t *testing.T) {
	from := importer.ForCompiler(token.NewFileSet(), "gc", exportData(t))
	for _, path := range []string{"suites", "suites/ginkgosuite", "reports"} {
		p, err := from.Import("github.com/mcpcheck/mcpcheck/" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				for _, internal := range internalTypes(o.Type(), map[types.Type]bool{}) {
					t.Errorf("%s.%s exposes %s", path, name, internal)
				}
			}
		}
	}
}

// exportData returns a lookup of the export data that the compiler wrote for each package.
func exportData(t *testing.T) importer.Lookup {
	t.Helper()
	list, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./...",
		"../reports").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// internalTypes returns the internal types that a user of a type can reach.
func internalTypes(of types.Type, seen map[types.Type]bool) (out []string) {
	if seen[of] {
		return nil
	}
	seen[of] = true
	add := func(types ...types.Type) {
		for _, t := range types {
			out = append(out, internalTypes(t, seen)...)
		}
	}
	switch t := of.(type) {
	case *types.Alias:
		add(types.Unalias(t))
	case *types.Named:
		if p := t.Obj().Pkg(); p != nil && strings.Contains(p.Path(), "mcpcheck/internal/") {
			if name := p.Path() + "." + t.Obj().Name(); !exported[name] {
				out = append(out, name)
			}
			return out
		} else if p == nil || !strings.HasPrefix(p.Path(), "github.com/mcpcheck/") {
			return nil
		}
		for i := range t.NumMethods() {
			if t.Method(i).Exported() {
				add(t.Method(i).Type())
			}
		}
		add(t.Underlying())
	case *types.Struct:
		for i := range t.NumFields() {
			if t.Field(i).Exported() {
				add(t.Field(i).Type())
			}
		}
	case *types.Interface:
		for i := range t.NumMethods() {
			if t.Method(i).Exported() {
				add(t.Method(i).Type())
			}
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			add(v.Type())
		}
		for v := range t.Results().Variables() {
			add(v.Type())
		}
	case *types.Pointer:
		add(t.Elem())
	case *types.Slice:
		add(t.Elem())
	case *types.Array:
		add(t.Elem())
	case *types.Map:
		add(t.Key(), t.Elem())
	case *types.Chan:
		add(t.Elem())
	}
	return out
}
