package schema

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// InvalidArguments are arguments that break one constraint of an inputSchema and no other.
type InvalidArguments struct {
	Keyword    string // of JSON Schema that is broken, as its dialect names it
	Path       string // JSON pointer (RFC 6901) of the value, or of the missing or extra member
	Why        string // one sentence: "maximum: /limit is 51, more than 50"
	Combinator string // the combinator above the constraint (then, oneOf, …), "" if none
	// Repairable reports whether a server may repair the arguments instead of
	// rejecting them: drop an extra member, fill in a default.
	Repairable bool
	JSON       []byte
	Base       []byte // the valid arguments that it was made from
}

// maxInvalid bounds the InvalidArguments of one schema.
const maxInvalid = 300

// Invalid makes at most so many arguments that each break one constraint. Each
// keyword occurs once before any occurs again. They are made from valid
// arguments, the given ones first. They are always objects, as arguments must be,
// and never break format, which is an annotation.
func (g *Generator) Invalid(src Source, most int, given ...[]byte) ([]InvalidArguments, error) {
	b := &breaker{g: g, broken: map[string]bool{}, visited: map[string]bool{}}
	err := g.withEffort(func() error {
		d := &valueMaker{g: g, src: src, style: RequiredOnly, useExamples: true}
		b.valueMaker = d.retry(1)
		for _, raw := range given {
			if v, err := decodeValue(raw); err == nil && g.root.Validate(v) == nil {
				b.from(v)
			}
		}
		for try, base := range []valueMaker{
			{style: RequiredOnly, useExamples: true}, {style: AllMembers, useExamples: true}, {style: AllMembers},
			{style: RandomMembers}, {style: RandomMembers}, {style: RandomMembers}, {style: RandomMembers},
		} {
			base.g, base.src = g, d.src
			v, ok := base.value([]*jsonschema.Schema{g.root}, objectType, 0)
			if !ok {
				if try == 0 {
					return errors.New(
						"make arguments: no valid value was found, from which an invalid one could be made")
				}
				continue
			}
			b.from(v)
		}
		return nil
	})
	if err != nil && len(b.found) == 0 {
		return nil, err
	}
	return interleave(b.found, most), nil
}

// interleave sorts InvalidArguments so that each keyword occurs once before any occurs
// again, and returns the first of them.
func interleave(all []InvalidArguments, most int) []InvalidArguments {
	count := map[string]int{}
	rank := make(map[string]int, len(all))
	for _, m := range all {
		rank[m.Why] = count[m.Keyword]
		count[m.Keyword]++
	}
	slices.SortStableFunc(all, func(a, b InvalidArguments) int { return rank[a.Why] - rank[b.Why] })
	return all[:min(len(all), most)]
}

// A breaker walks a schema along a valid value, and breaks each constraint at each
// place of the value.
type breaker struct {
	*valueMaker
	g           *Generator
	base        any
	found       []InvalidArguments
	broken      map[string]bool    // constraints with InvalidArguments
	visited     map[string]bool    // places of schema and base
	part        *jsonschema.Schema // the subschema being visited, for the value at path
	path        []string
	combinator  string // the combinator above the subschema, "" if none
	genericPath string // path with a star for items and for names that no schema describes
}

func (b *breaker) from(base any) {
	b.base = base
	clear(b.visited)
	b.combinator = ""
	b.visit(b.g.root, base, nil, "")
}

// A constraint is a keyword to be broken at a place, and how the engine reports
// it.
type constraint struct {
	keyword         string
	place           []string // of the violating value
	reportedPlace   []string // if the engine reports another place
	reportedKeyword string   // if the engine reports another keyword
	repairable      bool
}

// tryBreak tries candidates until one breaks the constraint and no other.
func (b *breaker) tryBreak(c constraint, why string, candidates ...any) {
	if c.reportedPlace == nil {
		c.reportedPlace = c.place
	}
	if c.reportedKeyword == "" {
		c.reportedKeyword = c.keyword
	}
	name := c.keyword + b.genericPath + pointerOf(c.place[len(b.path):]) + why
	if b.broken[name] || len(b.found) >= maxInvalid {
		return
	}
	for _, v := range candidates {
		if _, object := v.(map[string]any); !object {
			continue
		}
		b.g.tool.effort.step()
		if value, ok := lookup(v, b.path); !ok || b.part.Validate(value) == nil {
			continue // another subschema has the same constraint
		}
		var wrong *jsonschema.ValidationError
		if errors.As(b.g.root.Validate(v), &wrong) && onlyBreaks(wrong, c.reportedKeyword, pointerOf(c.reportedPlace)) {
			b.broken[name] = true
			place := pointerOf(c.place)
			if place == "" {
				place = "the arguments object"
			}
			b.found = append(b.found, InvalidArguments{
				Keyword: c.keyword, Path: pointerOf(c.place), Why: c.keyword + ": " + place + " " + why,
				Combinator: b.combinator, Repairable: c.repairable, JSON: wire.Encode(v), Base: wire.Encode(b.base),
			})
			return
		}
	}
}

// onlyBreaks reports whether an error says only that one keyword is broken at a
// place, and what follows from it. For a union it is enough that one branch has
// no other error.
func onlyBreaks(e *jsonschema.ValidationError, keyword, at string) bool {
	said := map[string]bool{}
	return collectOnly(e, keyword, at, said) && len(said) == 1
}

// collectOnly collects the messages about the keyword, and reports whether there is
// no other error.
func collectOnly(e *jsonschema.ValidationError, keyword, at string, said map[string]bool) bool {
	_, aboutName := e.ErrorKind.(*kind.PropertyNames) // for which the engine may report another place
	if keywordOf(e.ErrorKind) == keyword && (aboutName || pointerOf(e.InstanceLocation) == at) {
		said[message(e.ErrorKind, keyword)] = true
		return true
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		for _, c := range e.Causes {
			branch := map[string]bool{}
			if collectOnly(c, keyword, at, branch) && len(branch) == 1 {
				maps.Copy(said, branch)
				return true
			}
		}
		return false
	}
	for _, c := range e.Causes {
		if !collectOnly(c, keyword, at, said) {
			return false
		}
	}
	return len(e.Causes) > 0
}

func keywordOf(k jsonschema.ErrorKind) string {
	switch k.(type) {
	case *kind.FalseSchema:
		return "false"
	case *kind.Not:
		return "not"
	case *kind.AnyOf:
		return "anyOf"
	case *kind.OneOf:
		return "oneOf"
	case *kind.Dependency:
		return "dependencies"
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return path[0]
	}
	return ""
}

// maxVisitedItems bounds the items of an array that are visited.
const maxVisitedItems = 10

// visit breaks the constraints of a schema on the value at a path of the base, and
// on the values within.
func (b *breaker) visit(s *jsonschema.Schema, v any, path []string, generic string) {
	site := s.Location + " " + pointerOf(path)
	if b.visited[site] || s.Bool != nil {
		return
	}
	b.visited[site] = true
	b.g.tool.effort.step()
	if s.Ref != nil && s.DraftVersion < 2019 {
		b.visit(s.Ref, v, path, generic)
		return
	}
	b.part, b.path, b.genericPath = s, path, generic
	b.breakAny(s, v, path)
	switch v := v.(type) {
	case map[string]any:
		b.breakObject(s, v, path)
	case []any:
		b.breakArray(s, v, path)
	}
	b.visitCombinators(s, v, path, generic)
	switch v := v.(type) {
	case map[string]any:
		b.visitMembers(s, v, path, generic)
	case []any:
		b.visitItems(s, v, path, generic)
	}
}

// visitCombinators visits the subschemas that apply to the same value.
func (b *breaker) visitCombinators(s *jsonschema.Schema, v any, path []string, generic string) {
	for _, sub := range inPlaceSchemas(s) {
		b.visit(sub, v, path, generic)
	}
	for i, union := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		for _, sub := range union {
			if sub.Validate(v) == nil {
				b.visitUnder([]string{"anyOf", "oneOf"}[i], sub, v, path, generic)
			}
		}
	}
	if s.If == nil {
		return
	}
	if s.If.Validate(v) == nil {
		b.visitUnder("then", s.Then, v, path, generic)
	} else {
		b.visitUnder("else", s.Else, v, path, generic)
	}
}

func (b *breaker) visitMembers(s *jsonschema.Schema, v map[string]any, path []string, generic string) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		b.visitUnder("dependentSchemas", s.DependentSchemas[name], v, path, generic)
		if sub, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
			b.visitUnder("dependencies", sub, v, path, generic)
		}
		step := "/*"
		if s.Properties[name] != nil {
			step = pointerOf([]string{name})
		}
		for _, sub := range memberSchemas([]*jsonschema.Schema{s}, name) {
			b.visit(sub, v[name], appendStep(path, name), generic+step)
		}
	}
}

func (b *breaker) visitItems(s *jsonschema.Schema, v []any, path []string, generic string) {
	for i := range min(len(v), maxVisitedItems) {
		step := "/*"
		if list, _ := s.Items.([]*jsonschema.Schema); i < max(len(s.PrefixItems), len(list)) {
			step = "/" + strconv.Itoa(i)
		}
		for _, sub := range itemSchemas(s, i) {
			b.visit(sub, v[i], appendStep(path, strconv.Itoa(i)), generic+step)
		}
	}
}

// visitUnder visits a subschema of a combinator, if there is one.
func (b *breaker) visitUnder(combinator string, s *jsonschema.Schema, v any, path []string, generic string) {
	if s == nil {
		return
	}
	before := b.combinator
	b.combinator = combinator
	b.visit(s, v, path, generic)
	b.combinator = before
}

func appendStep(path []string, step string) []string { return append(slices.Clone(path), step) }

// replaceAt returns the base with another value at a path; a nil path is the base
// itself.
func (b *breaker) replaceAt(path []string, v any) any { return replacedIn(b.base, path, v) }

func replacedIn(in any, path []string, v any) any {
	if len(path) == 0 {
		return v
	}
	switch in := in.(type) {
	case map[string]any:
		out := maps.Clone(in)
		out[path[0]] = replacedIn(in[path[0]], path[1:], v)
		return out
	case []any:
		out := slices.Clone(in)
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(out) {
			out[i] = replacedIn(in[i], path[1:], v)
		}
		return out
	}
	return in
}

func lookup(in any, path []string) (v any, ok bool) {
	for _, step := range path {
		switch at := in.(type) {
		case map[string]any:
			if in, ok = at[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil, false
			}
			in = at[i]
		default:
			return nil, false
		}
	}
	return in, true
}
