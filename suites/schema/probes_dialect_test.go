package schema

import (
	"math/rand/v2"
	"strings"
	"testing"

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
		pairs := dialectPairs([]byte(c.schema), argumentsFor(t, c.schema), c.other)
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

// argumentsFor returns arguments that fit an inputSchema: with required members only,
// and with all members.
func argumentsFor(t *testing.T, inputSchema string) (all []string) {
	t.Helper()
	g, err := schema.NewGenerator([]byte(inputSchema))
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range []schema.Style{schema.RequiredOnly, schema.AllMembers} {
		args, err := g.Valid(rand.New(rand.NewPCG(1, 0)), style)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(args))
	}
	return all
}
