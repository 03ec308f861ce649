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
	InstancePath string // JSON pointer (RFC 6901) into the instance; "" is its root
	Keyword      string // of JSON Schema: type, required, enum, const, …
	Message      string // what is wrong, without the path
	Definition   string // the innermost definition that is broken; "" for a tool's schema
	Missing      string // the member that a message lacks, where Keyword is required
}

// Pointer returns the JSON pointer of the violating value. A missing member has the
// pointer of its place.
func (v Violation) Pointer() string {
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
// if it fits. They are shared and must not be changed. It panics if the revision has no
// definition of that name; see Has.
func (s *Set) Validate(def string, instance []byte) []Violation {
	r := s.defs[def]
	if r == nil {
		panic(fmt.Sprintf("schema: revision %s has no definition %q", s.rev, def))
	}
	if len(instance) > largestCached {
		return r.validateText(def, instance)
	}
	// In a run every session returns the same lists.
	found, _ := s.validated.Get(def+" "+string(instance), func() ([]Violation, error) {
		return r.validateText(def, instance), nil
	})
	return found
}

// largestCached bounds, in bytes, the instances whose violations are cached.
const largestCached = 8 << 10

// validateText returns the ways in which a JSON text does not fit the definition.
func (r *node) validateText(def string, instance []byte) []Violation {
	if !gjson.ValidBytes(instance) {
		return []Violation{{Keyword: "json", Message: "is not valid JSON", Definition: def}}
	}
	return r.validate(gjson.ParseBytes(instance), nil, def, nil)
}

// A location is the path to a value in an instance.
type location struct {
	in    *location
	key   string
	index int // of an item; -1 for a member
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

func (p *location) String() string {
	if p == nil {
		return ""
	}
	if p.index >= 0 {
		return p.in.String() + "/" + strconv.Itoa(p.index)
	}
	return p.in.String() + "/" + escapePointer.Replace(p.key)
}

// validate appends to found how v at a location does not fit r.
func (r *node) validate(v gjson.Result, at *location, def string, found []Violation) []Violation {
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
		found = append(found, Violation{InstancePath: at.String(), Keyword: keyword,
			Message: fmt.Sprintf(format, args...), Definition: def})
	}
	if len(r.types) > 0 && !slices.ContainsFunc(r.types, func(t string) bool { return hasType(v, t) }) {
		add("type", "%s is not %s", describe(v), joinOr(withArticle(r.types)))
		return found
	}
	if len(r.enum) > 0 && !slices.ContainsFunc(r.enum, func(o gjson.Result) bool { return equalsLiteral(o, v) }) {
		if r.isConst {
			add("const", "%s is not %s", describe(v), describe(r.enum[0]))
		} else {
			add("enum", "%s is not one of %s", describe(v), joinValues(r.enum))
		}
		return found
	}
	if v.Type == gjson.Number {
		if r.minimum != "" && compare(v.Raw, r.minimum) < 0 {
			add("minimum", "%s is less than %s", describe(v), r.minimum)
		}
		if r.maximum != "" && compare(v.Raw, r.maximum) > 0 {
			add("maximum", "%s is more than %s", describe(v), r.maximum)
		}
	}
	if len(r.anyOf) > 0 {
		found = r.validateUnion(v, at, def, found)
	}
	switch {
	case v.IsObject() && (len(r.properties) > 0 || r.values != nil):
		found = r.validateMembers(v, at, def, found)
	case v.IsArray() && (r.items != nil || r.maxItems >= 0):
		n := 0
		v.ForEach(func(_, item gjson.Result) bool {
			if r.items != nil {
				found = r.items.validate(item, &location{at, "", n}, def, found)
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

func (r *node) validateMembers(v gjson.Result, at *location, def string, found []Violation) []Violation {
	var seen uint64 // bit i: the i-th required member is present
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
			found = sub.validate(value, &location{at, name, -1}, def, found)
		}
		return true
	})
	for i, name := range r.required {
		if seen&(1<<i) == 0 {
			found = append(found, missingMember(at, name, def))
		}
	}
	return found
}

func missingMember(at *location, member, def string) Violation {
	return Violation{InstancePath: at.String(), Keyword: "required", Message: "the member " + member + " is missing",
		Definition: def, Missing: member}
}

// validateUnion tries the branches that the type and the discriminator of v
// select. If none fits, it reports the violations of the nearest.
func (r *node) validateUnion(v gjson.Result, at *location, def string, found []Violation) []Violation {
	var candidates []*node
	var kinds []string
	for _, b := range r.anyOf {
		t := b.target()
		kinds = append(kinds, t.types...)
		if len(t.types) == 0 || slices.ContainsFunc(t.types, func(k string) bool { return hasType(v, k) }) {
			candidates = append(candidates, b)
		}
	}
	if len(candidates) == 0 {
		return append(found, Violation{InstancePath: at.String(), Keyword: "type", Message: describe(v) + " is not " +
			joinOr(withArticle(kinds)), Definition: def})
	}
	if r.discriminator != nil && v.IsObject() {
		value := lastMember(v, r.discriminator.member)
		left := slices.DeleteFunc(slices.Clone(candidates),
			func(b *node) bool { return !b.target().mayFit(r.discriminator.member, value) })
		if len(left) == 0 {
			if !value.Exists() {
				return append(found, missingMember(at, r.discriminator.member, def))
			}
			return append(found, Violation{InstancePath: (&location{at, r.discriminator.member, -1}).String(),
				Keyword: "enum", Message: describe(value) + " is not one of " +
					joinValues(r.discriminator.values), Definition: def})
		}
		candidates = left
	}
	var nearest []Violation
	var misses []string
	best, tied := 0, false
	for _, b := range candidates {
		broken := b.validate(v, at, def, nil)
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
		return append(found, Violation{InstancePath: at.String(), Keyword: "anyOf", Message: "fits none of " +
			strings.Join(misses, ", "), Definition: def})
	}
	return append(found, nearest...)
}

// distance ranks how far a value at path is from a branch: a missing member counts
// more than any number of wrong ones.
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

// mayFit reports whether an object with that value of the member, or without it,
// may fit r.
func (r *node) mayFit(name string, value gjson.Result) bool {
	if !value.Exists() {
		return !slices.Contains(r.required, name)
	}
	m := r.property(name).target()
	return slices.ContainsFunc(m.enum, func(o gjson.Result) bool { return equalsLiteral(o, value) })
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

// equalsLiteral compares a literal of a schema, a string or an integer, with a
// value.
func equalsLiteral(literal, v gjson.Result) bool {
	if literal.Type != v.Type {
		return false
	}
	if literal.Type == gjson.Number {
		return compare(literal.Raw, v.Raw) == 0
	}
	return literal.Str == v.Str
}

// describeLimit bounds, in bytes, how much of a value a message repeats.
const describeLimit = 60

// describe returns a value for a message, cut if it is long.
func describe(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "an array"
	case v.Type == gjson.Null:
		return "null"
	}
	return wire.Clip(v.Raw, describeLimit)
}

func joinValues(values []gjson.Result) string {
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

func joinOr(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
