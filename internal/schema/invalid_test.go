package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestInvalidArgumentsHaveAReason(t *testing.T) {
	g, err := NewGenerator([]byte(
		`{"type":"object","properties":{"q":{"type":"string","minLength":1,"maxLength":5},"limit":{"type":"integer",` +
			`"minimum":1,"maximum":50}},"required":["q"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.Invalid(zeroSource{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		got = append(got, m.Why+"  "+string(m.JSON))
	}
	want := []string{
		`required: /q is missing  {}`,
		`additionalProperties: /mcpcheck is not allowed  {"mcpcheck":"mcpcheck","q":"text"}`,
		`type: /q is an object, not a string  {"q":{"mcpcheck":[null]}}`,
		`minLength: /q is shorter than 1 character  {"q":""}`,
		`maxLength: /q is longer than 5 characters  {"q":"textxx"}`,
		`minimum: /limit is 0, less than 1  {"limit":0,"q":"text"}`,
		`maximum: /limit is 51, more than 50  {"limit":51,"q":"text"}`,
		`type: /limit is a string, not an integer  {"limit":"mcpcheck","q":"text"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("invalid arguments:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if few, _ := g.Invalid(zeroSource{}, 3); len(few) != 3 || few[2].Keyword != "type" {
		t.Errorf("three invalid arguments, want a keyword each: %v", few)
	}
}

// misfitsOfKeywords are schemas with the beginning of invalid arguments: keyword, path
// and arguments.
var misfitsOfKeywords = []struct{ in, want string }{
	{`{"properties":{"a":{"type":"string"}}}`, `type /a {"a":{"mcpcheck":[null]}}`},
	{`{"properties":{"a":{"enum":["x",1]}}}`, `enum /a {"a":"mcpcheck"}`},
	{`{"properties":{"a":{"type":"integer","enum":[1,2]}}}`, `enum /a {"a":987654321}`},
	{`{"properties":{"a":{"const":true}}}`, `const /a {"a":"mcpcheck"}`},
	{`{"properties":{"a":{"type":"integer","minimum":5}}}`, `minimum /a {"a":4}`},
	{`{"properties":{"a":{"maximum":5,"multipleOf":2}}}`, `maximum /a {"a":6}`},
	{`{"properties":{"a":{"type":"number","exclusiveMinimum":5}}}`, `exclusiveMinimum /a {"a":5}`},
	{`{"properties":{"a":{"type":"number","exclusiveMaximum":5.5}}}`, `exclusiveMaximum /a {"a":6}`},
	{`{"properties":{"a":{"type":"integer","multipleOf":5}}}`, `multipleOf /a {"a":6}`},
	{`{"properties":{"a":{"type":"string","minLength":3}}}`, `minLength /a {"a":"te"}`},
	{`{"properties":{"a":{"type":"string","maxLength":3}}}`, `maxLength /a {"a":"texx"}`},
	{`{"properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}}`, `pattern /a {"a":"MCPCHECK"}`},
	{`{"properties":{"a":{"type":"string","pattern":"^[0-9]+$","minLength":4}}}`, `pattern /a {"a":"mcpcheck"}`},
	{`{"properties":{"a":{"type":"array","minItems":2,"items":{"const":1}}}}`, `minItems /a {"a":[1]}`},
	{`{"properties":{"a":{"type":"array","maxItems":2,"items":{"const":1}}}}`, `maxItems /a {"a":[1,1,1]}`},
	{`{"properties":{"a":{"type":"array","minItems":1,"uniqueItems":true,"items":{"const":1}}}}`,
		`uniqueItems /a {"a":[1,1]}`},
	{`{"properties":{"a":{"type":"array","contains":{"const":1},"items":{"type":"integer"}}}}`,
		`contains /a {"a":[`},
	{`{"properties":{"a":{"type":"array","contains":{"const":1},"minContains":2,"items":{"const":1}}}}`,
		`minContains /a {"a":[]}`},
	{`{"properties":{"a":{"type":"array","contains":{"const":1},"minContains":0,"maxContains":1}}}`,
		`maxContains /a`},
	{`{"properties":{"a":{"type":"array","prefixItems":[{"const":1}],"items":false}}}`,
		`items /a/1 {"a":[1,"mcpcheck"]}`},
	{`{` + draft07 + `,"properties":{"a":{"type":"array","items":[{"const":1}],"additionalItems":false}}}`,
		`additionalItems /a {"a":[1,"mcpcheck"]}`},
	{`{"properties":{"a":{"type":"array","prefixItems":[{"const":1}],"unevaluatedItems":false}}}`,
		`unevaluatedItems /a/1 {"a":[1,"mcpcheck"]}`},
	{`{"required":["a/b"]}`, `required /a~1b {}`},
	{`{"additionalProperties":false}`, `additionalProperties /mcpcheck {"mcpcheck":"mcpcheck"}`},
	{`{"unevaluatedProperties":false}`, `unevaluatedProperties /mcpcheck {"mcpcheck":"mcpcheck"}`},
	{`{"properties":{"a":false}}`, `properties /a {"a":"mcpcheck"}`},
	{`{"propertyNames":{"pattern":"^x"}}`, `propertyNames  {"mcpcheck":"text"}`},
	{`{"minProperties":1}`, `minProperties  {}`},
	{`{"maxProperties":1}`, `maxProperties  {"mcpcheck1":"text","mcpcheck2":"text"}`},
	{`{"required":["a"],"dependentRequired":{"a":["b"]}}`, `dependentRequired /b {"a":"text"}`},
	{`{` + draft07 + `,"required":["a"],"dependencies":{"a":["b"]}}`, `dependencies /b {"a":"text"}`},
	{`{"required":["a"],"dependentSchemas":{"a":{"required":["c"]}}}`, `required /c {"a":"text"}`},
	{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `anyOf /a {"a":"mcpcheck"}`},
	{`{"properties":{"a":{"oneOf":[{"type":"integer"},{"minimum":5}]}},"required":["a"]}`, `oneOf /a {"a":5}`},
	{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `anyOf  {}`},
	{`{"properties":{"a":{"type":"string","not":{"const":"no"}}}}`, `not /a {"a":"no"}`},
	{`{"required":["k"],"properties":{"k":{"const":"x"}},"if":{"required":["k"]},"then":{"required":["path"]}}`,
		`required /path {"k":"x"}`},
	{`{"required":["k"],"if":{"properties":{"k":{"const":"x"}}},"else":{"properties":{"k":{"type":"integer"}}}}`,
		`type /k {"k":"mcpcheck"}`},
	{`{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer"}},` +
		`"required":["b"]}}}}`, `required /a/0/b {"a":[{}]}`},
	{`{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"b":{"maximum":3}}}}}`,
		`maximum /a/b {"a":{"b":4}}`},
	{`{"properties":{"a":{"oneOf":[{"type":"object","properties":{"kind":{"const":"k"},"n":{"type":"integer"}},` +
		`"required":["kind","n"]},{"type":"string"}]}}}`, `required /a/n {"a":{"kind":"k"}}`},
	{`{"patternProperties":{"^x-":{"type":"integer"}},"required":["x-a"]}`, `type /x-a {"x-a":"mcpcheck"}`},
}

// Invalid arguments violate each keyword separately, also in a nested schema or a branch.
func TestInvalidArgumentsBreakEveryKeyword(t *testing.T) {
	for _, c := range misfitsOfKeywords {
		in, want := c.in, c.want
		g, err := NewGenerator([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		var got []string
		for _, src := range []Source{zeroSource{}, seeded(3)} {
			all, err := g.Invalid(src, 1000)
			if err != nil {
				t.Errorf("%s: %v", in, err)
			}
			for _, m := range all {
				got = append(got, m.Keyword+" "+m.Path+" "+string(m.JSON))
			}
		}
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("%s: no invalid arguments %s among\n%s", in, want, strings.Join(got, "\n"))
		}
	}
}

// InvalidArguments that a server may repair are marked, and none breaks a format.
func TestRepairableArgumentsAreMarked(t *testing.T) {
	g, err := NewGenerator([]byte(
		`{"properties":{"a":{"type":"string","format":"email"},"n":{"type":"integer","default":3},"l":{"type":` +
			`"array","uniqueItems":true,"minItems":1,"items":{"type":"string"}}},"required":["a","n","l"],` +
			`"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.Invalid(seeded(1), 1000)
	if err != nil {
		t.Fatal(err)
	}
	mends := map[string]bool{"required /n": true, "additionalProperties /mcpcheck": true, "uniqueItems /l": true}
	for _, m := range all {
		if got := m.Keyword + " " + m.Path; m.Repairable != mends[got] || m.Keyword == "format" {
			t.Errorf("%s: repairable is %v", got, m.Repairable)
		}
	}
	if len(all) < 9 {
		t.Errorf("only %d invalid arguments", len(all))
	}
}

func TestInvalidArgumentsAreMadeFromGivenArguments(t *testing.T) {
	g, err := NewGenerator([]byte(`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.Invalid(seeded(1), 3, []byte(`{"a":1}`), []byte(`{"a":"given","b":7}`), []byte(`nothing`))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if v := gjson.ParseBytes(m.JSON); v.Get("a").String() != "given" && v.Get("b").Int() != 7 {
			t.Errorf("%s is not derived from the given arguments", m.JSON)
		}
	}
}

func TestSchemaWithoutConstraintsHasNoInvalidArguments(t *testing.T) {
	for _, in := range []string{`{"type":"object"}`, `true`, `{"properties":{"a":{"format":"email"},"b":{}}}`} {
		g, err := NewGenerator([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if all, err := g.Invalid(seeded(1), 10); err != nil || len(all) > 0 {
			t.Errorf("%s: %v, %v", in, all, err)
		}
	}
}

func TestInvalidArgumentsNameTheirCombinator(t *testing.T) {
	g, err := NewGenerator([]byte(
		`{"required":["k"],"properties":{"k":{"type":"string"},"u":{"oneOf":[{"type":"object","required":["v"]},` +
			`{"type":"null"}]}},"if":{"required":["k"]},"then":{"required":["t"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.Invalid(seeded(1), 1000)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range all {
		got[m.Keyword+" "+m.Path] = m.Combinator
	}
	for _, want := range [][2]string{{"type /k", ""}, {"required /t", "then"}, {"required /u/v", "oneOf"},
		{"oneOf /u", ""}} {
		if under, ok := got[want[0]]; !ok || under != want[1] {
			t.Errorf("%s is under %q, want %q (%v)", want[0], under, want[1], got)
		}
	}
}
