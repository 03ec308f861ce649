package schema

import (
	"slices"

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
	r.collect(name, instance, nil, def, func(m Member) {
		if !slices.ContainsFunc(found, func(o Member) bool { return o.Path == m.Path }) {
			found = append(found, m)
		}
	})
	return found
}

// collect walks v, which stands at at, along r.
func (r *rule) collect(name string, v gjson.Result, at *place, def string, add func(Member)) {
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
