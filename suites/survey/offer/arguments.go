package offer

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Arguments returns different arguments for a tool, at most so many: those that
// the user gives, then, if manners allow any others, the examples of its schema
// and what is made from it, without and with the members that may be left out.
// There are none where none can be made.
func Arguments(t *check.T, tool gjson.Result, most int) []string {
	out := slices.Clone(t.Config().Arguments(tool.Get("name").String()))
	if t.Config().MayInvent(tool) {
		out = append(out, Made(Generator(t, tool), most)...)
	}
	return distinct(out, most)
}

// Made returns arguments that a generator proposes and makes; g may be nil.
func Made(g *schema.Generator, most int) []string {
	if g == nil {
		return nil
	}
	var out []string
	for _, raw := range g.Examples() {
		out = append(out, string(raw))
	}
	for i := range uint64(4 * most) {
		raw, err := g.Valid(rand.New(rand.NewPCG(1, i/2)), []schema.Style{schema.RequiredOnly, schema.AllMembers}[i%2])
		if err != nil {
			break // what fits one style fits the other
		}
		out = append(out, string(raw))
		if out = distinct(out, most); len(out) == most {
			break
		}
	}
	return distinct(out, most)
}

// maxSchemaTime is for how many schemas no arguments could be made within the steps
// that are spent on one, before others are no longer tried: a hostile server may
// list thousands.
const maxSchemaTime = 5

var schemasGivenUpKey = check.NewKey[*int]("schemas given up")

var generatorKey = check.NewKey[*schema.Generator]("generator")

// Generator returns what makes arguments for a tool, nil if its schema is not
// one to make any from.
func Generator(t *check.T, tool gjson.Result) *schema.Generator {
	input := tool.Get("inputSchema").Raw
	tired := check.Once(t, schemasGivenUpKey, func() *int { return new(int) })
	return check.Once(t, generatorKey.For(input), func() *schema.Generator {
		if *tired == maxSchemaTime {
			return nil
		}
		g, err := schema.NewGenerator([]byte(input))
		if err != nil {
			return nil
		}
		var not *schema.NotJudgedError
		if _, err := g.Valid(rand.New(rand.NewPCG(1, 0)), schema.RequiredOnly); errors.As(err, &not) {
			*tired++
			return nil
		}
		return g
	})
}

// CallParams are the params of tools/call with arguments given as JSON.
func CallParams(tool gjson.Result, arguments string) check.Params {
	return check.Params{"name": tool.Get("name").String(), "arguments": json.RawMessage(arguments)}
}
