package offer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/memo"
	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

const (
	Draft07   = "http://json-schema.org/draft-07/schema#"
	Draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// CompileAs compiles a schema as if it named another dialect.
func CompileAs(input []byte, dialect string) (*schema.ToolSchema, error) {
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

// Bounds of the calls with invalid arguments for one revision.
const (
	MaxInvalidCalls         = 36
	MaxInvalidCallsPerTool  = 8
	maxInvalidMade          = 60 // for each tool, before the selection
	MaxToolsCalledInvalidly = 40
)

var invalidArgumentsKey = check.NewKey[[]schema.InvalidArguments]("invalid arguments of")

// madeInvalid holds what makeInvalidArguments returned: in a run every revision lists
// the same tools.
var madeInvalid = memo.Cache[[]schema.InvalidArguments]{MaxResults: 128}

// InvalidArguments returns the invalid arguments for a tool, which are made once for
// this revision. They must not be changed.
func InvalidArguments(t *check.T, tool gjson.Result) []schema.InvalidArguments {
	name, input := tool.Get("name").String(), tool.Get("inputSchema").Raw
	return check.Once(t, invalidArgumentsKey.For(name+input), func() []schema.InvalidArguments {
		if !allowsArguments(t, tool) {
			return nil
		}
		given := t.Config().Arguments(name)
		made, _ := madeInvalid.Get(fmt.Sprintf("%q %s", given, input), func() ([]schema.InvalidArguments, error) {
			return makeInvalidArguments([]byte(input), given), nil
		})
		return made
	})
}

// dialectKeywords are the keywords that draft-07 and 2020-12 do not share, or that have
// another meaning in each.
var dialectKeywords = []string{
	"items", "additionalItems", "minContains", "maxContains", "dependencies", "dependentRequired", "unevaluatedItems",
	"unevaluatedProperties",
}

// makeInvalidArguments returns arguments that each break one constraint of an
// inputSchema in both common dialects. Other checks judge what depends on the dialect.
func makeInvalidArguments(input []byte, given []string) []schema.InvalidArguments {
	own, err := schema.CompileTool(input)
	if err != nil {
		return nil
	}
	g, err := schema.NewGenerator(input)
	if err != nil {
		return nil
	}
	var bases [][]byte
	for _, args := range given {
		bases = append(bases, []byte(args))
	}
	all, err := g.Invalid(rand.New(rand.NewPCG(1, 0)), maxInvalidMade, bases...)
	if err != nil {
		return nil
	}
	readings := []*schema.ToolSchema{own}
	for _, dialect := range []string{Draft07, Draft2020} {
		if dialect == own.Dialect() {
			continue
		}
		if other, err := CompileAs(input, dialect); err == nil {
			readings = append(readings, other)
		}
	}
	return slices.DeleteFunc(all, func(m schema.InvalidArguments) bool {
		if slices.Contains(dialectKeywords, m.Keyword) {
			return true
		}
		return slices.ContainsFunc(readings, func(s *schema.ToolSchema) bool {
			before, err := s.Validate(m.Base)
			after, alsoErr := s.Validate(m.JSON)
			return err != nil || alsoErr != nil || !slices.ContainsFunc(after, func(v schema.Violation) bool {
				return !slices.Contains(before, v)
			})
		})
	})
}
