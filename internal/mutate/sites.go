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

// A mutant is one change of the judging code.
type mutant struct {
	id     int    // in the sample, from 1
	path   string // of the file, from the root of the module
	line   int
	in     string // the check or the function that it changes
	change string // in one line
	edit   edit
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s: %s", m.path, m.line, m.in, m.change) }

// dir returns the package of the mutant, from the root of the module.
func (m mutant) dir() string { return m.path[:strings.LastIndex(m.path, "/")] }

// A finder finds the mutants of a file.
type finder struct {
	*source
	found []mutant
	in    []string // functions and checks around the node
}

// findMutants returns the mutants of a file in the order of their places.
func findMutants(s *source) []mutant {
	f := &finder{source: s}
	for _, d := range s.file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !isWordingFunction(fn) {
			f.in = []string{fn.Name.Name}
			f.walk(fn.Body)
		}
	}
	slices.SortStableFunc(f.found, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.edit.start, b.edit.start), cmp.Compare(b.edit.end, a.edit.end))
	})
	return f.found
}

// walk finds the mutants of a node and of what is in it.
func (f *finder) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.KeyValueExpr:
			return !isWordingKey(n.Key)
		case *ast.CompositeLit:
			return f.walkLiteral(n)
		case *ast.CallExpr:
			f.walkCall(n)
			return false
		case *ast.IfStmt:
			if guardsWording(n) {
				f.calls(n.Cond)
				return false
			}
			f.condition(n.Cond)
			f.guard(n)
		case *ast.ForStmt:
			f.condition(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						f.condition(e)
					}
				}
			}
		case *ast.ReturnStmt:
			if len(n.Results) == 1 {
				f.returned(n.Results[0])
			}
		case *ast.BinaryExpr:
			if n.Op == token.ADD && f.isText(n) {
				return false // wording, or the name of a method
			}
			f.operator(n)
		case *ast.BasicLit:
			f.constant(n)
		case *ast.Ident:
			if !isBound(n.Name) {
				f.constant(n)
			}
		case *ast.SelectorExpr:
			if isBound(n.Sel.Name) {
				return false
			}
			f.constant(n)
		case *ast.ArrayType:
			return false
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
		}
		return true
	})
}

// calls walks the calls in an expression: what they do may change a verdict even where
// their value does not.
func (f *finder) calls(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok {
			f.walkCall(call)
		}
		return !ok
	})
}

// walkLiteral walks a composite literal. The literal of a check names what is in it.
func (f *finder) walkLiteral(n *ast.CompositeLit) bool {
	id := checkID(n)
	if id == "" {
		return true
	}
	f.in = append(f.in, id)
	for _, e := range n.Elts {
		f.walk(e)
	}
	f.in = f.in[:len(f.in)-1]
	return false
}

// walkCall walks the operands of a call that are no wording.
func (f *finder) walkCall(n *ast.CallExpr) {
	f.walk(n.Fun)
	name := calledName(n)
	for i, a := range n.Args {
		if !isWordingArgument(name, i) {
			f.walk(a)
		}
	}
}

// calledName returns the name of the function or method that is called.
func calledName(n *ast.CallExpr) string {
	switch fn := n.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	case *ast.IndexExpr:
		return calledName(&ast.CallExpr{Fun: fn.X})
	}
	return ""
}

// add adds a mutant of a node.
func (f *finder) add(n ast.Node, change string, render func(id int, text textOf) string) {
	start, end := f.set.Position(n.Pos()), f.set.Position(n.End())
	f.found = append(f.found, mutant{
		path: f.path, line: start.Line, in: f.in[len(f.in)-1], change: change,
		edit: edit{start: start.Offset, end: end.Offset, render: render},
	})
}

// span returns the range of a node in the text of the file.
func (f *finder) span(n ast.Node) (from, to int) {
	return f.set.Position(n.Pos()).Offset, f.set.Position(n.End()).Offset
}

// quote returns the text of a node in one line.
func (f *finder) quote(n ast.Node) string {
	from, to := f.span(n)
	text := strings.Join(strings.Fields(string(f.text[from:to])), " ")
	if r := []rune(text); len(r) > maxQuote {
		text = string(r[:maxQuote]) + "…"
	}
	return text
}

// maxQuote is how many characters of the code a mutant quotes.
const maxQuote = 100

// isBool reports whether an expression has the type bool.
func (f *finder) isBool(e ast.Expr) bool {
	t := f.info.Types[e]
	return t.Type != nil && types.Identical(types.Default(t.Type), types.Typ[types.Bool])
}

func (f *finder) isText(e ast.Expr) bool {
	t := f.info.Types[e]
	return t.Type != nil && types.Identical(types.Default(t.Type), types.Typ[types.String])
}

// condition adds the mutant that negates a condition.
func (f *finder) condition(e ast.Expr) {
	if e != nil && f.isNegatable(e) {
		f.call(e, "mutantNot", "not ("+f.quote(e)+")")
	}
}

// isNegatable reports whether an expression is a boolean that neither operator nor
// constant negates.
func (f *finder) isNegatable(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return f.isBool(e) && f.info.Types[e].Value == nil && !(ok && (b.Op == token.EQL || b.Op == token.NEQ))
}

// guard adds the mutant in which a guard never holds: an if statement that leaves the
// loop, the function or the case.
func (f *finder) guard(n *ast.IfStmt) {
	if !f.isBool(n.Cond) || len(n.Body.List) == 0 || n.Else != nil {
		return
	}
	switch n.Body.List[len(n.Body.List)-1].(type) {
	case *ast.BranchStmt, *ast.ReturnStmt:
		f.call(n.Cond, "mutantNever", "never: if "+f.quote(n.Cond))
	}
}

// returned adds the mutant that returns the opposite.
func (f *finder) returned(e ast.Expr) {
	if f.isNegatable(e) {
		f.call(e, "mutantNot", "return not ("+f.quote(e)+")")
	}
}

// call adds a mutant that hands an expression to a function.
func (f *finder) call(e ast.Expr, function, change string) {
	from, to := f.span(e)
	f.add(e, change, func(id int, text textOf) string {
		return fmt.Sprintf("%s(%d, %s)", function, id, text(from, to))
	})
}

// otherOperators are the operators that replace another.
var otherOperators = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// operator adds the mutant with another operator.
func (f *finder) operator(n *ast.BinaryExpr) {
	other, ok := otherOperators[n.Op]
	if !ok || !f.isBool(n) || f.info.Types[n].Value != nil {
		return
	}
	change := fmt.Sprintf("%s %s %s, for %s", f.quote(n.X), other, f.quote(n.Y), n.Op)
	x1, x2 := f.span(n.X)
	y1, y2 := f.span(n.Y)
	lines := strings.Repeat("\n", strings.Count(string(f.text[x2:y1]), "\n"))
	switch n.Op {
	case token.EQL, token.NEQ:
		f.call(n, "mutantNot", change)
	case token.LAND, token.LOR:
		function := map[token.Token]string{token.LAND: "mutantAnd", token.LOR: "mutantOr"}[n.Op]
		f.add(n, change, func(id int, text textOf) string {
			return fmt.Sprintf("%s(%d, %s, %sfunc() bool { return %s })", function, id, text(x1, x2), lines,
				text(y1, y2))
		})
	default:
		f.add(n, change, func(id int, text textOf) string {
			x, y := text(x1, x2), text(y1, y2)
			return fmt.Sprintf("func() bool { if mutantIs(%d) { return %s %s %s }; return %s %s %s%s }()", id,
				x, other, y, x, n.Op, lines, y)
		})
	}
}

// constant adds the mutant with another number or the opposite boolean.
func (f *finder) constant(e ast.Expr) {
	t := f.info.Types[e]
	if t.Value == nil || t.Type == nil {
		return
	}
	switch {
	case types.Identical(t.Type, types.Typ[types.Int]):
		f.call(e, "mutantNext", f.quote(e)+" + 1")
	case types.Identical(t.Type, types.Typ[types.Bool]):
		f.call(e, "mutantNot", "not "+f.quote(e))
	}
}

// statements adds the mutants that leave out a statement of a list.
func (f *finder) statements(list []ast.Stmt) {
	for i, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if !ok || isWordingCall(calledName(call)) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || isWordingField(s.Lhs[0]) {
				continue
			}
		case *ast.IncDecStmt:
		case *ast.BranchStmt, *ast.ReturnStmt:
			if i == 0 || i != len(list)-1 || !f.isInIf(list) {
				continue // guard, or a function may end without a result
			}
		default:
			continue
		}
		from, to := f.span(s)
		f.add(s, "without "+f.quote(s), func(id int, text textOf) string {
			return fmt.Sprintf("if !mutantIs(%d) { %s }", id, text(from, to))
		})
	}
}

// isInIf reports whether statements are those of an if statement without else.
func (f *finder) isInIf(list []ast.Stmt) (is bool) {
	for _, d := range f.file.Decls {
		if d.Pos() > list[0].Pos() || d.End() < list[0].End() {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			s, ok := n.(*ast.IfStmt)
			is = is || ok && s.Else == nil && len(s.Body.List) > 0 && s.Body.List[0] == list[0]
			return !is
		})
	}
	return is
}
