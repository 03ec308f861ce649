package fuzz

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// A node is a JSON value that keeps the order of members, the spelling of
// scalars, and members that stand twice.
type node struct {
	raw    string   // a scalar as it is written
	array  bool     // children are elements
	names  []string // raw names of the members of an object, quotes included
	children []*node
	object bool
}

func scalar(raw string) *node { return &node{raw: raw} }

// parseTree reads valid JSON.
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

// find returns the parent of what a JSON pointer names and its place there; ok
// is false where there is no such value. The root has no parent.
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

func (n *node) indexOf(part string) int {
	if n.array {
		if i, err := strconv.Atoi(part); err == nil && i < len(n.children) {
			return i
		}
		return -1
	}
	for i, name := range n.names {
		if gjson.Parse(name).String() == part {
			return i
		}
	}
	return -1
}

// at returns the value that a pointer names; the empty one is the root.
func (n *node) valueAt(pointer string) *node {
	if pointer == "" {
		return n
	}
	if parent, i, ok := n.find(pointer); ok {
		return parent.children[i]
	}
	return nil
}

// member returns the member of an object, making it if it is missing; nil if
// the node is no object.
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

func (n *node) insert(at int, name string, child *node) {
	n.children = append(n.children[:at], append([]*node{child}, n.children[at:]...)...)
	if n.object {
		n.names = append(n.names[:at], append([]string{name}, n.names[at:]...)...)
	}
}

func (n *node) remove(at int) {
	n.children = append(n.children[:at], n.children[at+1:]...)
	if n.object {
		n.names = append(n.names[:at], n.names[at+1:]...)
	}
}

// pointers returns the pointers of all values beneath the root, in order.
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
