package schema

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// Only what the one dialect forbids and the other does not tells by which of
// them a tool is held.
func TestTellingArgumentsDependOnTheDialect(t *testing.T) {
	for _, c := range []struct {
		name, schema, other string
		want                string // part of a forbidden variant; "" for no pairs
	}{
		{"plain keywords", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"},"minItems":1}},"required":["a","b"]}`, offer.Draft07, ""},
		{"dependentRequired", `{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},"required":["a"],"dependentRequired":{"a":["b"]}}`, offer.Draft07, `{"a":`},
		{"prefixItems", `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"minItems":1,"maxItems":1}},"required":["a"]}`, offer.Draft07, `{"a":[{"mcpcheck":[null]}]}`},
		{"minContains of draft-07", `{"$schema":"` + offer.Draft07 + `","type":"object","properties":{"a":{"type":"array","default":["x"],"contains":{"const":"x"},"minContains":0}},"required":["a"]}`, offer.Draft2020, `{"a":[]}`},
		{"plain keywords of draft-07", `{"$schema":"` + offer.Draft07 + `","type":"object","properties":{"a":{"type":"array","default":["x"],"contains":{"const":"x"}}},"required":["a"]}`, offer.Draft2020, ""},
	} {
		tool := gjson.Parse(`{"name":"t","inputSchema":` + c.schema + `}`)
		pairs := telling(tool, generatorOf(t, tool), c.other)
		switch {
		case c.want == "" && len(pairs) > 0:
			t.Errorf("%s: %v depends on the dialect?", c.name, pairs[0])
		case c.want != "" && len(pairs) == 0:
			t.Errorf("%s: no arguments are found that depend on the dialect", c.name)
		case c.want != "" && !strings.Contains(pairs[0].forbidden, c.want):
			t.Errorf("%s: %s lacks %s", c.name, pairs[0].forbidden, c.want)
		}
	}
}

func generatorOf(t *testing.T, tool gjson.Result) *schema.Generator {
	t.Helper()
	g, err := schema.NewGenerator([]byte(tool.Get("inputSchema").Raw))
	if err != nil {
		return nil
	}
	return g
}
