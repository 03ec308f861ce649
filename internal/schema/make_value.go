package schema

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A typeSet is a set of types of JSON values.
type typeSet uint8

const (
	stringType  typeSet = 1 << iota
	integerType         // numbers without a fraction
	fractionType
	booleanType
	objectType
	arrayType
	nullType
	anyType = stringType | integerType | fractionType | booleanType | objectType | arrayType | nullType
)

var typesByName = map[string]typeSet{"string": stringType, "integer": integerType, "number": integerType | fractionType,
	"boolean": booleanType, "object": objectType, "array": arrayType, "null": nullType}

// allowedTypes returns the types that the keyword type of a schema allows.
func allowedTypes(s *jsonschema.Schema) typeSet {
	if s.Types == nil || s.Types.IsEmpty() {
		return anyType
	}
	var out typeSet
	for _, name := range s.Types.ToStrings() {
		out |= typesByName[name]
	}
	return out
}

// A valueMaker makes one value from the choices of a source. Choices affect each
// other in ways that it does not consider, so that value tries again until the
// result fits.
type valueMaker struct {
	g           *Generator
	src         Source
	style       Style
	useExamples bool
	attempts    int // before this one
}

func (m *valueMaker) choose(n int) int {
	if n <= 1 {
		return 0
	}
	return m.src.IntN(n)
}

// retry returns a valueMaker whose choices follow from those made so far. Thus a
// source that always returns the same number leads to other values too, and the
// number of choices that a shrinking source makes is bounded.
func (m *valueMaker) retry(try int) *valueMaker {
	next := *m
	next.src = rand.New(rand.NewPCG(uint64(m.choose(1<<16)), uint64(try)))
	next.attempts = m.attempts + try
	next.useExamples = m.useExamples && try < 2
	next.style = []Style{m.style, RequiredOnly, RandomMembers}[min(try, 2)]
	return &next
}

// The limits of the search for one value.
const (
	maxAttempts      = 40  // for whole arguments
	maxInnerAttempts = 8   // for a value within them
	deepLevel        = 4   // from this level on values are as flat as possible
	largeSize        = 200 // from this number of values on nothing optional is added
)

// value returns a value of one of some types that fits all schemas.
func (m *valueMaker) value(all []*jsonschema.Schema, of typeSet, depth int) (any, bool) {
	most := maxInnerAttempts
	if depth == 0 {
		most = maxAttempts
	}
	for try := range most {
		m.g.tool.effort.step()
		if depth == 0 {
			m.g.size = 0
		}
		now := m
		if try > 0 {
			now = m.retry(try)
		}
		if v, ok := now.tryValue(all, of, depth); ok && fitsAll(all, v) {
			return v, true
		}
	}
	return nil, false
}

func fitsAll(all []*jsonschema.Schema, v any) bool {
	return !slices.ContainsFunc(all, func(s *jsonschema.Schema) bool { return s.Validate(v) != nil })
}

// tryValue makes a value from the keywords, without validating it.
func (m *valueMaker) tryValue(all []*jsonschema.Schema, of typeSet, depth int) (any, bool) {
	f, ok := m.expand(all, depth)
	if !ok {
		return nil, false
	}
	m.g.size++
	if m.useExamples || m.style == RandomMembers && m.choose(4) == 1 {
		var good []any
		for _, s := range f {
			for _, v := range examplesOf(s) {
				if typeOf(v)&of != 0 && fitsAll(all, v) &&
					!slices.ContainsFunc(good, func(o any) bool { return equalValues(o, v) }) {
					good = append(good, v)
				}
			}
			if len(good) > 0 {
				return good[m.choose(len(good))], true
			}
		}
	}
	for _, s := range f {
		var values []any
		switch {
		case s.Const != nil:
			values = []any{*s.Const}
		case s.Enum != nil:
			values = s.Enum.Values
		default:
			continue
		}
		values = slices.DeleteFunc(slices.Clone(values),
			func(v any) bool { return typeOf(v)&of == 0 || !fitsAll(all, v) })
		if len(values) == 0 {
			return nil, false
		}
		return values[m.choose(len(values))], true
	}
	for _, s := range f {
		of &= allowedTypes(s)
	}
	switch m.chooseType(f, of) {
	case stringType:
		return m.text(f)
	case integerType:
		return m.number(f, true)
	case fractionType:
		return m.number(f, false)
	case booleanType:
		return m.choose(2) == 1, true
	case objectType:
		return m.object(f, depth)
	case arrayType:
		return m.array(f, depth)
	case nullType:
		return nil, true
	}
	return nil, false
}

// expand returns the schemas that apply to the same value: references, those of
// allOf, and a chosen branch of unions and conditions. Of each result only its own
// keywords count.
func (m *valueMaker) expand(all []*jsonschema.Schema, depth int) ([]*jsonschema.Schema, bool) {
	var out []*jsonschema.Schema
	todo := slices.Clone(all)
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		if s.Bool != nil && !*s.Bool {
			return nil, false
		}
		if slices.Contains(out, s) {
			continue
		}
		m.g.tool.effort.step()
		out = append(out, s)
		todo = append(todo, inPlaceSchemas(s)...)
		for _, union := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
			if len(union) > 0 {
				todo = append(todo, m.chooseBranch(union, depth))
			}
		}
		if s.If == nil {
			continue
		}
		if m.choose(2) == 0 {
			if todo = append(todo, s.If); s.Then != nil {
				todo = append(todo, s.Then)
			}
		} else if s.Else != nil {
			todo = append(todo, s.Else)
		}
	}
	return out, true
}

// chooseBranch chooses a branch of a union, from deepLevel on one of the flattest.
func (m *valueMaker) chooseBranch(union []*jsonschema.Schema, depth int) *jsonschema.Schema {
	limit := infinite - 1
	if depth >= deepLevel {
		for _, s := range union {
			limit = min(limit, m.g.height[s])
		}
	}
	open := slices.DeleteFunc(slices.Clone(union), func(s *jsonschema.Schema) bool { return m.g.height[s] > limit })
	if len(open) == 0 {
		return union[m.choose(len(union))]
	}
	return open[m.choose(len(open))]
}

// chooseType chooses one of some types, by preference one that keywords apply to.
func (m *valueMaker) chooseType(f []*jsonschema.Schema, of typeSet) typeSet {
	var spoken typeSet
	for _, s := range f {
		spoken |= impliedTypes(s)
	}
	if m.style != RandomMembers {
		switch {
		case of&spoken != 0:
			of &= spoken
		case of == anyType:
			of = stringType
		}
		if of != nullType {
			of &^= nullType
		}
		if of&integerType != 0 && m.attempts < 4 {
			of &^= fractionType
		}
	}
	var one []typeSet
	for k := stringType; k <= nullType; k <<= 1 {
		if of&k != 0 {
			one = append(one, k)
		}
	}
	if len(one) == 0 {
		return 0
	}
	return one[m.choose(len(one))]
}

// impliedTypes returns the types that the keywords of a schema apply to.
func impliedTypes(s *jsonschema.Schema) (of typeSet) {
	if s.Properties != nil || s.Required != nil || s.AdditionalProperties != nil || s.PatternProperties != nil ||
		s.MinProperties != nil ||
		s.PropertyNames != nil || s.DependentRequired != nil || s.DependentSchemas != nil || s.Dependencies != nil ||
		s.UnevaluatedProperties != nil {
		of |= objectType
	}
	if s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil || s.MinItems != nil || s.MaxItems != nil ||
		s.Contains != nil || s.UniqueItems || s.UnevaluatedItems != nil {
		of |= arrayType
	}
	if s.MinLength != nil || s.MaxLength != nil || s.Pattern != nil || keywordsOf(s)["format"] != nil {
		of |= stringType
	}
	if s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil ||
		s.MultipleOf != nil {
		of |= integerType | fractionType
	}
	return of
}

func typeOf(v any) typeSet {
	switch v := v.(type) {
	case string:
		return stringType
	case json.Number:
		if isInteger(v.String()) {
			return integerType
		}
		return fractionType
	case bool:
		return booleanType
	case map[string]any:
		return objectType
	case []any:
		return arrayType
	}
	return nullType
}

// inPlaceSchemas returns the subschemas that always apply to the same value.
func inPlaceSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	if s.Ref != nil {
		out = append(out, s.Ref)
		if s.DraftVersion < 2019 {
			return out // siblings of $ref are ignored
		}
	}
	if s.RecursiveRef != nil {
		out = append(out, s.RecursiveRef)
	}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	return append(out, s.AllOf...)
}

// subschemas returns all subschemas that may apply to the value or a value within,
// in a fixed order.
func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	out := slices.Concat(inPlaceSchemas(s), s.AnyOf, s.OneOf, s.PrefixItems,
		[]*jsonschema.Schema{s.If, s.Then, s.Else, s.Not, s.PropertyNames, s.UnevaluatedProperties, s.Contains,
			s.Items2020, s.UnevaluatedItems})
	for _, one := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch one := one.(type) {
		case *jsonschema.Schema:
			out = append(out, one)
		case []*jsonschema.Schema:
			out = append(out, one...)
		}
	}
	for _, named := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			out = append(out, named[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		if one, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
			out = append(out, one)
		}
	}
	for _, p := range namePatterns(s) {
		out = append(out, s.PatternProperties[p])
	}
	return slices.DeleteFunc(out, func(s *jsonschema.Schema) bool { return s == nil })
}

// namePatterns returns the patterns of patternProperties in order.
func namePatterns(s *jsonschema.Schema) []jsonschema.Regexp {
	return slices.SortedFunc(maps.Keys(s.PatternProperties),
		func(a, b jsonschema.Regexp) int { return strings.Compare(a.String(), b.String()) })
}

func valueOrZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
