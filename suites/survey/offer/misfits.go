package offer

import (
	"encoding/json"
	"math/rand/v2"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

const (
	Draft07   = "http://json-schema.org/draft-07/schema#"
	Draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// RecompileAs compiles a schema as if it named another dialect.
func RecompileAs(input []byte, dialect string) (*schema.ToolSchema, error) {
	var document map[string]any
	if err := json.Unmarshal(input, &document); err != nil {
		return nil, err
	}
	document["$schema"] = dialect
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return schema.CompileTool(raw)
}

// Bounds of the calls with invalid arguments, at one revision.
const (
	MaxMisfits        = 36
	MaxMisfitsPerTool = 8
	misfitsMade       = 60 // of each tool, to choose from
	ToolsMisfitted    = 40
)

var misfitsOfKey = check.NewKey[[]schema.InvalidArguments]("misfits of")

// Misfits returns what misfitsOf makes of a tool, once at this revision.
func Misfits(t *check.T, tool gjson.Result) []schema.InvalidArguments {
	name := tool.Get("name").String()
	return check.Once(t, misfitsOfKey.For(name+tool.Get("inputSchema").Raw), func() []schema.InvalidArguments {
		return MisfitsOf(tool, Generator(t, tool), t.Config().Arguments(name))
	})
}

// dialectal are the keywords that draft-07 and 2020-12 do not share, or not with
// the same meaning.
var dialectal = []string{
	"items", "additionalItems", "minContains", "maxContains", "dependencies", "dependentRequired", "unevaluatedItems",
	"unevaluatedProperties",
}

// MisfitsOf returns arguments that each break one constraint of the inputSchema
// of a tool, whichever of the two dialects in use it is read by: what depends on
// the dialect has checks of its own.
func MisfitsOf(tool gjson.Result, g *schema.Generator, given []string) []schema.InvalidArguments {
	input := []byte(tool.Get("inputSchema").Raw)
	own, err := schema.CompileTool(input)
	if err != nil || g == nil {
		return nil
	}
	var bases [][]byte
	for _, args := range given {
		bases = append(bases, []byte(args))
	}
	all, err := g.Invalid(rand.New(rand.NewPCG(1, 0)), misfitsMade, bases...)
	if err != nil {
		return nil
	}
	readings := []*schema.ToolSchema{own}
	for _, dialect := range []string{Draft07, Draft2020} {
		if dialect == own.Dialect() {
			continue
		}
		if other, err := RecompileAs(input, dialect); err == nil {
			readings = append(readings, other)
		}
	}
	return slices.DeleteFunc(all, func(m schema.InvalidArguments) bool {
		return slices.Contains(dialectal, m.Keyword) || slices.ContainsFunc(readings, func(s *schema.ToolSchema) bool {
			before, err := s.Validate(m.Base)
			after, alsoErr := s.Validate(m.JSON)
			return err != nil || alsoErr != nil || !slices.ContainsFunc(after, func(v schema.Violation) bool {
				return !slices.Contains(before, v)
			})
		})
	})
}
