package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/mcpcheck/mcpcheck/"

// A listed is what the go command says of a package.
type listed struct {
	ImportPath  string
	Dir         string
	Export      string
	GoFiles     []string
	TestGoFiles []string
	Deps        []string
}

// name returns the path of a package from the root of the module.
func (l listed) name() string { return strings.TrimPrefix(l.ImportPath, module) }

// listPackages returns the packages below suites and those that they import.
func listPackages(ctx context.Context, root string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-export",
		"-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,Deps", "./suites/...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// notJudging are the packages below suites that judge nothing: the public API, the lists
// of checks and the scripted servers.
var notJudging = []string{"suites", "suites/ginkgosuite", "suites/catalog", "suites/scenario"}

// isJudging reports whether mutants of a package are drawn.
func isJudging(name string) bool {
	return strings.HasPrefix(name, "suites/") && !slices.Contains(notJudging, name)
}

// A source is a file with its syntax and the types of its package.
type source struct {
	path string // from the root of the module
	text []byte
	file *ast.File
	set  *token.FileSet
	info *types.Info
}

// loadSources parses and type-checks the judging packages.
func loadSources(root string, all []listed) ([]*source, error) {
	exports := map[string]string{}
	for _, l := range all {
		exports[l.ImportPath] = l.Export
	}
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var sources []*source
	for _, l := range all {
		if !isJudging(l.name()) {
			continue
		}
		info := &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{},
		}
		var files []*ast.File
		for _, name := range l.GoFiles {
			text, err := os.ReadFile(filepath.Join(l.Dir, name))
			if err != nil {
				return nil, err
			}
			file, err := parser.ParseFile(set, filepath.Join(root, l.name(), name), text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
			sources = append(sources, &source{l.name() + "/" + name, text, file, set, info})
		}
		if _, err := (&types.Config{Importer: imports}).Check(l.ImportPath, set, files, info); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(sources, func(a, b *source) int { return strings.Compare(a.path, b.path) })
	return sources, nil
}
