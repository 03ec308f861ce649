package schema

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An engine is a schema document compiled by the general engine.
type engine struct {
	names []string
	defs  map[string]*jsonschema.Schema
}

func newEngine(t *testing.T, doc any) *engine {
	t.Helper()
	key, defs := definitions(doc)
	c := jsonschema.NewCompiler()
	// Draft-07 engines may assert formats; the official schemas of later revisions
	// do not, and other checks judge which URIs are valid.
	for _, name := range []string{"uri", "uri-template", "byte"} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource("test:///schema.json", doc); err != nil {
		t.Fatal(err)
	}
	e := &engine{defs: map[string]*jsonschema.Schema{}}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		s, err := c.Compile("test:///schema.json#/" + key + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		e.defs[name] = s
		e.names = append(e.names, name)
	}
	return e
}

func (e *engine) has(def string) bool                 { return e.defs[def] != nil }
func (e *engine) valid(def string, instance any) bool { return e.defs[def].Validate(instance) == nil }

func definitions(doc any) (key string, defs map[string]any) {
	for _, key := range []string{"$defs", "definitions"} {
		if defs, ok := doc.(map[string]any)[key].(map[string]any); ok {
			return key, defs
		}
	}
	panic("no definitions in the schema document")
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func value(text []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return v
}

func readJSON(t *testing.T, file string) any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}
