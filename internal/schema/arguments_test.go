package schema

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestArgumentsFitTheSchemaOfTheTool(t *testing.T) {
	for name, in := range map[string]string{
		"none":            `{"type":"object"}`,
		"required":        `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}},"required":["a","b","c"]}`,
		"enum":            `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"const":5}},"required":["a","b"]}`,
		"bounds":          `{"type":"object","properties":{"a":{"type":"number","minimum":0.1,"maximum":0.2},"b":{"type":"integer","minimum":10,"maximum":12},"c":{"type":"integer","exclusiveMinimum":4,"exclusiveMaximum":6},"d":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}},"required":["a","b","c","d"]}`,
		"multiple":        `{"type":"object","properties":{"a":{"type":"integer","multipleOf":7,"maximum":13}},"required":["a"]}`,
		"lengths":         `{"type":"object","properties":{"a":{"type":"string","minLength":30,"maxLength":31},"b":{"type":"string","maxLength":2}},"required":["a","b"]}`,
		"formats":         `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"email"},"c":{"type":"string","format":"date-time"}},"required":["a","b","c"]}`,
		"arrays":          `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"minItems":3,"maxItems":4,"uniqueItems":true}},"required":["a"]}`,
		"nested":          `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"null"}},"required":["c"]},"minItems":1}},"required":["b"]}},"required":["a"]}`,
		"ref":             `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"type":"object","properties":{"k":{"$ref":"#/$defs/B~1C"}},"required":["k"]},"B/C":{"type":"integer","minimum":3}}}`,
		"recursive":       `{"type":"object","properties":{"next":{"$ref":"#"},"v":{"type":"string"}},"required":["v"]}`,
		"anyOf":           `{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},"b":{"oneOf":[{"type":"string"},{"type":"integer"}]}},"required":["a","b"]}`,
		"allOf":           `{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
		"nullable":        `{"type":"object","properties":{"a":{"type":["null","string"]}},"required":["a"]}`,
		"undescribed":     `{"type":"object","required":["a"]}`,
		"closed":          `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"required":["a"]}`,
		"minProperties":   `{"type":"object","properties":{"a":{"type":"string"}},"minProperties":1}`,
		"patterns":        `{"type":"object","properties":{"a":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},"b":{"type":"string","pattern":"^[a-z]+$","minLength":40}},"required":["a","b"]}`,
		"misfit default":  `{"type":"object","properties":{"a":{"type":"string","default":null},"b":{"type":"integer","examples":["x"]}},"required":["a","b"]}`,
		"draft-04 bounds": `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"integer","minimum":5,"exclusiveMinimum":true}},"required":["n"]}`,
	} {
		for seed := range uint64(5) {
			out, err := Arguments(seeded(seed), []byte(in))
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

func TestArgumentsTakeWhatTheSchemaProposes(t *testing.T) {
	const in = `{"type":"object","properties":{"a":{"type":"string","default":"d","enum":["x","d"]},"b":{"type":"integer","examples":[41,42]}},"required":["a","b"]}`
	for seed := range uint64(5) {
		out, err := Arguments(seeded(seed), []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		v := gjson.ParseBytes(out)
		if v.Get("a").Str != "d" || v.Get("b").Int() != 41 && v.Get("b").Int() != 42 {
			t.Errorf("%s", out)
		}
	}
}

func TestArgumentsThatCannotBeMadeAreAnError(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":false},"required":["a"]}`:                                      "does not fit the schema: /a",
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^ZZ9 Plural$"}},"required":["a"]}`: "does not match",
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)"}},"required":["a"]}`:       "not judged",
		`{"type":"array"}`:                          "asks for an array",
		`{"type":"strin"}`:                          "not a valid schema",
		`{"$ref":"https://example.com/x"}`:          "leads out of the schema",
		`{"type":"object","not":{"type":"object"}}`: "breaks not",
	} {
		if out, err := Arguments(seeded(1), []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, error %v, want %s", in, out, err, want)
		}
	}
}
