package server

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/internal/memo"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// compile compiles a schema under its own dialect, 2020-12 if it names none
// (basic/index#schema-dialect). It does not follow references to the network.
func compile(schema Object) (*jsonschema.Schema, error) {
	text := wire.Encode(schema)
	return compiled.Get(string(text), func() (*jsonschema.Schema, error) { return compileText(text) })
}

// compiled caches schemas by their text: every instance of the server has the same
// tools.
var compiled = memo.Cache[*jsonschema.Schema]{MaxResults: 512}

func compileText(text []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// argumentsError returns in one line why arguments do not match the input schema of
// the tool, or "".
func (t *Tool) argumentsError(args Object) string {
	if t.Lenient {
		return ""
	}
	t.once.Do(func() {
		s, err := compile(t.InputSchema)
		if err != nil {
			panic(fmt.Sprintf("server: input schema of %s: %v", t.Name, err))
		}
		t.compiled = s
	})
	err := t.compiled.Validate(args)
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return ""
	}
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return wire.Clip(strings.ReplaceAll(e.Error(), "\n", " "), 160)
}
