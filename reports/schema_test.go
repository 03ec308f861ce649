package reports

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"
)

const schemaFile = "../docs/report.schema.json"

// JSON reports are valid in the published schema.
func TestJSONReportsAreValidInTheSchema(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(schemaFile, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]*Run{
		"small": smallRun(), "large": largeRun(t),
	} {
		var report bytes.Buffer
		if err := WriteJSON(&report, run); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(&report)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		value.(map[string]any)["outcomes"].([]any)[0].(map[string]any)["verdict"] = "passed"
		if schema.Validate(value) == nil {
			t.Errorf("%s: an unknown verdict is valid", name)
		}
	}
}

// The schema describes each member of a report, and requires those that are always there.
func TestSchemaDescribesEachMember(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for at, of := range map[string]reflect.Type{
		"@this":                                reflect.TypeFor[Run](),
		"properties.tool":                      reflect.TypeFor[Tool](),
		"properties.target":                    reflect.TypeFor[Target](),
		"properties.harness":                   reflect.TypeFor[Harness](),
		"properties.revisions.items":           reflect.TypeFor[RevisionRun](),
		"properties.baseline.items":            reflect.TypeFor[BaselineProblem](),
		"$defs.outcome":                        reflect.TypeFor[Outcome](),
		"$defs.cause":                          reflect.TypeFor[Cause](),
		"$defs.finding":                        reflect.TypeFor[Finding](),
		"$defs.outcome.properties.spec":        reflect.TypeFor[Clause](),
		"$defs.outcome.properties.rules.items": reflect.TypeFor[Rule](),
	} {
		var members, required []string
		for i := range of.NumField() {
			name, rest, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			members = append(members, name)
			if rest != "omitempty" {
				required = append(required, name)
			}
		}
		if of == reflect.TypeFor[Run]() {
			members = append(members, "causes")
		}
		object := gjson.GetBytes(text, strings.ReplaceAll(at, "$", `\$`))
		var described, demanded []string
		for name := range object.Get("properties").Map() {
			described = append(described, name)
		}
		if err := json.Unmarshal([]byte(object.Get("required").Raw), &demanded); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		for _, all := range [][]string{members, required, described, demanded} {
			slices.Sort(all)
		}
		if !slices.Equal(members, described) || !slices.Equal(required, demanded) {
			t.Errorf("%s describes %q and requires %q; %s has %q, always %q", at, described, demanded, of, members,
				required)
		}
	}
}
