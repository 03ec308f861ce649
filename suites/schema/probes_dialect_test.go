package schema

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// Only arguments that one dialect forbids and the other does not show by which dialect a
// server reads a schema.
func TestDialectPairsDependOnTheDialect(t *testing.T) {
	for _, c := range []struct {
		name, schema, other string
		want                string // part of a forbidden variant; "" for no pairs
	}{
		{
			"plain keywords",
			`{"type":"object","required":["a","b"],"properties":{` +
				`"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"},"minItems":1}}}`,
			offer.Draft07, "",
		},
		{
			"dependentRequired",
			`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},` +
				`"required":["a"],"dependentRequired":{"a":["b"]}}`,
			offer.Draft07, `{"a":`,
		},
		{
			"prefixItems",
			`{"type":"object","required":["a"],"properties":{` +
				`"a":{"type":"array","prefixItems":[{"type":"string"}],"minItems":1,"maxItems":1}}}`,
			offer.Draft07, `{"a":[{"mcpcheck":[null]}]}`,
		},
		{
			"minContains of draft-07",
			`{"$schema":"` + offer.Draft07 + `","type":"object","required":["a"],"properties":{` +
				`"a":{"type":"array","default":["x"],"contains":{"const":"x"},"minContains":0}}}`,
			offer.Draft2020, `{"a":[]}`,
		},
		{
			"plain keywords of draft-07",
			`{"$schema":"` + offer.Draft07 + `","type":"object","required":["a"],"properties":{` +
				`"a":{"type":"array","default":["x"],"contains":{"const":"x"}}}}`,
			offer.Draft2020, "",
		},
	} {
		tool := gjson.Parse(`{"name":"t","inputSchema":` + c.schema + `}`)
		pairs := dialectPairs(tool, generatorOf(tool), c.other)
		switch {
		case c.want == "" && len(pairs) > 0:
			t.Errorf("%s: %v is taken to depend on the dialect", c.name, pairs[0])
		case c.want != "" && len(pairs) == 0:
			t.Errorf("%s: no arguments are found that depend on the dialect", c.name)
		case c.want != "" && !strings.Contains(pairs[0].forbidden, c.want):
			t.Errorf("%s: %s lacks %s", c.name, pairs[0].forbidden, c.want)
		}
	}
}

// generatorOf returns a generator of arguments for a tool, or nil if its schema is none
// to make arguments from.
func generatorOf(tool gjson.Result) *schema.Generator {
	g, err := schema.NewGenerator([]byte(tool.Get("inputSchema").Raw))
	if err != nil {
		return nil
	}
	return g
}
