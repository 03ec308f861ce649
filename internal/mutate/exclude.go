package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// wordingKeys are the fields of a check that are text.
var wordingKeys = []string{"ID", "Says", "Idle", "Hint", "Spec", "Rules"}

func isWordingKey(key ast.Expr) bool {
	name, ok := key.(*ast.Ident)
	return ok && slices.Contains(wordingKeys, name.Name)
}

// wordingArguments are how many operands of a call are no wording.
var wordingArguments = map[string]int{
	"Fail": 0, "FailSession": 0, "NotObserved": 0, "Note": 0, "fail": 0, "Sprintf": 0, "Errorf": 0, "Clip": 0,
	"Join": 0, "To": 1, "NotTo": 1,
}

// isWordingArgument reports whether an operand of a call is wording of a report.
func isWordingArgument(function string, index int) bool {
	n, ok := wordingArguments[function]
	return ok && index >= n
}

// isWordingCall reports whether a statement that calls a function changes the report but
// no verdict: notes, which frame is marked, and which check sent it.
func isWordingCall(function string) bool {
	return slices.Contains([]string{"Note", "NoteUser", "Mark", "panic"}, function)
}

// guardsWording reports whether an if statement decides only on what changes the report but
// no verdict.
func guardsWording(n *ast.IfStmt) bool {
	if n.Init != nil || n.Else != nil || len(n.Body.List) == 0 {
		return false
	}
	for _, s := range n.Body.List {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		if call, ok := e.X.(*ast.CallExpr); !ok || calledName(call) == "panic" || !isWordingCall(calledName(call)) {
			return false
		}
	}
	return true
}

// isWordingFunction reports whether a function makes text for reports.
func isWordingFunction(fn *ast.FuncDecl) bool {
	name := strings.ToLower(fn.Name.Name)
	return name == "string" || name == "shortjson" || name == "noterefusal" || strings.HasPrefix(name, "describe") ||
		strings.HasPrefix(name, "quote")
}

// isWordingField reports whether what is assigned is a text of the report, or the frame that
// it marks.
func isWordingField(to ast.Expr) bool {
	field, ok := to.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Detail", "Hint", "Notes", "mark"}, field.Sel.Name)
}

// isBound reports whether a name is that of a bound: how much is requested, kept or
// reported. The next number is as good.
func isBound(name string) bool { return strings.HasPrefix(strings.ToLower(name), "max") }

//go:embed equivalent.tsv
var equivalentText string

// An equivalence is a mutant that changes no verdict, and why.
type equivalence struct{ path, in, change, why string }

// equivalences returns the mutants that are known to be equivalent.
func equivalences() (out []equivalence, err error) {
	for line := range strings.Lines(equivalentText) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || fields[3] == "" {
			return nil, fmt.Errorf("equivalent.tsv: %q has %d fields, want file, check or function, change, reason",
				line, len(fields))
		}
		out = append(out, equivalence{fields[0], fields[1], fields[2], fields[3]})
	}
	return out, nil
}

// names reports whether the entry is about a mutant.
func (e equivalence) names(m mutant) bool {
	return e.path == m.path && e.in == m.in && e.change == m.change
}
