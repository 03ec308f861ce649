package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/mcpcheck/mcpcheck/internal/yamldoc"
)

// A value is a value of the file and its place there. The zero value is a member
// that the file does not have.
type value struct {
	path    string   // the keys from the top, "" for the top
	line    int      // of its key
	node    ast.Node // as it is written
	content any      // with aliases and merges resolved
}

// A reader keeps the first error.
type reader struct{ err error }

// fail records an error at a value, unless there is one already.
func (r *reader) fail(a value, format string, args ...any) {
	if r.err != nil {
		return
	}
	path := a.path
	if path == "" {
		path = "the configuration"
	}
	r.err = fmt.Errorf("line %d: %s %s", a.line, path, fmt.Sprintf(format, args...))
}

// object returns the members of an object. If names are given, another member is
// an error.
func (r *reader) object(a value, names ...string) map[string]value {
	members, ok := a.content.(map[string]any)
	if !ok {
		r.fail(a, "is %s, not a mapping", typeName(a.content))
		return nil
	}
	out := map[string]value{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member := a.member(name, members[name])
		if len(names) > 0 && !slices.Contains(names, name) {
			r.fail(member, "is not known (known here: %s)", strings.Join(names, ", "))
		}
		out[name] = member
	}
	return out
}

// list returns the items of a list, which must have one.
func (r *reader) list(a value) []value {
	items, ok := a.content.([]any)
	switch {
	case !ok:
		r.fail(a, "is %s, not a list", typeName(a.content))
		return nil
	case len(items) == 0:
		r.fail(a, "is empty")
	}
	out := make([]value, len(items))
	for i, content := range items {
		out[i] = a.item(i, content)
	}
	return out
}

// member returns a member of an object. A member that was merged in has the line
// of the object.
func (a value) member(name string, content any) value {
	path := printable(name)
	if a.path != "" {
		path = a.path + "." + path
	}
	out := value{path: path, line: a.line, content: content}
	if m, ok := unwrap(a.node).(ast.MapNode); ok {
		for i := m.MapRange(); i.Next(); {
			if keyText(i.Key()) == name {
				out.line, out.node = yamldoc.Line(i.Key()), i.Value()
			}
		}
	}
	return out
}

func (a value) item(i int, content any) value {
	out := value{path: fmt.Sprintf("%s[%d]", a.path, i), line: a.line, content: content}
	if s, ok := unwrap(a.node).(*ast.SequenceNode); ok && i < len(s.Values) {
		out.line, out.node = yamldoc.Line(s.Values[i]), s.Values[i]
	}
	return out
}

// unwrap returns a node without its anchor and tag.
func unwrap(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		default:
			return node
		}
	}
}

func keyText(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return key.String()
}

// printable returns a key as errors show it: quoted if it holds characters that do
// not print, such as the end of a line.
func printable(key string) string {
	if quoted := strconv.Quote(key); quoted != `"`+key+`"` {
		return quoted
	}
	return key
}

// typeName returns the type of a value for an error.
func typeName(content any) string {
	switch content.(type) {
	case nil:
		return "empty"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case []byte:
		return "binary"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
}
