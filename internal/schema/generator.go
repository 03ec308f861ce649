package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Source makes the choices of generated values; math/rand/v2 and rapid implement
// it. IntN returns a number from 0 to n-1. The smaller its numbers, the simpler the
// value, so that a source that shrinks also shrinks the value.
type Source interface{ IntN(n int) int }

// Arguments makes an object that fits the inputSchema of a tool, with its
// required members only: see Generator.
func Arguments(src Source, inputSchema []byte) ([]byte, error) {
	g, err := NewGenerator(inputSchema)
	if err != nil {
		return nil, err
	}
	return g.Valid(src, Least)
}

// A Generator makes arguments for one inputSchema: those that fit it, and those
// that break one of its constraints. It understands the dialects that
// CompileTool does and follows references inside of the schema only. All it
// makes was held against the schema. It is safe for concurrent use.
type Generator struct {
	tool      *ToolSchema
	root      *jsonschema.Schema
	height    map[*jsonschema.Schema]int // see heights
	size      int                        // values made within the one that is being made
	exhausted error                      // the schema took more steps than are spent on one
}

// making bounds the steps for one value: a thousand times what ordinary schemas
// take, and about a tenth of a second.
const effortPerValue = 100_000

// generatorLimit bounds the schemas that arguments are made for, in bytes: the
// engine takes seconds to compile the largest that it judges.
const maxGeneratorSchema = 1 << 17

// A Style says which members a Generator makes, and from what.
type Style int

const (
	// Least makes what is required alone, of examples and defaults where the
	// schema has them.
	Least Style = iota
	// Full makes all members that are described too.
	Full
	// Free draws which members it makes, and seldom keeps to examples.
	Free
)

// NewGenerator compiles an inputSchema. The error is one of CompileTool, or
// tells that the schema has no finite instance.
func NewGenerator(inputSchema []byte) (*Generator, error) {
	if len(inputSchema) > maxGeneratorSchema {
		return nil, fmt.Errorf("make arguments: %w", &NotJudgedError{fmt.Sprintf("the schema has %d bytes, more than %d", len(inputSchema), maxGeneratorSchema)})
	}
	tool, err := CompileToolAnyDialect(inputSchema)
	if err != nil {
		return nil, fmt.Errorf("make arguments: %w", err)
	}
	g := &Generator{tool: tool, root: tool.compiled, height: heights(tool.compiled)}
	if g.height[g.root] >= infinite {
		return nil, errors.New("make arguments: the schema asks for a value without end, or for none")
	}
	return g, nil
}

// Proposed returns the examples and the default of the schema as a whole, those
// that are objects and fit.
func (g *Generator) Proposed() [][]byte {
	var out [][]byte
	for _, v := range examplesOf(g.root) {
		if _, object := v.(map[string]any); !object {
			continue
		}
		if broken, err := g.tool.validate(v); err == nil && len(broken) == 0 {
			out = append(out, encode(v))
		}
	}
	return out
}

// Valid makes arguments that fit. The error says why it could make none, which
// does not always mean that there are none.
func (g *Generator) Valid(src Source, style Style) (args []byte, err error) {
	err = g.withEffort(func() error {
		v, err := g.valid(&valueMaker{g: g, src: src, style: style, useExamples: style != Free})
		if err == nil {
			args = encode(v)
		}
		return err
	})
	return args, err
}

// working runs a function that draws, with the effort counted.
func (g *Generator) withEffort(f func() error) (err error) {
	g.tool.mu.Lock()
	defer g.tool.mu.Unlock()
	if g.exhausted != nil {
		return g.exhausted // as it would be again
	}
	g.tool.effort.spent = maxSteps - effortPerValue
	defer func() {
		if p := recover(); p != nil {
			if p == tooManySteps {
				p = fmt.Sprintf("more than %d steps", effortPerValue)
			}
			g.exhausted = fmt.Errorf("make arguments: %w", &NotJudgedError{fmt.Sprintf("the schema engine gave up: %v", p)})
			err = g.exhausted
		}
	}()
	return f()
}

func (g *Generator) valid(d *valueMaker) (any, error) {
	if v, ok := d.value([]*jsonschema.Schema{g.root}, objectType, 0); ok {
		return v, nil
	}
	none := errors.New("make arguments: nothing that fits the schema was found")
	all := []*jsonschema.Schema{g.root}
	plain := &valueMaker{g: g, src: zeroSource{}}
	// Why is told of one more, plain try.
	if f, ok := plain.expand(all, 0); ok {
		of := anyType
		for _, s := range f {
			of &= allowedTypes(s)
		}
		if of&objectType == 0 {
			other, _ := plain.tryValue(all, anyType, 0)
			return nil, fmt.Errorf("make arguments: the schema asks for %s", wire.TypeName(gjson.ParseBytes(encode(other))))
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
		return nil, fmt.Errorf("make arguments: %w", &NotJudgedError{"a reference of the schema leads to itself"})
	}
	return nil, fmt.Errorf("make arguments: what was made does not fit the schema: %v", flattenErrors(why)[0])
}

// first is the source of the plainest values.
type zeroSource struct{}

func (zeroSource) IntN(int) int { return 0 }

// encode writes a value as JSON, members in order of their names.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode: %v", err)) // what is made is JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// proposals returns what the author of a schema proposes as values.
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

// written returns the members of a schema as they were written.
func keywordsOf(s *jsonschema.Schema) map[string]any {
	for _, e := range s.Extensions {
		if r, ok := e.(*keywordExtension); ok {
			return r.keywords
		}
	}
	return nil
}

// endless is the height of a schema that only infinite values fit, or none.
const infinite = 1 << 20

// heights tells for each part of a schema how deep its flattest value nests: a
// recursion is left by the branch that is lowest.
func heights(root *jsonschema.Schema) map[*jsonschema.Schema]int {
	h := map[*jsonschema.Schema]int{}
	users := map[*jsonschema.Schema][]*jsonschema.Schema{} // by what they are made of
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
	slices.Reverse(todo) // what is within comes first
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
		return n // another of the types that it names will do
	}
	return max(n, below)
}

// decodeValue reads a value as the engine wants it.
func decodeValue(raw []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(raw)) }
