package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// A Member is a value that stands where a definition has a member of its name.
type Member struct {
	Path  string // JSON pointer into the instance
	Of    string // the innermost definition that has it
	Value gjson.Result
}

// Members returns the values in an instance of the definition that stand where
// it, or a definition below it, has a member of that name; what merely bears
// the name in free data is none. Where a union leaves several branches, it
// takes the members of each. It panics as Validate does.
func (s *Set) Members(def, name string, instance gjson.Result) []Member {
	r := s.defs[def]
	if r == nil {
		panic("schema: revision " + string(s.rev) + " has no definition " + def)
	}
	var found []Member
	if !strings.Contains(instance.Raw, name) && !strings.Contains(instance.Raw, `\u`) {
		return nil // the name stands nowhere, spelt out or escaped
	}
	r.collect(name, instance, nil, def, func(m Member) {
		if !slices.ContainsFunc(found, func(o Member) bool { return o.Path == m.Path }) {
			found = append(found, m)
		}
	})
	return found
}

// collect walks v, which stands at at, along r.
func (r *rule) collect(name string, v gjson.Result, at *place, def string, add func(Member)) {
	if !r.holds[name] {
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
		if v.IsObject() && r.pick != nil && !t.admits(r.pick.member, lastMember(v, r.pick.member)) {
			continue
		}
		b.collect(name, v, at, def, add)
	}
	switch {
	case v.IsObject() && (len(r.properties) > 0 || r.values != nil):
		v.ForEach(func(key, value gjson.Result) bool {
			sub := r.property(key.String())
			here := &place{at, key.String(), -1}
			if sub != nil && key.String() == name {
				add(Member{here.String(), def, value})
			}
			if sub == nil {
				sub = r.values
			}
			if sub != nil {
				sub.collect(name, value, here, def, add)
			}
			return true
		})
	case v.IsArray() && r.items != nil:
		n := 0
		v.ForEach(func(_, item gjson.Result) bool {
			r.items.collect(name, item, &place{at, "", n}, def, add)
			n++
			return true
		})
	}
}

// reach notes which members may stand below each rule, so that what cannot hold
// a member is not searched for it.
func (s *Set) reach() {
	var rules []*rule
	for _, r := range s.defs {
		rules = r.all(rules)
	}
	for _, r := range rules {
		r.holds = map[string]bool{}
		for _, p := range r.properties {
			r.holds[p.name] = true
		}
	}
	for grown := true; grown; { // definitions refer to each other in circles
		grown = false
		for _, r := range rules {
			before := len(r.holds)
			for _, sub := range r.below() {
				maps.Copy(r.holds, sub.holds)
			}
			grown = grown || len(r.holds) > before
		}
	}
}

// all appends the rule and those written inside of it.
func (r *rule) all(rules []*rule) []*rule {
	rules = append(rules, r)
	for _, sub := range r.below() {
		if sub.name == "" && sub != r.ref {
			rules = sub.all(rules)
		}
	}
	return rules
}

// below returns the rules that instances of this one, or values in them, are
// held against.
func (r *rule) below() []*rule {
	out := slices.Clone(r.anyOf)
	for _, p := range r.properties {
		out = append(out, p.rule)
	}
	for _, sub := range []*rule{r.ref, r.values, r.items} {
		if sub != nil {
			out = append(out, sub)
		}
	}
	return out
}
