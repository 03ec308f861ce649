package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// A node is one schema of a definition, with the keywords that the generator
// writes.
type node struct {
	name          string // of the definition whose root this is, else ""
	ref           *node
	types         []string
	properties    []property
	required      []string
	values        *node // additionalProperties
	items         *node
	maxItems      int // -1 is none
	enum          []gjson.Result
	isConst       bool // enum is the one value of a const
	minimum       string
	maximum       string
	format        string
	anyOf         []*node
	discriminator *discriminator  // of anyOf, if its branches have one
	memberNames   map[string]bool // that instances may have, at any depth
}

type property struct {
	name string
	node *node
}

// A discriminator is a member that every branch of a union limits to few values:
// its value selects the branches that may fit.
type discriminator struct {
	member string
	values []gjson.Result // those that a branch allows, in the order of the branches
}

// readNode fills r from its JSON. An unknown keyword is an error, so that no part
// of a schema is ignored.
func (s *Set) readNode(r *node, v gjson.Result) (err error) {
	r.maxItems = -1
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.String() {
		case "$ref":
			name := strings.TrimPrefix(value.Str, "#/$defs/")
			if r.ref = s.defs[name]; r.ref == nil {
				err = fmt.Errorf("$ref to %s, which is not defined", value.Str)
			}
		case "type":
			for _, t := range value.Array() {
				r.types = append(r.types, t.Str)
			}
		case "properties":
			value.ForEach(func(name, sub gjson.Result) bool {
				p := property{name.String(), new(node)}
				if err = s.readNode(p.node, sub); err != nil {
					err = fmt.Errorf("member %s: %w", p.name, err)
				}
				r.properties = append(r.properties, p)
				return err == nil
			})
		case "required":
			for _, name := range value.Array() {
				r.required = append(r.required, name.Str)
			}
		case "additionalProperties":
			r.values = new(node)
			err = s.readNode(r.values, value)
		case "items":
			r.items = new(node)
			err = s.readNode(r.items, value)
		case "maxItems":
			r.maxItems = int(value.Int())
		case "const":
			r.enum, r.isConst = []gjson.Result{value}, true
		case "enum":
			r.enum = value.Array()
		case "minimum":
			r.minimum = value.Raw
		case "maximum":
			r.maximum = value.Raw
		case "format":
			r.format = value.Str
		case "anyOf":
			for _, b := range value.Array() {
				branch := new(node)
				if err = s.readNode(branch, b); err != nil {
					return false
				}
				r.anyOf = append(r.anyOf, branch)
			}
		default:
			err = fmt.Errorf("unknown keyword %s", key.String())
		}
		return err == nil
	})
	return err
}

// target follows references.
func (r *node) target() *node {
	for r.ref != nil {
		r = r.ref
	}
	return r
}

func (r *node) property(name string) *node {
	for i := range r.properties {
		if r.properties[i].name == name {
			return r.properties[i].node
		}
	}
	return nil
}

// linkUnions finds the discriminators of the unions in r. All nodes must be read.
func (r *node) linkUnions() {
	for _, p := range r.properties {
		p.node.linkUnions()
	}
	for _, sub := range []*node{r.values, r.items} {
		if sub != nil {
			sub.linkUnions()
		}
	}
	if len(r.anyOf) == 0 {
		return
	}
	for _, b := range r.anyOf {
		b.linkUnions()
	}
	r.anyOf = flatten(r.anyOf)
	r.discriminator = discriminate(r.anyOf)
}

// flatten replaces nested unions by their branches: the same member discriminates
// them.
func flatten(branches []*node) []*node {
	var out []*node
	for _, b := range branches {
		if t := b.target(); len(t.anyOf) > 0 {
			out = append(out, flatten(t.anyOf)...)
			continue
		}
		out = append(out, b)
	}
	return out
}

// discriminate returns the discriminator of a union: of the members that every
// object branch limits to some values, the one with the most values. It returns
// nil if none has two.
func discriminate(branches []*node) *discriminator {
	var best *discriminator
	for _, p := range firstObject(branches).properties {
		d := &discriminator{member: p.name}
		for _, b := range branches {
			t := b.target()
			if !isObject(t) {
				continue
			}
			m := t.property(p.name)
			if m == nil || len(m.target().enum) == 0 {
				d = nil
				break
			}
			for _, v := range m.target().enum {
				if !slices.ContainsFunc(d.values, func(o gjson.Result) bool { return equalsLiteral(o, v) }) {
					d.values = append(d.values, v)
				}
			}
		}
		if d != nil && len(d.values) > 1 && (best == nil || len(d.values) > len(best.values)) {
			best = d
		}
	}
	return best
}

func firstObject(branches []*node) *node {
	for _, b := range branches {
		if t := b.target(); isObject(t) {
			return t
		}
	}
	return new(node)
}

func isObject(r *node) bool { return slices.Contains(r.types, "object") }
