package offer

import (
	"slices"
	"strings"
	"testing"
)

func TestInvalidArgumentsAreInvalidInEveryDialect(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{
			`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`,
			`required /n; type /n; minimum /n`,
		},
		{`{"type":"object","properties":{"o":{"type":"object"},"s":{"type":"string"}}}`, `type /o; type /s`},
		{`{"type":"object","properties":{"any":{}}}`, ``},
		{`{"type":"object","additionalProperties":false}`, `additionalProperties /mcpcheck`},
		{`{"type":"object","required":["x"]}`, `required /x`},
		{`{"$schema":"urn:unknown","type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, ``},
		{
			`{"type":"object","properties":{"l":{"type":"array","prefixItems":[{"const":1}],"minItems":1}},` +
				`"required":["l"]}`,
			`required /l; type /l; minItems /l`,
		},
		{
			`{"type":"object","properties":{"a":{},"b":{}},"required":["a"],"dependentRequired":{"a":["b"]}}`,
			`required /a`,
		},
		{
			`{"$schema":"` + Draft07 + `","type":"object","required":["a"],"dependencies":{"a":["b"]},` +
				`"properties":{"a":{},"b":{}}}`,
			`required /a`,
		},
	} {
		var got []string
		for _, m := range makeInvalidArguments([]byte(c.input), nil) {
			got = append(got, m.Keyword+" "+m.Path)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: invalid arguments %q, want %q", c.input, got, c.want)
		}
	}
}

func TestMakeArgumentsReturnsDifferentArguments(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{`{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}`, `{"on":false} {"on":true}`},
		{`{"type":"object"}`, `{}`},
		{`{"type":"object","not":{}}`, ``},
		{`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`, `{"a":"x"} {}`},
		{
			`{"type":"object","properties":{"a":{"type":"string"}},"examples":[{"a":"first"},{"a":"second"},` +
				`{"a":"third"}]}`,
			`{"a":"first"} {"a":"second"}`,
		},
	} {
		got := makeArguments(c.input, 2)
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.input, got, c.want)
		}
	}
}
