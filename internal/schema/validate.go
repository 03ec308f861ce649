package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Violation is one way in which an instance does not fit a definition.
type Violation struct {
	InstancePath string // JSON pointer (RFC 6901) into the instance, "" is its root
	Keyword      string // of JSON Schema: type, required, enum, const, …
	Message      string // what is wrong, without the path
	Definition   string // the innermost definition that is broken; "" for a tool's schema
	Missing      string // the member that a message lacks, where Keyword is required
}

// Place returns the JSON pointer of the value at fault, of a missing member
// the one that it would have.
func (v Violation) Place() string {
	if v.Missing == "" {
		return v.InstancePath
	}
	return v.InstancePath + "/" + escapePointer.Replace(v.Missing)
}

func (v Violation) String() string {
	if v.InstancePath == "" {
		return v.Message
	}
	return v.InstancePath + ": " + v.Message
}

// Validate returns the ways in which instance does not fit the definition, none
// if it fits. It panics if the revision has no definition of that name: ask Has.
func (s *Set) Validate(def string, instance []byte) []Violation {
	r := s.defs[def]
	if r == nil {
		panic(fmt.Sprintf("schema: revision %s has no definition %q", s.rev, def))
	}
	if !gjson.ValidBytes(instance) {
		return []Violation{{Keyword: "json", Message: "is not valid JSON", Definition: def}}
	}
	return r.check(gjson.ParseBytes(instance), nil, def, nil)
}

// A place is where in the instance a value stands.
type place struct {
	in    *place
	key   string
	index int // of an item; -1 for a member
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

func (p *place) String() string {
	if p == nil {
		return ""
	}
	if p.index >= 0 {
		return p.in.String() + "/" + strconv.Itoa(p.index)
	}
	return p.in.String() + "/" + escapePointer.Replace(p.key)
}

// check appends to found how v, which stands at at, does not fit r.
func (r *rule) check(v gjson.Result, at *place, def string, found []Violation) []Violation {
	for r.name != "" || r.ref != nil {
		if r.name != "" {
			def = r.name
		}
		if r.ref == nil {
			break
		}
		r = r.ref
	}
	add := func(keyword, format string, args ...any) {
		found = append(found, Violation{InstancePath: at.String(), Keyword: keyword, Message: fmt.Sprintf(format, args...), Definition: def})
	}
	if len(r.types) > 0 && !slices.ContainsFunc(r.types, func(t string) bool { return hasType(v, t) }) {
		add("type", "%s is not %s", brief(v), either(withArticle(r.types)))
		return found
	}
	if len(r.enum) > 0 && !slices.ContainsFunc(r.enum, func(o gjson.Result) bool { return same(o, v) }) {
		if r.isConst {
			add("const", "%s is not %s", brief(v), brief(r.enum[0]))
		} else {
			add("enum", "%s is not one of %s", brief(v), list(r.enum))
		}
		return found
	}
	if v.Type == gjson.Number {
		if r.minimum != "" && compare(v.Raw, r.minimum) < 0 {
			add("minimum", "%s is less than %s", brief(v), r.minimum)
		}
		if r.maximum != "" && compare(v.Raw, r.maximum) > 0 {
			add("maximum", "%s is more than %s", brief(v), r.maximum)
		}
	}
	if len(r.anyOf) > 0 {
		found = r.checkUnion(v, at, def, found)
	}
	switch {
	case v.IsObject() && (len(r.properties) > 0 || r.values != nil):
		found = r.checkMembers(v, at, def, found)
	case v.IsArray() && (r.items != nil || r.maxItems >= 0):
		n := 0
		v.ForEach(func(_, item gjson.Result) bool {
			if r.items != nil {
				found = r.items.check(item, &place{at, "", n}, def, found)
			}
			n++
			return true
		})
		if r.maxItems >= 0 && n > r.maxItems {
			add("maxItems", "has %d items, more than %d", n, r.maxItems)
		}
	}
	return found
}

func (r *rule) checkMembers(v gjson.Result, at *place, def string, found []Violation) []Violation {
	var seen uint64 // bit i: the i-th required member was there
	v.ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		if i := slices.Index(r.required, name); i >= 0 {
			seen |= 1 << i
		}
		sub := r.property(name)
		if sub == nil {
			sub = r.values
		}
		if sub != nil {
			found = sub.check(value, &place{at, name, -1}, def, found)
		}
		return true
	})
	for i, name := range r.required {
		if seen&(1<<i) == 0 {
			found = append(found, lacks(at, name, def))
		}
	}
	return found
}

func lacks(at *place, member, def string) Violation {
	return Violation{InstancePath: at.String(), Keyword: "required", Message: "the member " + member + " is missing", Definition: def, Missing: member}
}

// checkUnion tries the branches that the kind and the discriminator of v leave;
// if none fits, it reports what is wrong with the nearest.
func (r *rule) checkUnion(v gjson.Result, at *place, def string, found []Violation) []Violation {
	var candidates []*rule
	var kinds []string
	for _, b := range r.anyOf {
		t := b.target()
		kinds = append(kinds, t.types...)
		if len(t.types) == 0 || slices.ContainsFunc(t.types, func(k string) bool { return hasType(v, k) }) {
			candidates = append(candidates, b)
		}
	}
	if len(candidates) == 0 {
		return append(found, Violation{InstancePath: at.String(), Keyword: "type", Message: brief(v) + " is not " + either(withArticle(kinds)), Definition: def})
	}
	if r.pick != nil && v.IsObject() {
		value := lastMember(v, r.pick.member)
		left := slices.DeleteFunc(slices.Clone(candidates), func(b *rule) bool { return !b.target().admits(r.pick.member, value) })
		if len(left) == 0 {
			if !value.Exists() {
				return append(found, lacks(at, r.pick.member, def))
			}
			return append(found, Violation{InstancePath: (&place{at, r.pick.member, -1}).String(), Keyword: "enum", Message: brief(value) + " is not one of " + list(r.pick.values), Definition: def})
		}
		candidates = left
	}
	var nearest []Violation
	var misses []string
	best, tied := 0, false
	for _, b := range candidates {
		broken := b.check(v, at, def, nil)
		if len(broken) == 0 {
			return found
		}
		misses = append(misses, broken[0].Definition+" ("+strings.TrimPrefix(broken[0].String(), at.String()+": ")+")")
		switch d := distance(broken, at.String()); {
		case nearest == nil || d < best:
			nearest, best, tied = broken, d, false
		case d == best:
			tied = true
		}
	}
	if tied {
		return append(found, Violation{InstancePath: at.String(), Keyword: "anyOf", Message: "fits none of " + strings.Join(misses, ", "), Definition: def})
	}
	return append(found, nearest...)
}

// distance ranks how far a value at path is from a branch: a member that it
// lacks tells more against the branch than any number of wrong ones.
func distance(broken []Violation, path string) int {
	const missing = 1 << 16
	d := len(broken)
	for _, v := range broken {
		if v.Keyword == "required" && v.InstancePath == path {
			d += missing
		}
	}
	return d
}

// admits tells whether an object with that value of the member (or without it)
// may fit r.
func (r *rule) admits(name string, value gjson.Result) bool {
	if !value.Exists() {
		return !slices.Contains(r.required, name)
	}
	m := r.property(name).target()
	return slices.ContainsFunc(m.enum, func(o gjson.Result) bool { return same(o, value) })
}

func lastMember(v gjson.Result, name string) (found gjson.Result) {
	v.ForEach(func(key, value gjson.Result) bool {
		if key.String() == name {
			found = value
		}
		return true
	})
	return found
}

func hasType(v gjson.Result, kind string) bool {
	switch kind {
	case "string":
		return v.Type == gjson.String
	case "number":
		return v.Type == gjson.Number
	case "integer":
		return v.Type == gjson.Number && isInteger(v.Raw)
	case "boolean":
		return v.IsBool()
	case "null":
		return v.Type == gjson.Null
	case "object":
		return v.IsObject()
	case "array":
		return v.IsArray()
	}
	return false
}

// same compares a literal of a schema, a string or an integer, with a value.
func same(literal, v gjson.Result) bool {
	if literal.Type != v.Type {
		return false
	}
	if literal.Type == gjson.Number {
		return compare(literal.Raw, v.Raw) == 0
	}
	return literal.Str == v.Str
}

// briefLimit bounds how much of a value a message repeats, in bytes.
const briefLimit = 60

// brief shows a value in a message, cut where it is long.
func brief(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "an array"
	case v.Type == gjson.Null:
		return "null"
	}
	return wire.Clip(v.Raw, briefLimit)
}

func list(values []gjson.Result) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}

func withArticle(kinds []string) []string {
	var out []string
	for _, k := range kinds {
		article := "a "
		switch k {
		case "null":
			article = ""
		case "object", "array", "integer":
			article = "an "
		}
		if !slices.Contains(out, article+k) {
			out = append(out, article+k)
		}
	}
	return out
}

func either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
