package schema

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestCompileToolErrors(t *testing.T) {
	const (
		d7 = `"$schema":"http://json-schema.org/draft-07/schema#"`
		d4 = `"$schema":"http://json-schema.org/draft-04/schema#"`
	)
	for _, c := range []struct{ in, want string }{
		{`{"type":"object"}`, ""},
		{`true`, ""},
		{`{` + d7 + `,"type":"object","definitions":{"a":{"type":"string"}},"properties":{"x":{"$ref":` +
			`"#/definitions/a"}}}`, ""},
		{`{"$schema":"https://json-schema.org/draft-07/schema","type":"object"}`, ""},
		{`{` + d4 + `,"type":"object","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`, ""},
		{`{` + d7 + `,"properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`,
			`http://json-schema.org/draft-07/schema#: /properties/n/exclusiveMinimum: is a boolean, not a number`},
		{`{"type":"strin"}`,
			`https://json-schema.org/draft/2020-12/schema: /type: "strin" is not one of array, boolean, integer,` +
				` null, number, object, string`},
		{`{"type":"object","required":"a"}`,
			`https://json-schema.org/draft/2020-12/schema: /required: is a string, not an array`},
		{`{"properties":{"a":{"minLength":-1}}}`,
			`https://json-schema.org/draft/2020-12/schema: /properties/a/minLength: -1 is less than 0`},
		{`[]`, `https://json-schema.org/draft/2020-12/schema: is an array, not a boolean or an object`},
		{`{`, `https://json-schema.org/draft/2020-12/schema: is not valid JSON`},
		{`{"$schema":5}`, `https://json-schema.org/draft/2020-12/schema: /$schema: is a number, not a string`},
		{`{"$schema":"http://json-schema.org/draft-03/schema#"}`,
			`unknown dialect "http://json-schema.org/draft-03/schema#"`},
		{`{"$schema":"https://example.com/mine"}`, `unknown dialect "https://example.com/mine"`},
		{`{"$ref":"https://example.com/x.json"}`,
			`reference https://example.com/x.json is to a place outside of the schema`},
		{`{"$ref":"file:///etc/hostname"}`, `reference file:///etc/hostname is to a place outside of the schema`},
		{`{"$ref":"other.json#/a"}`, `reference other.json is to a place outside of the schema`},
		{`{"$ref":"#/$defs/none"}`, `reference #/$defs/none is to a place that the schema does not have`},
		{`{"$ref":"#none"}`, `reference #none is to a place that the schema does not have`},
		{`{"properties":{"a":{"pattern":"^(?=x)y"}}}`, `not judged: the pattern "^(?=x)y" has no equal RE2 expression`},
		{`{"properties":{"a":{"pattern":"^(?=x)y"},"b":{"type":1}}}`,
			`https://json-schema.org/draft/2020-12/schema: /properties/b/type: 1 is not one of array, boolean,` +
				` integer, null, number, object, string`},
		{`{"$ref":"#"}`, ""},
		{`{"maximum":1e99999}`, `not judged: the number 1e99999 is too large to compute with`},
		{`{"$id":"https://example.com/t","$defs":{"a":{"$anchor":"A"}},"$ref":"#A"}`, ""},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, ""},
	} {
		_, err := CompileTool([]byte(c.in))
		if got := errorText(err); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func errorText(err error) string {
	var invalid *InvalidSchemaError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &invalid):
		return invalid.Dialect + ": " + invalid.Violations[0].String()
	}
	return err.Error()
}

func TestCompileToolAnyDialect(t *testing.T) {
	old, err := CompileToolAnyDialect([]byte(`{"properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`))
	if err != nil || old.Dialect() != "http://json-schema.org/draft-04/schema#" {
		t.Errorf("a draft-04 schema that names no dialect: %v", err)
	}
	if _, err := CompileToolAnyDialect([]byte(`{"$schema":"urn:mine","type":"object"}`)); err != nil {
		t.Errorf("an unknown dialect, but valid under the known ones: %v", err)
	}
	_, err = CompileToolAnyDialect([]byte(`{"type":"strin"}`))
	var invalid *InvalidSchemaError
	if !errors.As(err, &invalid) || len(invalid.Violations) == 0 {
		t.Errorf("a schema that is valid in no dialect: %v", err)
	}
	if _, err := CompileToolAnyDialect([]byte(`{"$ref":"https://example.com/x.json"}`)); err == nil ||
		errors.As(err, &invalid) {
		t.Errorf("an external reference: %v", err)
	}
}

func TestToolSchemaValidate(t *testing.T) {
	for _, c := range []struct{ schema, in, want string }{
		{`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, `{"n":12345678901234567890123}`,
			""},
		{`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, `{"n":1.5}`,
			`/n: is a number, not an integer`},
		{`{"type":"object","required":["n"]}`, `{}`, `the member n is missing`},
		{`{"properties":{"n":{"const":9007199254740993}}}`, `{"n":9007199254740992}`,
			`/n: 9007199254740992 is not 9007199254740993`},
		{`{"oneOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"}}}]}`, `{"a":1}`,
			`/a: is a number, not a string`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, `is a number, not a string`},
		{`{"additionalProperties":false}`, `{"b":1}`, `has members that are not allowed: b`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"m":{"format":"email"}}}`, `{"m":"x"}`,
			""},
		{`{"not":{"type":"object"}}`, `{}`, `breaks not`},
		{`{"properties":{"a":{"propertyNames":{"maxLength":2,"pattern":"^x"}}}}`, `{"a":{"yyy":1}}`,
			`/a: the name "yyy" is not allowed`},
		{`false`, `1`, `is not allowed`},
		{`{"type":"string"}`, `{`, `is not valid JSON`},
	} {
		tool, err := CompileTool([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		found, err := tool.Validate([]byte(c.in))
		got := ""
		if err != nil {
			got = err.Error()
		} else if len(found) > 0 {
			got = found[0].String()
		}
		if got != c.want {
			t.Errorf("%s on %s:\n got %s\nwant %s", c.in, c.schema, got, c.want)
		}
	}
}

func TestHostileSchemasGiveNoVerdict(t *testing.T) {
	var not *NotJudgedError
	for name, in := range map[string]string{
		"deep": strings.Repeat(`{"items":`, maxSchemaDepth+1) + `{}` + strings.Repeat(`}`, maxSchemaDepth+1),
		"long": `{"title":"` + strings.Repeat("x", maxSchemaBytes) + `"}`,
	} {
		if _, err := CompileTool([]byte(in)); !errors.As(err, &not) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := CompileToolAnyDialect([]byte(in)); !errors.As(err, &not) {
			t.Errorf("%s, any dialect: %v", name, err)
		}
	}
	tool, err := CompileTool([]byte(`{"properties":{"n":{"maximum":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Validate([]byte(`{"n":1e2000000}`)); !errors.As(err, &not) {
		t.Errorf("a number of two million digits: %v", err)
	}
	if tool, err = CompileTool([]byte(`{"$ref":"#"}`)); err != nil {
		t.Fatal(err)
	}
	if found, err := tool.Validate([]byte(`{}`)); !errors.As(err, &not) {
		t.Errorf("a schema that references itself: %v, %v", found, err)
	}
}

// Unions of references to unions double the steps with each level.
func TestValidationOfExponentialSchemasIsBounded(t *testing.T) {
	for _, dialect := range []string{"https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#"} {
		var b strings.Builder
		fmt.Fprintf(&b, `{"$schema":%q,"allOf":[{"$ref":"#/$defs/d0"}],"$defs":{"d40":{"not":{}}`, dialect)
		for i := range 40 {
			fmt.Fprintf(&b, `,"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
		}
		b.WriteString(`}}`)
		tool, err := CompileTool([]byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var not *NotJudgedError
		if _, err := tool.Validate([]byte(`{}`)); !errors.As(err, &not) {
			t.Errorf("%s: %v", dialect, err)
		}
		t.Logf("%s: abandoned after %v", dialect, time.Since(start))
	}
}

func TestToolSchemaIsSafeForConcurrentUse(t *testing.T) {
	tool, err := CompileTool([]byte(`{"type":"object","required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if found, err := tool.Validate([]byte(`{}`)); err != nil || len(found) != 1 {
					t.Errorf("%v, %v", found, err)
				}
				if found := For(spec.V2025_03_26).Validate("Tool", []byte(`{}`)); len(found) != 2 {
					t.Errorf("%v", found)
				}
			}
		})
	}
	wg.Wait()
}
