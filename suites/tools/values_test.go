package tools

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestNameCharactersAreASCIILettersDigitsAndThreeOthers(t *testing.T) {
	for _, r := range "azmAZM059_-." {
		if !isNameCharacter(r) {
			t.Errorf("%q is refused", r)
		}
	}
	for _, r := range "`{@[/:, +é" {
		if isNameCharacter(r) {
			t.Errorf("%q is accepted", r)
		}
	}
}

func TestStandardCodesAreThoseOfJSONRPC(t *testing.T) {
	for code, want := range map[int]bool{
		-32700: true, -32603: true, -32602: true, -32601: true, -32600: true,
		-32701: false, -32699: false, -32604: false, -32599: false, -32000: false, 0: false,
	} {
		if isStandardCode(code) != want {
			t.Errorf("%d is a standard code: %v", code, !want)
		}
	}
}

func TestProblemsOfSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: "", `{"type":"object","properties":{},"required":[]}`: "",
		`{"type":"object","properties":{"a":{}},"required":["a","b"]}`: "",
		``:                                  "is missing",
		`[]`:                                "is an array, not an object",
		`"object"`:                          "is a string, not an object",
		`{}`:                                `has no type, which must be "object"`,
		`{"type":"array"}`:                  `has the type "array", not "object"`,
		`{"type":["object"]}`:               `has the type ["object"], not "object"`,
		`{"type":"object","properties":[]}`: "properties is an array, not an object",
		`{"type":"object","properties":{"a":{},"b":1}}`:       `the property "b" is a number, not an object`,
		`{"type":"object","properties":{"a":1,"b":"c"}}`:      `the property "a" is a number, not an object`,
		`{"type":"object","properties":{"a":1},"required":1}`: `the property "a" is a number, not an object`,
		`{"type":"object","required":"a"}`:                    "required is a string, not an array",
		`{"type":"object","required":["a",1]}`:                "required holds a number, not only strings",
	} {
		if got := outputProblem(spec.V2025_11_25, gjson.Parse(schema)); got != want {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
	for schema, want := range map[string]string{
		`{"type":"array"}`: "", `{}`: "", `{"required":1}`: "", `[]`: "is an array, not an object",
		`true`: "is a boolean, not an object",
	} {
		if got := outputProblem(spec.V2026_07_28, gjson.Parse(schema)); got != want {
			t.Errorf("%s in the stateless era: %q, want %q", schema, got, want)
		}
	}
}

func TestProblemsOfAnnotations(t *testing.T) {
	for annotations, want := range map[string]string{
		`{}`: "", `{"title":"a","readOnlyHint":true,"openWorldHint":false,"other":1}`: "",
		`[]`:                    "annotations is an array, not an object",
		`{"title":1}`:           "the title in its annotations is a number, not a string",
		`{"readOnlyHint":"a"}`:  "readOnlyHint is a string, not a boolean",
		`{"openWorldHint":0}`:   "openWorldHint is a number, not a boolean",
		`{"idempotentHint":{}}`: "idempotentHint is an object, not a boolean",
	} {
		if got := annotationsProblem(gjson.Parse(annotations)); got != want {
			t.Errorf("%s: %q, want %q", annotations, got, want)
		}
	}
}

func TestLinkedURIsAreNoWebAddresses(t *testing.T) {
	result := gjson.Parse(`{"content":[{"type":"resource_link","uri":"a:b"},{"type":"resource_link"},` +
		`{"type":"text","uri":"c:d"},{"type":"resource_link","uri":"https://e"},` +
		`{"type":"resource_link","uri":"http://f"},{"type":"resource_link","uri":"httpx:g"}]}`)
	if got := linkedURIs(result); len(got) != 2 || got[0] != "a:b" || got[1] != "httpx:g" {
		t.Errorf("the links are %q", got)
	}
}

// Two results are the same but for the names of the tools in them.
func TestSameContent(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`"result":{"content":[{"text":"look is gone"}]}`, `"result":{"content":[{"text":"see is gone"}]}`, true},
		{`"result":{"content":[{"text":"look is gone"}]}`, `"result":{"content":[{"text":"see is here"}]}`, false},
		{`"result":{"content":[{"text":"look"}],"isError":true}`, `"result":{"content":[{"text":"see"}]}`, false},
		{`"result":{"content":[{"text":"look"}],"isError":true}`,
			`"result":{"content":[{"text":"see"}],"isError":true}`, true},
		{`"result":{"content":[]}`, `"error":{"code":-32602,"message":"see"}`, false},
	} {
		message := func(member string) wire.Message {
			return wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + member + `}`))
		}
		if got := sameContent(message(c.a), "look", message(c.b), "see"); got != c.want {
			t.Errorf("%s and %s: the same is %v", c.a, c.b, got)
		}
	}
}
