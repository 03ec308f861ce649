package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// A rule is one schema of a definition, in the vocabulary the generator writes.
type rule struct {
	name       string // of the definition this is the root of, else ""
	ref        *rule
	types      []string
	properties []property
	required   []string
	values     *rule // of members without a property: additionalProperties
	items      *rule
	maxItems   int // -1 is none
	enum       []gjson.Result
	isConst    bool // enum holds the one value of a const
	minimum    string
	maximum    string
	format     string
	anyOf      []*rule
	pick       *discriminator  // of anyOf, if its branches have one
	holds      map[string]bool // names of the members that may stand in its instances, at any depth
}

type property struct {
	name string
	rule *rule
}

// A discriminator is a member that every branch of a union bounds to few
// values: it decides which branches are worth trying.
type discriminator struct {
	member string
	values []gjson.Result // all that some branch allows, in the order of the branches
}

// read fills r from its JSON. A keyword that is not known here is an error, so
// that no part of a schema is silently not judged.
func (s *Set) read(r *rule, v gjson.Result) (err error) {
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
				p := property{name.String(), new(rule)}
				if err = s.read(p.rule, sub); err != nil {
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
			r.values = new(rule)
			err = s.read(r.values, value)
		case "items":
			r.items = new(rule)
			err = s.read(r.items, value)
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
				branch := new(rule)
				if err = s.read(branch, b); err != nil {
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
func (r *rule) target() *rule {
	for r.ref != nil {
		r = r.ref
	}
	return r
}

func (r *rule) property(name string) *rule {
	for i := range r.properties {
		if r.properties[i].name == name {
			return r.properties[i].rule
		}
	}
	return nil
}

// link finds the discriminators of the unions in r, once all rules are read.
func (r *rule) link() {
	for _, p := range r.properties {
		p.rule.link()
	}
	for _, sub := range []*rule{r.values, r.items} {
		if sub != nil {
			sub.link()
		}
	}
	if len(r.anyOf) == 0 {
		return
	}
	for _, b := range r.anyOf {
		b.link()
	}
	r.anyOf = flatten(r.anyOf)
	r.pick = discriminate(r.anyOf)
}

// flatten puts the branches of nested unions in their place, since a union of
// unions is decided by the same member.
func flatten(branches []*rule) []*rule {
	var out []*rule
	for _, b := range branches {
		if t := b.target(); len(t.anyOf) > 0 {
			out = append(out, flatten(t.anyOf)...)
			continue
		}
		out = append(out, b)
	}
	return out
}

// discriminate returns the member, among those that every object branch bounds
// to some values, that takes the most different ones; nil if none takes two.
func discriminate(branches []*rule) *discriminator {
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
				if !slices.ContainsFunc(d.values, func(o gjson.Result) bool { return same(o, v) }) {
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

func firstObject(branches []*rule) *rule {
	for _, b := range branches {
		if t := b.target(); isObject(t) {
			return t
		}
	}
	return new(rule)
}

func isObject(r *rule) bool { return slices.Contains(r.types, "object") }
