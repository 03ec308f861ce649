package schema

import (
	"testing"

	"github.com/tidwall/gjson"
)

const draft07 = `"$schema":"http://json-schema.org/draft-07/schema#"`

// keywordSchemas has each keyword that constrains a value at least once, beside
// keywords that make it hard to fit.
var keywordSchemas = []struct{ name, schema string }{
	{"enum of all types", `{"properties":{"a":{"enum":["x",1,null,true,[1],{"k":"v"}]}},"required":["a"]}`},
	{"enum under type", `{"properties":{"a":{"type":"string","enum":[1,"x",null]}},"required":["a"]}`},
	{"const object", `{"properties":{"a":{"const":{"k":[1,2]}}},"required":["a"]}`},
	{"integer between", `{"properties":{"a":{"type":"integer","exclusiveMinimum":9,"maximum":10}},"required":["a"]}`},
	{"negative numbers",
		`{"properties":{"a":{"type":"integer","minimum":-20,"maximum":-10,"multipleOf":7}},"required":["a"]}`},
	{"fraction",
		`{"properties":{"a":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.001}},"required":["a"]}`},
	{"cents", `{"properties":{"a":{"type":"number","multipleOf":0.05,"minimum":0.07,"maximum":0.12}},"required":` +
		`["a"]}`},
	{"two multiples",
		`{"properties":{"a":{"type":"integer","allOf":[{"multipleOf":4},{"multipleOf":6}],"minimum":13}},"required":` +
			`["a"]}`},
	{"large", `{"properties":{"a":{"type":"integer","minimum":9007199254740993}},"required":["a"]}`},
	{"lengths of runes",
		`{"properties":{"a":{"type":"string","minLength":3,"maxLength":3,"enum":["äöü","ab"]}},"required":["a"]}`},
	{"pattern", `{"properties":{"a":{"type":"string","pattern":"^(?:[A-Z]{2,3}-)?[0-9]{4,}$","minLength":12,` +
		`"maxLength":14}},"required":["a"]}`},
	{"pattern unanchored", `{"properties":{"a":{"type":"string","pattern":"[!?]","minLength":10}},"required":["a"]}`},
	{"pattern alternatives",
		`{"properties":{"a":{"type":"string","pattern":"^(GET|POST|DELETE)$","minLength":5}},"required":["a"]}`},
	{"pattern negated", `{"properties":{"a":{"type":"string","pattern":"^[^a-z\\s/]+$"}},"required":["a"]}`},
	{"pattern of ECMA", `{"properties":{"a":{"type":"string","pattern":"^\\u0023[0-9a-fA-F]{6}$"}},"required":["a"]}`},
	{"two patterns",
		`{"properties":{"a":{"type":"string","allOf":[{"pattern":"^ab"},{"pattern":"yz$"}],"minLength":6}},` +
			`"required":["a"]}`},
	{"pattern and format",
		`{"properties":{"a":{"type":"string","format":"uri","pattern":"^https://","maxLength":30}},"required":["a"]}`},
	{"format too long", `{"properties":{"a":{"type":"string","format":"uuid","maxLength":8}},"required":["a"]}`},
	{"items", `{"properties":{"a":{"type":"array","items":{"type":"integer","minimum":3},"minItems":2,"maxItems":3}},` +
		`"required":["a"]}`},
	{"unique of few",
		`{"properties":{"a":{"type":"array","items":{"enum":["x","y","z"]},"minItems":3,"uniqueItems":true}},` +
			`"required":["a"]}`},
	{"unique integers",
		`{"properties":{"a":{"type":"array","items":{"type":"integer","minimum":1,"maximum":5},"minItems":5,` +
			`"uniqueItems":true}},"required":["a"]}`},
	{"unique objects",
		`{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}},"required":` +
			`["k"]},"minItems":3,"uniqueItems":true}},"required":["a"]}`},
	{"prefixItems",
		`{"properties":{"a":{"type":"array","prefixItems":[{"const":"x"},{"type":"boolean"}],"items":false,` +
			`"minItems":2}},"required":["a"]}`},
	{"prefixItems and rest",
		`{"properties":{"a":{"prefixItems":[{"const":"x"}],"items":{"type":"null"},"minItems":3}},"required":["a"]}`},
	{"items list of draft-07", `{` + draft07 +
		`,"properties":{"a":{"type":"array","items":[{"const":1},{"type":"string"}],"additionalItems":{"type":` +
		`"boolean"},"minItems":4}},"required":["a"]}`},
	{"closed items of draft-07", `{` + draft07 +
		`,"properties":{"a":{"type":"array","items":[{"const":1}],"additionalItems":false,"minItems":1}},"required":` +
		`["a"]}`},
	{"contains",
		`{"properties":{"a":{"type":"array","items":{"type":"integer"},"contains":{"minimum":100},"minItems":2}},` +
			`"required":["a"]}`},
	{"contains some",
		`{"properties":{"a":{"type":"array","contains":{"const":"x"},"minContains":2,"maxContains":3,"minItems":5}},` +
			`"required":["a"]}`},
	{"contains none",
		`{"properties":{"a":{"type":"array","items":{"enum":["x","y"]},"contains":{"const":"x"},"minContains":0,` +
			`"maxContains":0,"minItems":2}},"required":["a"]}`},
	{"contains behind prefix",
		`{"properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"contains":{"type":"integer"}}},` +
			`"required":["a"]}`},
	{"two contains",
		`{"properties":{"a":{"type":"array","allOf":[{"contains":{"const":1}},{"contains":{"const":2}}]}},"required":` +
			`["a"]}`},
	{"unevaluatedItems",
		`{"properties":{"a":{"type":"array","prefixItems":[{"const":1}],"minItems":1,"unevaluatedItems":false}},` +
			`"required":["a"]}`},
	{"additionalProperties",
		`{"properties":{"a":{"type":"object","additionalProperties":{"type":"integer"},"minProperties":2,` +
			`"maxProperties":3}},"required":["a"]}`},
	{"patternProperties",
		`{"properties":{"a":{"type":"object","patternProperties":{"^x-[a-z]{2}$":{"type":"boolean"}},` +
			`"additionalProperties":false,"minProperties":2}},"required":["a"]}`},
	{"overlapping patterns",
		`{"properties":{"ab":{"type":"integer"}},"patternProperties":{"^a":{"minimum":5},"b$":{"maximum":6}},` +
			`"required":["ab"]}`},
	{"propertyNames",
		`{"properties":{"a":{"type":"object","propertyNames":{"pattern":"^[A-Z]{3}$"},"minProperties":2}},"required":` +
			`["a"]}`},
	{"propertyNames enum",
		`{"properties":{"a":{"type":"object","propertyNames":{"enum":["x","y"]},"additionalProperties":{"type":` +
			`"number"},"minProperties":1}},"required":["a"]}`},
	{"maxProperties",
		`{"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},"maxProperties":2}`},
	{"dependentRequired",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"required":["a"],` +
			`"dependentRequired":{"a":["b"],"b":["c"]}}`},
	{"dependentSchemas",
		`{"properties":{"a":{"type":"string"}},"required":["a"],"dependentSchemas":{"a":{"properties":{"b":{"const":` +
			`7}},"required":["b"]}}}`},
	{"dependencies", `{` + draft07 +
		`,"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"],"dependencies":{"a":["c"],` +
		`"b":{"required":["d"]}}}`},
	{"unevaluatedProperties",
		`{"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]}],"properties":{"b":{"type":"string"}},` +
			`"unevaluatedProperties":false}`},
	{"unevaluated with schema",
		`{"properties":{"a":true},"minProperties":2,"unevaluatedProperties":{"type":"integer"}}`},
	{"anyOf of shapes",
		`{"properties":{"a":{"anyOf":[{"type":"string","minLength":2},{"type":"array","items":{"type":"string"},` +
			`"minItems":1},{"type":"null"}]}},"required":["a"]}`},
	{"anyOf of members",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`},
	{"oneOf of members",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}],` +
			`"additionalProperties":false}`},
	{"oneOf that overlaps",
		`{"properties":{"a":{"oneOf":[{"type":"integer","multipleOf":3},{"type":"integer","multipleOf":5}]}},` +
			`"required":["a"]}`},
	{"oneOf by kind",
		`{"properties":{"a":{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number",` +
			`"exclusiveMinimum":0}},"required":["kind","r"]},{"type":"object","properties":{"kind":{"const":"box"},` +
			`"w":` +
			`{"type":"integer"}},"required":["kind","w"],"additionalProperties":false}]}},"required":["a"]}`},
	{"one possible branch",
		`{"properties":{"a":{"type":"integer","anyOf":[{"type":"string"},{"type":"array"},{"type":"object"},{"type":` +
			`"null"},{"minimum":40}]}},"required":["a"]}`},
	{"allOf merged",
		`{"properties":{"a":{"allOf":[{"type":"integer","minimum":3},{"maximum":5},{"not":{"const":4}}]}},"required":` +
			`["a"]}`},
	{"not", `{"properties":{"a":{"type":"string","not":{"enum":["text","a"]}}},"required":["a"]}`},
	{"not required",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"not":{"required":["a","b"]},"minProperties":1}`},
	{"not type", `{"properties":{"a":{"not":{"type":["string","object"]}}},"required":["a"]}`},
	{"if then else",
		`{"properties":{"kind":{"enum":["file","text"]},"path":{"type":"string"},"text":{"type":"string"}},` +
			`"required":["kind"],"if":{"properties":{"kind":{"const":"file"}},"required":["kind"]},"then":` +
			`{"required":` +
			`["path"]},"else":{"required":["text"]}}`},
	{"if then", `{"properties":{"n":{"type":"integer"}},"required":["n"],"if":{"properties":{"n":{"minimum":10}}},` +
		`"then":{"properties":{"n":{"multipleOf":10}}}}`},
	{"two conditions",
		`{"properties":{"k":{"enum":["a","b","c"]}},"required":["k"],"allOf":[{"if":{"properties":{"k":{"const":` +
			`"a"}}},"then":{"required":["x"]}},{"if":{"properties":{"k":{"const":"b"}}},"then":{"required":["y"]},` +
			`"else":` +
			`{"required":["z"]}}]}`},
	{"ref into defs",
		`{"properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"type":"integer","minimum":5}}}`},
	{"ref beside keywords",
		`{"properties":{"a":{"$ref":"#/$defs/A","maximum":6}},"required":["a"],"$defs":{"A":{"type":"integer",` +
			`"minimum":5}}}`},
	{"ref into definitions", `{` + draft07 +
		`,"properties":{"a":{"$ref":"#/definitions/A","maximum":1}},"required":["a"],"definitions":{"A":{"type":` +
		`"integer","minimum":5}}}`},
	{"anchor", `{"properties":{"a":{"$ref":"#here"}},"required":["a"],"$defs":{"A":{"$anchor":"here","const":5}}}`},
	{"id", `{"$id":"https://example.com/tool","properties":{"a":{"$ref":"part"}},"required":["a"],"$defs":{"A":` +
		`{"$id":"https://example.com/part","type":"boolean"}}}`},
	{"id as anchor", `{` + draft07 +
		`,"properties":{"a":{"$ref":"#here"}},"required":["a"],"definitions":{"A":{"$id":"#here","const":5}}}`},
	{"recursive tree",
		`{"properties":{"root":{"$ref":"#/$defs/node"}},"required":["root"],"$defs":{"node":{"type":"object",` +
			`"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},` +
			`"required":["name","children"],"additionalProperties":false}}}`},
	{"recursive union",
		`{"properties":{"e":{"$ref":"#/$defs/e"}},"required":["e"],"$defs":{"e":{"oneOf":[{"type":"object",` +
			`"properties":{"left":{"$ref":"#/$defs/e"},"right":{"$ref":"#/$defs/e"}},"required":["left","right"]},` +
			`{"type":"number"}]}}}`},
	{"dynamicRef",
		`{"properties":{"a":{"$dynamicRef":"#node"}},"required":["a"],"$defs":{"n":{"$dynamicAnchor":"node","type":` +
			`"object","properties":{"v":{"type":"integer"}},"required":["v"]}}}`},
	{"boolean schemas", `{"properties":{"a":true,"b":false},"required":["a"]}`},
	{"type list",
		`{"properties":{"a":{"type":["integer","null","boolean"]},"b":{"type":["null"]}},"required":["a","b"]}`},
	{"required and undescribed", `{"required":["a"],"additionalProperties":{"type":"integer","minimum":9}}`},
	{"example of the whole",
		`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"examples":[{"q":` +
			`"from the example"}]}`},
	{"example that does not fit",
		`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"examples":[{"q":1},{}],"default":5}`},
	{"base64", `{"properties":{"a":{"type":"string","contentEncoding":"base64"}},"required":["a"]}`},
	{"type implied",
		`{"properties":{"a":{"minimum":5},"b":{"minItems":2},"c":{"minProperties":1},"d":{"minLength":9}},"required":` +
			`["a","b","c","d"]}`},
	{"exclusive bounds of draft-04",
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"type":"number","minimum":5,` +
			`"exclusiveMinimum":true,"maximum":6,"exclusiveMaximum":true}},"required":["n"]}`},
	{"members that exclude another",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"dependentSchemas":{"a":` +
			`{"properties":{"b":false}}}}`},
	{"long list of required members",
		`{"required":["a","b","c","d","e","f","g","h","i","j","k","l"],"additionalProperties":{"oneOf":[{"type":` +
			`"integer"},{"type":"number","maximum":4}]}}`},
}

func TestArgumentsFitEveryKeyword(t *testing.T) {
	for _, c := range keywordSchemas {
		name, in := c.name, c.schema
		g, err := NewGenerator([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tool, err := CompileToolAnyDialect([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		for _, style := range []Style{RequiredOnly, AllMembers, RandomMembers} {
			for seed := range uint64(20) {
				args, err := g.Valid(seeded(seed), style)
				if err != nil {
					t.Errorf("%s, style %d, seed %d: %v", name, style, seed, err)
					break
				}
				if broken, err := tool.Validate(args); err != nil || len(broken) > 0 ||
					!gjson.ParseBytes(args).IsObject() {
					t.Errorf("%s, style %d, seed %d: %s: %v, %v", name, style, seed, args, broken, err)
				}
			}
			// A source that always returns the same number must suffice.
			if _, err := g.Valid(zeroSource{}, style); err != nil {
				t.Errorf("%s, style %d, all choices 0: %v", name, style, err)
			}
		}
	}
}
