package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/memo"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Source makes the choices of generated values; math/rand/v2 and rapid implement
// it. IntN returns a number from 0 to n-1. The smaller its numbers, the simpler the
// value, so that a source that shrinks also shrinks the value.
type Source interface{ IntN(n int) int }

// MakeArguments makes an object that fits the inputSchema of a tool, with required
// members only; see Generator.
func MakeArguments(src Source, inputSchema []byte) ([]byte, error) {
	g, err := NewGenerator(inputSchema)
	if err != nil {
		return nil, err
	}
	return g.Valid(src, RequiredOnly)
}

// sampleCache holds the results of SampleArguments.
var sampleCache = memo.Cache[[]byte]{MaxResults: 128}

// SampleArguments makes arguments as MakeArguments does, the same ones for equal
// schemas. They must not be changed.
func SampleArguments(inputSchema []byte) ([]byte, error) {
	return sampleCache.Get(string(inputSchema), func() ([]byte, error) {
		return MakeArguments(rand.New(rand.NewPCG(1, 1)), inputSchema)
	})
}

// A Generator makes arguments for one inputSchema: those that fit it, and those
// that break one of its constraints. It knows the dialects of CompileTool and
// follows references within the schema only. All that it returns is validated by
// the schema. It is safe for concurrent use.
type Generator struct {
	tool      *ToolSchema
	root      *jsonschema.Schema
	height    map[*jsonschema.Schema]int // see heights
	size      int                        // number of values within the one that is being made
	exhausted error                      // error of a schema that took more than effortPerValue
}

// effortPerValue bounds the steps for one value: a thousand times what ordinary
// schemas take, about a tenth of a second.
const effortPerValue = 100_000

// maxGeneratorSchema bounds the schemas of a Generator, in bytes: the engine takes
// seconds to compile the largest schemas that it validates.
const maxGeneratorSchema = 1 << 17

// A Style selects the members that a Generator makes, and their values.
type Style int

const (
	// RequiredOnly makes required members only, from examples and defaults where the
	// schema has them.
	RequiredOnly Style = iota
	// AllMembers makes all described members, from examples and defaults too.
	AllMembers
	// RandomMembers chooses members and values at random, and seldom uses examples.
	RandomMembers
)

// NewGenerator compiles an inputSchema. The error is one of CompileTool, or says
// that the schema has no finite instance.
func NewGenerator(inputSchema []byte) (*Generator, error) {
	if len(inputSchema) > maxGeneratorSchema {
		return nil, fmt.Errorf("make arguments: %w",
			&NotJudgedError{fmt.Sprintf("the schema has %d bytes, more than %d", len(inputSchema), maxGeneratorSchema)})
	}
	tool, err := CompileToolAnyDialect(inputSchema)
	if err != nil {
		return nil, fmt.Errorf("make arguments: %w", err)
	}
	g := &Generator{tool: tool, root: tool.compiled, height: heights(tool.compiled)}
	if g.height[g.root] >= infinite {
		return nil, errors.New("make arguments: no finite value fits the schema")
	}
	return g, nil
}

// Examples returns the examples and the default of the whole schema, if they are
// objects that fit.
func (g *Generator) Examples() [][]byte {
	var out [][]byte
	for _, v := range examplesOf(g.root) {
		if _, object := v.(map[string]any); !object {
			continue
		}
		if broken, err := g.tool.validate(v); err == nil && len(broken) == 0 {
			out = append(out, wire.Encode(v))
		}
	}
	return out
}

// Valid makes arguments that fit. An error says why it found none, although there
// may be some.
func (g *Generator) Valid(src Source, style Style) (args []byte, err error) {
	err = g.withEffort(func() error {
		v, err := g.valid(&valueMaker{g: g, src: src, style: style, useExamples: style != RandomMembers})
		if err == nil {
			args = wire.Encode(v)
		}
		return err
	})
	return args, err
}

// withEffort runs a function that makes values, with its steps bounded.
func (g *Generator) withEffort(f func() error) (err error) {
	g.tool.mu.Lock()
	defer g.tool.mu.Unlock()
	if g.exhausted != nil {
		return g.exhausted
	}
	g.tool.effort.spent = maxSteps - effortPerValue
	defer func() {
		if p := recover(); p != nil {
			if p == tooManySteps {
				p = fmt.Sprintf("more than %d steps", effortPerValue)
			}
			g.exhausted = fmt.Errorf("make arguments: %w",
				&NotJudgedError{fmt.Sprintf("the schema engine stopped: %v", p)})
			err = g.exhausted
		}
	}()
	return f()
}

func (g *Generator) valid(m *valueMaker) (any, error) {
	if v, ok := m.value([]*jsonschema.Schema{g.root}, objectType, 0); ok {
		return v, nil
	}
	none := errors.New("make arguments: no value was found that fits the schema")
	all := []*jsonschema.Schema{g.root}
	plain := &valueMaker{g: g, src: zeroSource{}}
	// One more simple attempt gives the reason for the error.
	if f, ok := plain.expand(all, 0); ok {
		of := anyType
		for _, s := range f {
			of &= allowedTypes(s)
		}
		if of&objectType == 0 {
			other, _ := plain.tryValue(all, anyType, 0)
			return nil, fmt.Errorf("make arguments: the schema requires %s",
				wire.TypeName(gjson.ParseBytes(wire.Encode(other))))
		}
	}
	v, ok := plain.tryValue(all, objectType, 0)
	if !ok {
		return nil, none
	}
	err := g.root.Validate(v)
	var why *jsonschema.ValidationError
	if !errors.As(err, &why) {
		return nil, none
	}
	if hasRefCycle(why) {
		return nil, fmt.Errorf("make arguments: %w", &NotJudgedError{"a reference of the schema is to itself"})
	}
	return nil, fmt.Errorf("make arguments: the value that was made does not fit the schema: %v", flattenErrors(why)[0])
}

// zeroSource is the source of the simplest values.
type zeroSource struct{}

func (zeroSource) IntN(int) int { return 0 }

// examplesOf returns the default and the examples of a schema.
func examplesOf(s *jsonschema.Schema) []any {
	var out []any
	if s.Default != nil {
		out = append(out, *s.Default)
	}
	if v, ok := keywordsOf(s)["example"]; ok { // of OpenAPI
		out = append(out, v)
	}
	return append(out, s.Examples...)
}

// keywordsOf returns the members of a schema as they are in its text.
func keywordsOf(s *jsonschema.Schema) map[string]any {
	for _, e := range s.Extensions {
		if r, ok := e.(*keywordExtension); ok {
			return r.keywords
		}
	}
	return nil
}

// infinite is the height of a schema that no finite value fits.
const infinite = 1 << 20

// heights returns for each subschema how deep its flattest value nests. A recursion
// ends with the branch of the lowest height.
func heights(root *jsonschema.Schema) map[*jsonschema.Schema]int {
	h := map[*jsonschema.Schema]int{}
	users := map[*jsonschema.Schema][]*jsonschema.Schema{} // the schemas that contain a schema
	var todo []*jsonschema.Schema
	reach := []*jsonschema.Schema{root}
	h[root] = infinite
	for len(reach) > 0 {
		s := reach[0]
		reach = reach[1:]
		todo = append(todo, s)
		for _, sub := range subschemas(s) {
			users[sub] = append(users[sub], s)
			if _, known := h[sub]; !known {
				h[sub] = infinite
				reach = append(reach, sub)
			}
		}
	}
	slices.Reverse(todo) // inner schemas first
	for most := 50 * len(todo); len(todo) > 0 && most > 0; most-- {
		s := todo[0]
		todo = todo[1:]
		if n := min(heightOf(s, h), infinite); n < h[s] {
			h[s] = n
			todo = append(todo, users[s]...)
		}
	}
	return h
}

func heightOf(s *jsonschema.Schema, h map[*jsonschema.Schema]int) int {
	if s.Bool != nil {
		if *s.Bool {
			return 0
		}
		return infinite
	}
	if s.Const != nil || s.Enum != nil {
		return 0
	}
	n := 0
	for _, sub := range inPlaceSchemas(s) {
		n = max(n, h[sub])
	}
	for _, union := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		least := infinite
		for _, sub := range union {
			least = min(least, h[sub])
		}
		if len(union) > 0 {
			n = max(n, least)
		}
	}
	if allowedTypes(s)&(objectType|arrayType) == 0 {
		return n
	}
	below := 0
	for _, name := range s.Required {
		if sub := s.Properties[name]; sub != nil {
			below = max(below, 1+h[sub])
		}
	}
	items := max(valueOrZero(s.MinItems), containsAtLeast(s))
	for i := range min(items, len(s.PrefixItems)+1) {
		for _, sub := range itemSchemas(s, i) {
			below = max(below, 1+h[sub])
		}
	}
	if below >= infinite && s.Types != nil && allowedTypes(s)&^(objectType|arrayType) != 0 {
		return n // a value of another of its types fits
	}
	return max(n, below)
}

// decodeValue decodes JSON in the types of the engine.
func decodeValue(raw []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(raw)) }
