package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// A Member is a value in the place of a member of a definition.
type Member struct {
	Path       string // JSON pointer into the instance
	Definition string // the innermost definition that has it
	Value      gjson.Result
}

// Members returns the values in an instance of the definition that are in the
// place of a member of that name, of this definition or of one below it. A member
// of free data with that name is not included. If several branches of a union may
// fit, the members of each are included. It panics as Validate does.
func (s *Set) Members(def, name string, instance gjson.Result) []Member {
	r := s.defs[def]
	if r == nil {
		panic("schema: revision " + string(s.rev) + " has no definition " + def)
	}
	var found []Member
	if !strings.Contains(instance.Raw, name) && !strings.Contains(instance.Raw, `\u`) {
		return nil // the name does not occur, plain or escaped
	}
	r.collectMembers(name, instance, nil, def, func(m Member) {
		if !slices.ContainsFunc(found, func(o Member) bool { return o.Path == m.Path }) {
			found = append(found, m)
		}
	})
	return found
}

// collectMembers walks the value v at a location along r.
func (r *node) collectMembers(name string, v gjson.Result, at *location, def string, add func(Member)) {
	if !r.memberNames[name] {
		return
	}
	for r.name != "" || r.ref != nil {
		if r.name != "" {
			def = r.name
		}
		if r.ref == nil {
			break
		}
		r = r.ref
	}
	for _, b := range r.anyOf {
		t := b.target()
		if len(t.types) > 0 && !slices.ContainsFunc(t.types, func(kind string) bool { return hasType(v, kind) }) {
			continue
		}
		if v.IsObject() && r.discriminator != nil &&
			!t.mayFit(r.discriminator.member, lastMember(v, r.discriminator.member)) {
			continue
		}
		b.collectMembers(name, v, at, def, add)
	}
	switch {
	case v.IsObject() && (len(r.properties) > 0 || r.values != nil):
		v.ForEach(func(key, value gjson.Result) bool {
			sub := r.property(key.String())
			here := &location{at, key.String(), -1}
			if sub != nil && key.String() == name {
				add(Member{here.String(), def, value})
			}
			if sub == nil {
				sub = r.values
			}
			if sub != nil {
				sub.collectMembers(name, value, here, def, add)
			}
			return true
		})
	case v.IsArray() && r.items != nil:
		n := 0
		v.ForEach(func(_, item gjson.Result) bool {
			r.items.collectMembers(name, item, &location{at, "", n}, def, add)
			n++
			return true
		})
	}
}

// findMemberNames records which members may occur below each node, so that
// collectMembers skips values that cannot have the member.
func (s *Set) findMemberNames() {
	var rules []*node
	for _, r := range s.defs {
		rules = r.appendAll(rules)
	}
	for _, r := range rules {
		r.memberNames = map[string]bool{}
		for _, p := range r.properties {
			r.memberNames[p.name] = true
		}
	}
	for grown := true; grown; { // definitions are recursive
		grown = false
		for _, r := range rules {
			before := len(r.memberNames)
			for _, sub := range r.subnodes() {
				maps.Copy(r.memberNames, sub.memberNames)
			}
			grown = grown || len(r.memberNames) > before
		}
	}
}

// appendAll appends the node and those within it.
func (r *node) appendAll(rules []*node) []*node {
	rules = append(rules, r)
	for _, sub := range r.subnodes() {
		if sub.name == "" && sub != r.ref {
			rules = sub.appendAll(rules)
		}
	}
	return rules
}

// subnodes returns the nodes that validate instances of this one, or values in
// them.
func (r *node) subnodes() []*node {
	out := slices.Clone(r.anyOf)
	for _, p := range r.properties {
		out = append(out, p.node)
	}
	for _, sub := range []*node{r.ref, r.values, r.items} {
		if sub != nil {
			out = append(out, sub)
		}
	}
	return out
}
