package offer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/memo"
	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Arguments returns different arguments for a tool, at most so many: those of the user
// and, if the tool may be called with others, the examples of its schema and generated
// ones without and with optional members. It returns none if none can be made.
func Arguments(t *check.T, tool gjson.Result, most int) []string {
	out := slices.Clone(t.Config().Arguments(tool.Get("name").String()))
	if t.Config().MayInvent(tool) {
		out = append(out, MakeArguments(t, tool, most)...)
	}
	return distinct(out, most)
}

// madeArguments holds what makeArguments returned: in a run every revision lists the
// same tools.
var madeArguments = memo.Cache[[]string]{MaxResults: 128}

// MakeArguments returns the examples of the inputSchema of a tool and arguments that
// fit it, at most so many. They must not be changed.
func MakeArguments(t *check.T, tool gjson.Result, most int) []string {
	if !allowsArguments(t, tool) {
		return nil
	}
	input := tool.Get("inputSchema").Raw
	made, _ := madeArguments.Get(fmt.Sprint(most, " ", input), func() ([]string, error) {
		return makeArguments(input, most), nil
	})
	return made
}

// makeArguments returns the examples of an inputSchema and arguments that fit it.
func makeArguments(inputSchema string, most int) []string {
	g, err := schema.NewGenerator([]byte(inputSchema))
	if err != nil {
		return nil
	}
	var out []string
	for _, raw := range g.Examples() {
		out = append(out, string(raw))
	}
	for i := range uint64(4 * most) {
		raw, err := g.Valid(rand.New(rand.NewPCG(1, i/2)), []schema.Style{schema.RequiredOnly, schema.AllMembers}[i%2])
		if err != nil {
			break // both styles fail together
		}
		out = append(out, string(raw))
		if out = distinct(out, most); len(out) == most {
			break
		}
	}
	return distinct(out, most)
}

// maxSchemasGivenUp bounds the schemas for which no arguments could be made within the
// allowed steps. After that no others are tried: a hostile server may list thousands.
const maxSchemasGivenUp = 5

var schemasGivenUpKey = check.NewKey[*int]("schemas given up")

var allowsArgumentsKey = check.NewKey[bool]("arguments can be made")

// allowsArguments reports whether arguments can be made for a tool within the allowed
// steps.
func allowsArguments(t *check.T, tool gjson.Result) bool {
	input := tool.Get("inputSchema").Raw
	givenUp := check.Once(t, schemasGivenUpKey, func() *int { return new(int) })
	return check.Once(t, allowsArgumentsKey.For(input), func() bool {
		if *givenUp == maxSchemasGivenUp {
			return false
		}
		g, err := schema.NewGenerator([]byte(input))
		if err != nil {
			return false
		}
		var not *schema.NotJudgedError
		if _, err := g.Valid(rand.New(rand.NewPCG(1, 0)), schema.RequiredOnly); errors.As(err, &not) {
			*givenUp++
			return false
		}
		return true
	})
}

// CallParams returns the params of tools/call with arguments given as JSON.
func CallParams(tool gjson.Result, arguments string) check.Params {
	return check.Params{"name": tool.Get("name").String(), "arguments": json.RawMessage(arguments)}
}
