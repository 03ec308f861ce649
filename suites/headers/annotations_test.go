package headers

import (
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// An annotation is found in every schema within the inputSchema, with the first keyword
// that is not properties on the way to it. Values of a schema are no schemas.
func TestFindsAnnotationsInSchemas(t *testing.T) {
	const h = `{"x-mcp-header":"H"}`
	for _, c := range []struct {
		schema string
		want   []string
	}{
		{``, nil}, {`[` + h + `]`, nil}, {`{}`, nil}, {h, []string{"/x-mcp-header > the root itself"}},
		{`{"properties":{"a":` + h + `}}`, []string{"/properties/a/x-mcp-header >"}},
		{`{"properties":{"a":{"properties":{"b":` + h + `}}}}`, []string{"/properties/a/properties/b/x-mcp-header >"}},
		{`{"properties":{"x-mcp-header":` + h + `}}`, []string{"/properties/x-mcp-header/x-mcp-header >"}},
		{`{"properties":{"a":{"items":` + h + `}}}`, []string{"/properties/a/items/x-mcp-header > items"}},
		{`{"items":{"properties":{"a":` + h + `}}}`, []string{"/items/properties/a/x-mcp-header > items"}},
		{`{"anyOf":[1,{"not":` + h + `}]}`, []string{"/anyOf/not/x-mcp-header > anyOf"}},
		{`{"$defs":{"a":` + h + `,"b":1}}`, []string{"/$defs/a/x-mcp-header > $defs"}},
		{`{"definitions":{"a":` + h + `}}`, []string{"/definitions/a/x-mcp-header > definitions"}},
		{`{"dependentSchemas":{"a":` + h + `}}`, []string{"/dependentSchemas/a/x-mcp-header > dependentSchemas"}},
		{`{"patternProperties":{"a":` + h + `}}`, []string{"/patternProperties/a/x-mcp-header > patternProperties"}},
		{`{"properties":[` + h + `]}`, nil}, {`{"default":` + h + `}`, nil},
		{`{"properties":{"a":{"const":` + h + `,"enum":[` + h + `],"examples":[` + h + `]}}}`, nil},
		{`{"if":` + h + `,"then":` + h + `}`, []string{"/if/x-mcp-header > if", "/then/x-mcp-header > then"}},
	} {
		var got []string
		tool := transcript.ListEntry{}
		tool.Item = gjson.Parse(`{"name":"t","inputSchema":` + c.schema + `}`)
		if c.schema == "" {
			tool.Item = gjson.Parse(`{"name":"t"}`)
		}
		for _, a := range annotationsOf(tool) {
			text := a.pointer + " >"
			if a.offChain != "" {
				text += " " + a.offChain
			}
			got = append(got, text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the annotations are at %q, want %q", c.schema, got, c.want)
		}
	}
}

// Only numbers are values that a header may be unable to hold.
func TestValuesOfAnnotatedSchema(t *testing.T) {
	a := annotation{schema: gjson.Parse(`{"enum":[1,"2"],"examples":[3,null],"default":4,"const":5}`)}
	var got []string
	for _, v := range a.schemaValues() {
		got = append(got, v.Raw)
	}
	if !slices.Equal(got, []string{"1", "3", "4", "5"}) {
		t.Errorf("the values are %q", got)
	}
	if all := (annotation{schema: gjson.Parse(`{"default":"4"}`)}).schemaValues(); len(all) > 0 {
		t.Errorf("the values of a schema without numbers are %v", all)
	}
}
