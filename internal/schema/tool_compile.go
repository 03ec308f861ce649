package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// toolURL is the address that a schema has in the engine.
const toolURL = "tool:///schema.json"

func compileTool(doc any, dialect int) (t *ToolSchema, err error) {
	// A hostile schema must not end the run. A panic of the engine is no violation
	// of the peer.
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, &NotJudgedError{fmt.Sprintf("the schema engine stopped: %v", p)}
		}
	}()
	var unreadable []string // patterns that RE2 cannot express
	c := newCompiler(dialect, &unreadable)
	if err := c.AddResource(toolURL, doc); err != nil {
		return nil, &NotJudgedError{err.Error()}
	}
	if _, err := c.Compile(toolURL); err != nil {
		return nil, convertError(err, dialects[dialect].uri)
	}
	if len(unreadable) > 0 {
		return nil, &NotJudgedError{fmt.Sprintf("the pattern %q has no equal RE2 expression", unreadable[0])}
	}
	// A second compilation counts the effort. It cannot be the first: with a
	// vocabulary of ours the engine validates subschemas against less than the
	// whole meta-schema.
	counted := new(effort)
	c = newCompiler(dialect, &unreadable)
	c.RegisterVocabulary(counted.vocabulary())
	c.AssertVocabs()
	if err := c.AddResource(toolURL, doc); err != nil {
		return nil, &NotJudgedError{err.Error()}
	}
	compiled, err := c.Compile(toolURL)
	if err != nil {
		return nil, &NotJudgedError{err.Error()}
	}
	return &ToolSchema{dialect: dialects[dialect].uri, compiled: compiled, effort: counted}, nil
}

// newCompiler returns an engine that follows no reference out of a schema. It
// appends the patterns that it cannot read.
func newCompiler(dialect int, unreadable *[]string) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(dialects[dialect].draft)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) {
		re, err := compilePattern(pattern)
		if err != nil {
			*unreadable = append(*unreadable, pattern)
			return matchAll(pattern), nil
		}
		return re, nil
	})
	// Formats are annotations, as in 2020-12; the older dialects leave it open.
	for _, name := range []string{"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6",
		"hostname", "email", "date", "time", "date-time", "uri", "iri", "uri-reference", "iri-reference",
		"uri-template",
		"semver"} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	return c
}

// convertError returns the error of this package for an error of the engine.
func convertError(err error, dialect string) error {
	var invalid *jsonschema.SchemaValidationError
	var load *jsonschema.LoadURLError
	var pointer *jsonschema.JSONPointerNotFoundError
	var badPointer *jsonschema.InvalidJsonPointerError
	var anchor *jsonschema.AnchorNotFoundError
	switch {
	case errors.As(err, &invalid):
		var why *jsonschema.ValidationError
		if errors.As(invalid.Err, &why) {
			_, at, _ := strings.Cut(invalid.URL, "#")
			found := flattenErrors(why)
			for i := range found {
				found[i].InstancePath = at + found[i].InstancePath
			}
			return &InvalidSchemaError{dialect, found}
		}
		return &NotJudgedError{err.Error()}
	case errors.As(err, &load):
		return &UnresolvedRefError{Ref: trimToolURL(load.URL)}
	case errors.As(err, &pointer):
		return &UnresolvedRefError{trimToolURL(pointer.URL), true}
	case errors.As(err, &badPointer):
		return &UnresolvedRefError{trimToolURL(badPointer.URL), true}
	case errors.As(err, &anchor):
		return &UnresolvedRefError{trimToolURL(anchor.Reference), true}
	}
	return &NotJudgedError{err.Error()}
}

// trimToolURL removes toolURL from a reference.
func trimToolURL(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, toolURL), "tool:///")
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, errors.New("references are not followed") }

// A matchAll is an unreadable pattern.
type matchAll string

func (m matchAll) String() string          { return string(m) }
func (m matchAll) MatchString(string) bool { return true }
