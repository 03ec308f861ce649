package schema

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestArgumentsFitTheInputSchema(t *testing.T) {
	for _, c := range []struct{ name, in string }{
		{"none", `{"type":"object"}`},
		{"required",
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}},` +
				`"required":["a","b","c"]}`},
		{"enum", `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"const":5}},"required":["a","b"]}`},
		{"bounds", `{"type":"object","properties":{"a":{"type":"number","minimum":0.1,"maximum":0.2},"b":{"type":` +
			`"integer","minimum":10,"maximum":12},"c":{"type":"integer","exclusiveMinimum":4,"exclusiveMaximum":6},` +
			`"d":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}},"required":["a","b","c","d"]}`},
		{"multiple",
			`{"type":"object","properties":{"a":{"type":"integer","multipleOf":7,"maximum":13}},"required":["a"]}`},
		{"lengths", `{"type":"object","properties":{"a":{"type":"string","minLength":30,"maxLength":31},"b":{"type":` +
			`"string","maxLength":2}},"required":["a","b"]}`},
		{"formats", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":` +
			`"string","format":"uri"},"b":{"type":"string","format":"email"},"c":{"type":"string","format":` +
			`"date-time"}},"required":["a","b","c"]}`},
		{"arrays", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"minItems":3,` +
			`"maxItems":4,"uniqueItems":true}},"required":["a"]}`},
		{"nested", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":` +
			`{"type":"object","properties":{"c":{"type":"null"}},"required":["c"]},"minItems":1}},"required":["b"]}},` +
			`"required":["a"]}`},
		{"ref", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"type":` +
			`"object","properties":{"k":{"$ref":"#/$defs/B~1C"}},"required":["k"]},"B/C":{"type":"integer","minimum":` +
			`3}}}`},
		{"recursive", `{"type":"object","properties":{"next":{"$ref":"#"},"v":{"type":"string"}},"required":["v"]}`},
		{"anyOf", `{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},"b":{"oneOf":` +
			`[{"type":"string"},{"type":"integer"}]}},"required":["a","b"]}`},
		{"allOf", `{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":` +
			`{"b":{"type":"string"}},"required":["b"]}]}`},
		{"nullable", `{"type":"object","properties":{"a":{"type":["null","string"]}},"required":["a"]}`},
		{"undescribed", `{"type":"object","required":["a"]}`},
		{"closed", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"required":` +
			`["a"]}`},
		{"minProperties", `{"type":"object","properties":{"a":{"type":"string"}},"minProperties":1}`},
		{"patterns",
			`{"type":"object","properties":{"a":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},"b":` +
				`{"type":"string","pattern":"^[a-z]+$","minLength":40}},"required":["a","b"]}`},
		{"misfit default",
			`{"type":"object","properties":{"a":{"type":"string","default":null},"b":{"type":"integer","examples":` +
				`["x"]}},"required":["a","b"]}`},
		{"draft-04 bounds",
			`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":` +
				`"integer","minimum":5,"exclusiveMinimum":true}},"required":["n"]}`},
	} {
		name, in := c.name, c.in
		for seed := range uint64(5) {
			out, err := MakeArguments(seeded(seed), []byte(in))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if !gjson.ParseBytes(out).IsObject() {
				t.Errorf("%s: %s is no object", name, out)
			}
		}
	}
}

func TestArgumentsUseExamplesAndDefaults(t *testing.T) {
	const in = `{"type":"object","properties":{"a":{"type":"string","default":"d","enum":["x","d"]},"b":{"type":` +
		`"integer","examples":[41,42]}},"required":["a","b"]}`
	for seed := range uint64(5) {
		out, err := MakeArguments(seeded(seed), []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		v := gjson.ParseBytes(out)
		if v.Get("a").Str != "d" || v.Get("b").Int() != 41 && v.Get("b").Int() != 42 {
			t.Errorf("%s", out)
		}
	}
}

func TestImpossibleArgumentsAreAnError(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"type":"object","properties":{"a":false},"required":["a"]}`, "no finite value fits"},
		{`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, "no finite value fits"},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"^a$","minLength":2}},"required":["a"]}`,
			"no value was found"},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)"}},"required":["a"]}`, "not judged"},
		{`{"type":"array"}`, "requires an array"},
		{`{"type":"strin"}`, "not a valid schema"},
		{`{"$ref":"https://example.com/x"}`, "is to a place outside of the schema"},
		{`{"type":"object","not":{"type":"object"}}`, "breaks not"},
	} {
		in, want := c.in, c.want
		if out, err := MakeArguments(seeded(1), []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, error %v, want %s", in, out, err, want)
		}
	}
}

func TestExamplesReturnsValidExamples(t *testing.T) {
	g, err := NewGenerator([]byte(
		`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"default":{"n":1},"examples":[{"n":` +
			`2},{"n":"x"},3]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(bytes.Join(g.Examples(), []byte(" "))); got != `{"n":1} {"n":2}` {
		t.Errorf("proposed: %s", got)
	}
}

// The same source gives the same arguments, and a source of zeros the simplest.
func TestSameSourceGivesSameArguments(t *testing.T) {
	for _, c := range keywordSchemas {
		name, in := c.name, c.schema
		g, err := NewGenerator([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		for _, style := range []Style{RequiredOnly, AllMembers, RandomMembers} {
			one, err := g.Valid(seeded(7), style)
			two, again := g.Valid(seeded(7), style)
			if err != nil || again != nil || !bytes.Equal(one, two) {
				t.Errorf("%s: %s and %s of one seed (%v, %v)", name, one, two, err, again)
			}
		}
	}
	args, err := MakeArguments(zeroSource{},
		[]byte(`{"properties":{"n":{"type":"integer"},"s":{"type":"string"},"b":{"type":"boolean"},"l":{"type":`+
			`"array"},"more":{}},"required":["n","s","b","l"]}`))
	if want := `{"b":false,"l":[],"n":1,"s":"text"}`; err != nil || string(args) != want {
		t.Errorf("the simplest arguments are %s, want %s (%v)", args, want, err)
	}
}

func TestFullArgumentsHaveEveryDescribedMember(t *testing.T) {
	g, err := NewGenerator([]byte(
		`{"properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"c":{"type":"array","items":{"type":` +
			`"object","properties":{"d":{"type":"integer"}}}}}},"no":false}}`))
	if err != nil {
		t.Fatal(err)
	}
	args, err := g.Valid(zeroSource{}, AllMembers)
	if want := `{"a":"text","b":{"c":[{"d":1}]}}`; err != nil || string(args) != want {
		t.Errorf("%s, want %s (%v)", args, want, err)
	}
}

// Arguments use every branch of a union and both branches of a condition.
func TestArgumentsUseEveryBranch(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"boolean"}]}},"required":["a"]}`,
			[]string{"a.1", "a.string", "a.boolean"}},
		{`{"properties":{"a":{"oneOf":[{"const":1},{"const":2},{"const":3},{"const":4}]}},"required":["a"]}`,
			[]string{"1", "2", "3", "4"}},
		{`{"properties":{"k":{"enum":["x","y"]}},"required":["k"],"if":{"properties":{"k":{"const":"x"}}},"then":` +
			`{"required":["then"]},"else":{"required":["else"]}}`,
			[]string{"then", "else"}},
		{`{"properties":{"a":{"type":["string","integer","array"]}},"required":["a"]}`,
			[]string{`:"`, `:1`, `:[`}},
	} {
		in, want := c.in, c.want
		g, err := NewGenerator([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for seed := range uint64(40) {
			args, err := g.Valid(seeded(seed), RequiredOnly)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(args)
			if v := gjson.GetBytes(args, "a"); v.Exists() {
				all.WriteString("a." + wire.TypeName(v))
			}
		}
		for _, w := range want {
			w = strings.ReplaceAll(w, "a.1", "a number")
			w = strings.ReplaceAll(strings.ReplaceAll(w, "a.string", "a.a string"), "a.boolean", "a.a boolean")
			if !strings.Contains(all.String(), w) {
				t.Errorf("%s: no %s in %s", in, w, all.String())
			}
		}
	}
}

// The number of steps is bounded for every schema.
func TestArgumentsOfHostileSchemasAreBounded(t *testing.T) {
	var wide strings.Builder
	for i := range 40 {
		fmt.Fprintf(&wide, `,"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	var chain strings.Builder
	for i := range 2300 {
		fmt.Fprintf(&chain, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"}]}`, i, i+1)
	}
	for _, c := range []struct{ name, in string }{
		{"chain", `{"$ref":"#/$defs/d0","$defs":{"d2300":{"type":"object"}` + chain.String() + `}}`},
		{"large", `{"title":"` + strings.Repeat("x", maxGeneratorSchema) + `"}`},
		{"unions that double", `{"allOf":[{"$ref":"#/$defs/d0"}],"$defs":{"d40":{"not":{}}` + wide.String() + `}}`},
		{"parts that double",
			`{"required":["a"],"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{"d40":{"type":"string"}` +
				strings.ReplaceAll(wide.String(), "anyOf", "allOf") + `}}`},
		{"long array", `{"required":["a"],"properties":{"a":{"type":"array","minItems":1000000}}}`},
		{"long string", `{"required":["a"],"properties":{"a":{"type":"string","minLength":1000000000}}}`},
		{"many members", `{"minProperties":100000}`},
		{"nested arrays", `{"required":["a"],"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{"d9":{"type":"string"}` +
			nested(9) + `}}`},
		{"itself", `{"$ref":"#"}`},
		{"impossible",
			`{"required":["a"],"properties":{"a":{"allOf":[{"type":"integer","minimum":3},{"maximum":2}]}}}`},
		{"impossible and large",
			`{"minProperties":150,"additionalProperties":{"oneOf":[{"type":"integer"},{"type":"integer"}]}}`},
		{"tree of trees",
			`{"required":["a"],"properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":` +
				`{"l":{"$ref":"#/$defs/t"},"m":{"$ref":"#/$defs/t"},"n":{"$ref":"#/$defs/t"},"o":{"$ref":` +
				`"#/$defs/t"},` +
				`"p":{"$ref":"#/$defs/t"}}}}}`},
	} {
		name, in := c.name, c.in
		for _, style := range []Style{RequiredOnly, AllMembers, RandomMembers} {
			began := time.Now()
			g, err := NewGenerator([]byte(in))
			if err == nil {
				_, err = g.Valid(seeded(1), style)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s, style %d: %v after %v", name, style, err, took)
			}
			t.Logf("%s, style %d: %v: %v", name, style, time.Since(began), err)
		}
	}
}

// A recursion ends although its subschemas name no type.
func TestArgumentsOfRecursiveSchemaAreSmall(t *testing.T) {
	g, err := NewGenerator([]byte(
		`{"required":["e"],"properties":{"e":{"$ref":"#/$defs/e"}},"$defs":{"e":{"type":"object","oneOf":` +
			`[{"properties":{"args":{"type":"array","items":{"$ref":"#/$defs/e"},"minItems":2}},"required":["args"],` +
			`"additionalProperties":false},{"properties":{"leaf":{"const":1}},"required":["leaf"],` +
			`"additionalProperties":` +
			`false}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range []Style{RequiredOnly, AllMembers, RandomMembers} {
		for seed := range uint64(200) {
			if args, err := g.Valid(seeded(seed), style); err != nil || len(args) > 2000 {
				t.Fatalf("style %d, seed %d: %d bytes, %v", style, seed, len(args), err)
			}
		}
	}
}

// nested returns definitions, each of an array with ten items of the next.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"d%d":{"type":"array","minItems":10,"items":{"$ref":"#/$defs/d%d"}}`, i, i+1)
	}
	return b.String()
}

func TestGeneratorIsSafeForConcurrentUse(t *testing.T) {
	g, err := NewGenerator([]byte(
		`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]},"b":{"type":"array","items":{"type":` +
			`"string"},"uniqueItems":true,"minItems":2}},"required":["a","b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			want, err := g.Valid(seeded(seed), RandomMembers)
			for range 20 {
				got, again := g.Valid(seeded(seed), RandomMembers)
				if err != nil || again != nil || !bytes.Equal(got, want) {
					t.Errorf("%s and %s of one seed (%v, %v)", want, got, err, again)
				}
				if all, err := g.Invalid(seeded(seed), 5); err != nil || len(all) != 5 {
					t.Errorf("%d invalid arguments, %v", len(all), err)
				}
				g.Examples()
			}
		})
	}
	wg.Wait()
}
