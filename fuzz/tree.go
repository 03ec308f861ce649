package fuzz

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// A node is a JSON value that keeps the order of members, duplicate members, and
// the spelling of scalars.
type node struct {
	raw      string // the text of a scalar
	array    bool
	object   bool
	names    []string // of the members of an object, as quoted in the text
	children []*node  // elements of an array or values of the members
}

func scalar(raw string) *node { return &node{raw: raw} }

// parseTree parses valid JSON.
func parseTree(raw string) *node { return treeOf(gjson.Parse(raw)) }

func treeOf(v gjson.Result) *node {
	n := &node{object: v.IsObject(), array: v.IsArray()}
	if !n.object && !n.array {
		n.raw = v.Raw
		return n
	}
	v.ForEach(func(k, child gjson.Result) bool {
		if n.object {
			n.names = append(n.names, k.Raw)
		}
		n.children = append(n.children, treeOf(child))
		return true
	})
	return n
}

// appendJSON appends the JSON text of the node, without white space.
func (n *node) appendJSON(b []byte) []byte {
	switch {
	case n.object:
		b = append(b, '{')
	case n.array:
		b = append(b, '[')
	default:
		return append(b, n.raw...)
	}
	for i, child := range n.children {
		if i > 0 {
			b = append(b, ',')
		}
		if n.object {
			b = append(append(b, n.names[i]...), ':')
		}
		b = child.appendJSON(b)
	}
	if n.object {
		return append(b, '}')
	}
	return append(b, ']')
}

// find returns the parent of the value that a JSON pointer names, and its index
// there. ok is false if there is no such value; the root has no parent.
func (n *node) find(pointer string) (parent *node, at int, ok bool) {
	here := n
	parts := strings.Split(pointer, "/")
	for i, part := range parts[1:] {
		at = here.indexOf(unescapePointer(part))
		if at < 0 {
			return nil, 0, false
		}
		if i == len(parts)-2 {
			return here, at, true
		}
		here = here.children[at]
	}
	return nil, 0, false
}

// indexOf returns the index of a member or element, -1 if there is none.
func (n *node) indexOf(part string) int {
	if n.array {
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.children) {
			return i
		}
		return -1
	}
	return slices.IndexFunc(n.names, func(name string) bool { return gjson.Parse(name).String() == part })
}

// valueAt returns the value that a pointer names, nil if there is none. The empty
// pointer names the root.
func (n *node) valueAt(pointer string) *node {
	if pointer == "" {
		return n
	}
	if parent, i, ok := n.find(pointer); ok {
		return parent.children[i]
	}
	return nil
}

// ensureMember returns the member of an object. It adds an empty object if there
// is no such member, and returns nil if the node is no object.
func (n *node) ensureMember(name string) *node {
	if !n.object {
		return nil
	}
	if i := n.indexOf(name); i >= 0 {
		return n.children[i]
	}
	child := &node{object: true}
	n.insert(len(n.children), quote(name), child)
	return child
}

// set sets a member of an object to a scalar, or adds it. It does nothing to
// other nodes.
func (n *node) set(name, raw string) {
	if !n.object {
		return
	}
	if i := n.indexOf(name); i >= 0 {
		n.children[i] = scalar(raw)
		return
	}
	n.add(name, raw)
}

// add adds a member to an object, behind the others.
func (n *node) add(name, raw string) { n.insert(len(n.children), quote(name), scalar(raw)) }

func (n *node) insert(at int, name string, child *node) {
	n.children = slices.Insert(n.children, at, child)
	if n.object {
		n.names = slices.Insert(n.names, at, name)
	}
}

func (n *node) remove(at int) {
	n.children = slices.Delete(n.children, at, at+1)
	if n.object {
		n.names = slices.Delete(n.names, at, at+1)
	}
}

// pointers returns the pointers of all values below the root, in order.
func (n *node) pointers() []string {
	var out []string
	var walk func(n *node, prefix string)
	walk = func(n *node, prefix string) {
		for i, child := range n.children {
			p := prefix + "/" + strconv.Itoa(i)
			if n.object {
				p = prefix + "/" + escapePointer(gjson.Parse(n.names[i]).String())
			}
			out = append(out, p)
			walk(child, p)
		}
	}
	walk(n, "")
	return out
}

// objects returns the pointers of all objects, the root included.
func (n *node) objects() []string {
	var out []string
	for _, p := range append([]string{""}, n.pointers()...) {
		if v := n.valueAt(p); v != nil && v.object {
			out = append(out, p)
		}
	}
	return out
}

func quote(s string) string { return string(gjson.AppendJSONString(nil, s)) }

func escapePointer(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

func unescapePointer(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
}
