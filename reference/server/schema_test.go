package server

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A schemaChecker validates messages with the published schema of a revision, closed:
// an object that lists its properties has no others, so that members of another
// revision are found. JSON Schemas inside messages stay open.
type schemaChecker struct {
	t        *testing.T
	compiler *jsonschema.Compiler
	defs     string // the name of the container of definitions
	byMethod map[string]string
}

func newSchemaChecker(t *testing.T, rev spec.Revision) *schemaChecker {
	t.Helper()
	dir := os.Getenv("MCPCHECK_SCHEMA_DIR")
	if dir == "" {
		t.Skip("MCPCHECK_SCHEMA_DIR is not set: set it to the folder of the official schemas")
	}
	raw, err := os.ReadFile(filepath.Join(dir, string(rev), "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	doc := v.(map[string]any)
	s := &schemaChecker{t: t, compiler: jsonschema.NewCompiler(), defs: "$defs", byMethod: map[string]string{}}
	// The format check of the library refuses expressions in a query, which RFC 6570 has.
	s.compiler.RegisterFormat(&jsonschema.Format{Name: "uri-template", Validate: func(v any) error {
		_, err := uritemplate.New(stringOf(v))
		return err
	}})
	if _, ok := doc["definitions"]; ok {
		s.defs = "definitions"
	}
	for name, v := range doc[s.defs].(map[string]any) {
		def := v.(map[string]any)
		closeObjects(def)
		properties, _ := def["properties"].(map[string]any)
		method, _ := properties["method"].(map[string]any)
		// ClientNotification is a union of one message and looks like that message.
		if m, ok := method["const"].(string); ok && name != "ClientNotification" {
			s.byMethod[m] = name
			// The schemas of the first revisions leave the envelope to other definitions.
			for _, member := range []string{"jsonrpc", "id"} {
				if properties[member] == nil {
					properties[member] = true
				}
			}
			if strings.HasPrefix(m, "notifications/") {
				delete(properties, "id")
			}
			if properties["params"] == nil {
				properties["params"] = true
			}
		}
	}
	if err := s.compiler.AddResource("official.json", doc); err != nil {
		t.Fatal(err)
	}
	return s
}

// closeObjects closes the objects of a schema that list their properties.
func closeObjects(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			closeObjects(e)
		}
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			if _, open := v["additionalProperties"]; !open {
				v["additionalProperties"] = false
			}
			for name, p := range properties {
				if !slices.Contains([]string{"inputSchema", "outputSchema", "result"}, name) {
					closeObjects(p)
				}
			}
			return
		}
		for name, e := range v {
			if name != "properties" {
				closeObjects(e)
			}
		}
	}
}

// validate returns why a JSON text is no instance of a definition.
func (s *schemaChecker) validate(definition, raw string) error {
	s.t.Helper()
	compiled, err := s.compiler.Compile("official.json#/" + s.defs + "/" + definition)
	if err != nil {
		s.t.Fatalf("%s: %v", definition, err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		s.t.Fatalf("%v: %s", err, raw)
	}
	return compiled.Validate(v)
}

// check reports a JSON text that is no instance of a definition.
func (s *schemaChecker) check(definition, raw string) {
	s.t.Helper()
	if err := s.validate(definition, raw); err != nil {
		s.t.Errorf("invalid %s: %v\n%s", definition, err, raw)
	}
}

func TestClosedSchemaRejectsOtherMembers(t *testing.T) {
	for _, c := range []struct {
		definition, raw string
		since           spec.Revision
	}{
		{
			"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"annotations":{}}]}`,
			spec.V2025_03_26,
		},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"title":"X"}]}`, spec.V2025_06_18},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"icons":[]}]}`, spec.V2025_11_25},
		{
			"ProgressNotification",
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,` +
				`"message":"x"}}`,
			spec.V2025_03_26,
		},
		{"CallToolResult", `{"content":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`, spec.V2025_03_26},
		{"CallToolResult", `{"content":[{"type":"text","text":"","_meta":{}}]}`, spec.V2025_06_18},
	} {
		for _, rev := range spec.Handshake.Revisions() {
			valid := newSchemaChecker(t, rev).validate(c.definition, c.raw) == nil
			if valid != spec.Since(c.since).Has(rev) {
				t.Errorf("%s is valid at %s: %v, want validity since %s", c.raw, rev, valid, c.since)
			}
		}
	}
}

// errorDefinition returns the definition of an error response.
func (s *schemaChecker) errorDefinition() string {
	if _, err := s.compiler.Compile("official.json#/" + s.defs + "/JSONRPCErrorResponse"); err == nil {
		return "JSONRPCErrorResponse"
	}
	return "JSONRPCError"
}
