package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A node is a declaration, or a check within one.
type node struct {
	path     string // of the file, from the root of the module
	from, to int    // lines
	distance int    // from the mutant
}

// String returns the node as an argument for -differ.
func (n node) String() string { return fmt.Sprintf("%s:%d-%d", n.path, n.from, n.to) }

func (n node) holds(path string, line int) bool {
	return n.path == path && n.from <= line && line <= n.to
}

// A useGraph says which declarations and checks use which declarations.
type useGraph struct {
	nodes []node
	users map[string][]int // by the name of what is used: indices of nodes
	names [][]string       // by the index of a node: what it declares
	inner map[int][]int    // the checks within a declaration
}

// newUseGraph returns the graph of the sources.
func newUseGraph(sources []*source) *useGraph {
	g := &useGraph{users: map[string][]int{}, inner: map[int][]int{}}
	for _, s := range sources {
		for _, d := range s.file.Decls {
			g.addDeclaration(s, d)
		}
	}
	return g
}

// addDeclaration adds a declaration and the checks in it. What is used beside the checks
// is used by all of them.
func (g *useGraph) addDeclaration(s *source, d ast.Decl) {
	outer := g.add(s, d, nil)
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if checkID(n) == "" {
				return true
			}
			at := g.add(s, n, nil)
			g.inner[outer] = append(g.inner[outer], at)
			ast.Inspect(n, func(n ast.Node) bool {
				g.addUse(s, n, at)
				return true
			})
			return false
		case *ast.Ident:
			if declared := s.info.Defs[n]; declared != nil && isGlobal(declared) {
				g.names[outer] = append(g.names[outer], nameOf(declared))
			}
		}
		g.addUse(s, n, outer)
		return true
	})
}

func (g *useGraph) add(s *source, n ast.Node, names []string) int {
	from, to := s.set.Position(n.Pos()).Line, s.set.Position(n.End()).Line
	g.nodes = append(g.nodes, node{path: s.path, from: from, to: to})
	g.names = append(g.names, names)
	return len(g.nodes) - 1
}

// addUse adds the use of what an identifier means.
func (g *useGraph) addUse(s *source, n ast.Node, by int) {
	if id, ok := n.(*ast.Ident); ok {
		if used := s.info.Uses[id]; used != nil && isGlobal(used) {
			g.users[nameOf(used)] = append(g.users[nameOf(used)], by)
		}
	}
}

// isGlobal reports whether an object is a function, a method or a variable of a package.
func isGlobal(o types.Object) bool {
	switch o := o.(type) {
	case *types.Func:
		return o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path(), module)
	case *types.Var:
		return o.Pkg() != nil && o.Parent() == o.Pkg().Scope() && strings.HasPrefix(o.Pkg().Path(), module)
	}
	return false
}

// nameOf returns a name that is the same in the package and in those that import it.
func nameOf(o types.Object) string {
	if f, ok := o.(*types.Func); ok {
		return f.Origin().FullName()
	}
	return o.Pkg().Path() + "." + o.Name()
}

// checkID returns the id in the literal of a check, "" for other literals.
func checkID(n *ast.CompositeLit) string {
	for _, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			key, _ := kv.Key.(*ast.Ident)
			id, isText := kv.Value.(*ast.BasicLit)
			if key != nil && key.Name == "ID" && isText && id.Kind == token.STRING {
				return strings.Trim(id.Value, `"`)
			}
		}
	}
	return ""
}

// reaching returns the declarations and checks that use the code of a line, the nearest
// first.
func (g *useGraph) reaching(path string, line int) (out []node) {
	distance := map[int]int{}
	var queue []int
	reach := func(i, d int) {
		if _, done := distance[i]; !done {
			distance[i] = d
			queue = append(queue, i)
		}
	}
	for i, n := range g.nodes {
		isOutside := slices.ContainsFunc(g.inner[i], func(j int) bool { return g.nodes[j].holds(path, line) })
		if n.holds(path, line) && !isOutside {
			reach(i, 0)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range g.inner[i] {
			reach(j, distance[i]+1)
		}
		for _, name := range g.names[i] {
			for _, j := range g.users[name] {
				reach(j, distance[i]+1)
			}
		}
	}
	for i, d := range distance {
		n := g.nodes[i]
		n.distance = d
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b node) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.path, b.path), cmp.Compare(a.from, b.from))
	})
	return out
}
