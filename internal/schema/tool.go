package schema

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/memo"
)

// A ToolSchema is a compiled inputSchema or outputSchema of a tool. It is safe
// for concurrent use.
type ToolSchema struct {
	dialect  string
	compiled *jsonschema.Schema
	mu       sync.Mutex // held while effort counts a validation
	effort   *effort
}

// InvalidSchemaError says that a schema breaks the meta-schema of its dialect.
type InvalidSchemaError struct {
	Dialect    string      // URI of the dialect it was held against
	Violations []Violation // never empty; paths point into the schema
}

func (e *InvalidSchemaError) Error() string {
	return fmt.Sprintf("not a valid schema of %s: %v", e.Dialect, e.Violations[0])
}

// UnknownDialectError says that $schema names none of draft-04, draft-06,
// draft-07, 2019-09 and 2020-12; the schema is not judged.
type UnknownDialectError struct{ URI string }

func (e *UnknownDialectError) Error() string { return fmt.Sprintf("unknown dialect %q", e.URI) }

// UnresolvedRefError says that a reference leads out of the schema, where it is
// never followed, or, if Local, to nothing inside of it.
type UnresolvedRefError struct {
	Ref   string
	Local bool
}

func (e *UnresolvedRefError) Error() string {
	if e.Local {
		return fmt.Sprintf("reference %s leads to nothing in the schema", e.Ref)
	}
	return fmt.Sprintf("reference %s leads out of the schema", e.Ref)
}

// NotJudgedError says why a schema, or an instance, is beyond what the engine
// can judge: nothing is said about the peer.
type NotJudgedError struct{ Why string }

func (e *NotJudgedError) Error() string { return "not judged: " + e.Why }

// The dialects known, newest first.
var dialects = []struct {
	uri   string
	draft *jsonschema.Draft
}{
	{"https://json-schema.org/draft/2020-12/schema", jsonschema.Draft2020},
	{"https://json-schema.org/draft/2019-09/schema", jsonschema.Draft2019},
	{"http://json-schema.org/draft-07/schema#", jsonschema.Draft7},
	{"http://json-schema.org/draft-06/schema#", jsonschema.Draft6},
	{"http://json-schema.org/draft-04/schema#", jsonschema.Draft4},
}

// dialectOf returns the index in dialects of what $schema names, -1 if none.
func dialectOf(uri string) int {
	plain := func(s string) string {
		s = strings.TrimSuffix(s, "#")
		return strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
	}
	for i, d := range dialects {
		if plain(d.uri) == plain(uri) {
			return i
		}
	}
	return -1
}

// CompileTool compiles the schema of a tool under the dialect that its $schema
// names, 2020-12 if it names none (basic/index#json-schema-usage, since
// 2025-11-25). Nothing is ever fetched. The error is an *InvalidSchemaError,
// *UnknownDialectError, *UnresolvedRefError or *NotJudgedError.
func CompileTool(raw []byte) (*ToolSchema, error) {
	return compileCached(&declaredCache, raw, compileDeclared)
}

// remember compiles a schema once, unless it is so large that it is not kept:
// in a run the same tools come back in every session.
func compileCached(kept *memo.Cache[*ToolSchema], raw []byte, compile func(raw []byte) (*ToolSchema, error)) (*ToolSchema, error) {
	const largest = 64 << 10
	if len(raw) > largest {
		return compile(raw)
	}
	return kept.Get(string(raw), func() (*ToolSchema, error) { return compile(raw) })
}

// What CompileTool and CompileToolAnyDialect made of texts.
var declaredCache, anyDialectCache = memo.Cache[*ToolSchema]{Most: 512}, memo.Cache[*ToolSchema]{Most: 512}

func compileDeclared(raw []byte) (*ToolSchema, error) {
	doc, err := decodeSchema(raw)
	if err != nil {
		return nil, err
	}
	i := 0
	if object, ok := doc.(map[string]any); ok {
		if uri, ok := object["$schema"].(string); ok {
			if i = dialectOf(uri); i < 0 {
				return nil, &UnknownDialectError{uri}
			}
		}
	}
	return compileTool(doc, i)
}

// CompileToolAnyDialect compiles the schema under the first dialect that it fits:
// the one it names, then the known ones, newest first. Up to 2025-06-18 no
// revision says which dialect a tool's schema is written in. The error is that
// of the dialect tried first.
func CompileToolAnyDialect(raw []byte) (*ToolSchema, error) {
	return compileCached(&anyDialectCache, raw, compileAnyDialect)
}

func compileAnyDialect(raw []byte) (*ToolSchema, error) {
	declared, first := CompileTool(raw)
	if first == nil {
		return declared, nil
	}
	doc, err := decodeSchema(raw)
	if err != nil {
		return nil, err
	}
	if object, ok := doc.(map[string]any); ok {
		delete(object, "$schema")
	}
	for i := range dialects {
		if t, err := compileTool(doc, i); err == nil {
			return t, nil
		}
	}
	return nil, first
}

// The largest schemas that are judged: the engine's time grows with the cube of
// the nesting (measured: 0.5 s at 800 levels).
const (
	maxSchemaBytes = 1 << 20 // bytes
	maxSchemaDepth = 200     // levels
)

func decodeSchema(raw []byte) (any, error) {
	if len(raw) > maxSchemaBytes {
		return nil, &NotJudgedError{fmt.Sprintf("the schema has %d bytes, more than %d", len(raw), maxSchemaBytes)}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, &InvalidSchemaError{dialects[0].uri, []Violation{{Keyword: "json", Message: "is not valid JSON"}}}
	}
	if isDeeper(doc, maxSchemaDepth) {
		return nil, &NotJudgedError{fmt.Sprintf("the schema nests deeper than %d levels", maxSchemaDepth)}
	}
	if n := hugeNumber(gjson.ParseBytes(raw)); n != "" {
		return nil, &NotJudgedError{"the number " + n + " is too large to compute with"}
	}
	return doc, nil
}

func isDeeper(v any, levels int) bool {
	if levels < 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, sub := range v {
			if isDeeper(sub, levels-1) {
				return true
			}
		}
	case []any:
		for _, sub := range v {
			if isDeeper(sub, levels-1) {
				return true
			}
		}
	}
	return false
}

const toolURL = "tool:///schema.json"

func compileTool(doc any, dialect int) (t *ToolSchema, err error) {
	// A hostile schema must not end the run; what makes the engine panic is
	// beyond it and nothing the peer is blamed for.
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, &NotJudgedError{fmt.Sprintf("the schema engine gave up: %v", p)}
		}
	}()
	var foreign []string // patterns that are ECMA 262 but not RE2, or neither
	c := newCompiler(dialect, &foreign)
	if err := c.AddResource(toolURL, doc); err != nil {
		return nil, &NotJudgedError{err.Error()}
	}
	if _, err := c.Compile(toolURL); err != nil {
		return nil, convertError(err, dialects[dialect].uri)
	}
	if len(foreign) > 0 {
		return nil, &NotJudgedError{fmt.Sprintf("the pattern %q is no RE2 expression", foreign[0])}
	}
	// A second compilation has the effort counted. It cannot be the first: with
	// a vocabulary of ours the engine holds a schema's own subschemas against
	// less than the whole meta-schema.
	spent := new(effort)
	c = newCompiler(dialect, &foreign)
	c.RegisterVocabulary(spent.vocabulary())
	c.AssertVocabs()
	if err := c.AddResource(toolURL, doc); err != nil {
		return nil, &NotJudgedError{err.Error()}
	}
	compiled, err := c.Compile(toolURL)
	if err != nil {
		return nil, &NotJudgedError{err.Error()}
	}
	return &ToolSchema{dialect: dialects[dialect].uri, compiled: compiled, effort: spent}, nil
}

// newCompiler returns an engine that follows no reference out of a schema and
// notes the patterns it cannot read.
func newCompiler(dialect int, foreign *[]string) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(dialects[dialect].draft)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) {
		re, err := compilePattern(pattern)
		if err != nil {
			*foreign = append(*foreign, pattern)
			return matchAll(pattern), nil
		}
		return re, nil
	})
	// Formats are annotations, as in 2020-12: whether they bind is left open by
	// the older dialects too.
	for _, name := range []string{"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email", "date", "time", "date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver"} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	return c
}

// explain turns an error of the engine into one of ours.
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

// ownName takes the place that we gave a schema out of a reference.
func trimToolURL(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, toolURL), "tool:///")
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, errors.New("references are not followed") }

type matchAll string

func (m matchAll) String() string          { return string(m) }
func (m matchAll) MatchString(string) bool { return true }

// Dialect returns the URI of the dialect the schema was compiled under.
func (t *ToolSchema) Dialect() string { return t.dialect }

// Validate returns the ways in which instance does not fit the schema. The error
// is a *NotJudgedError.
func (t *ToolSchema) Validate(instance []byte) (found []Violation, err error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		return []Violation{{Keyword: "json", Message: "is not valid JSON"}}, nil
	}
	if n := hugeNumber(gjson.ParseBytes(instance)); n != "" {
		return nil, &NotJudgedError{"the number " + n + " is too large to compute with"}
	}
	return t.validate(value)
}

func (t *ToolSchema) validate(value any) (found []Violation, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.effort.spent = 0
	defer func() {
		if p := recover(); p != nil {
			found, err = nil, &NotJudgedError{fmt.Sprintf("the schema engine gave up: %v", p)}
		}
	}()
	err = t.compiled.Validate(value)
	if err == nil {
		return nil, nil
	}
	var why *jsonschema.ValidationError
	if errors.As(err, &why) {
		if hasRefCycle(why) {
			return nil, &NotJudgedError{"a reference of the schema leads to itself"}
		}
		return flattenErrors(why), nil
	}
	return nil, &NotJudgedError{err.Error()}
}

// An effort counts how often the parts of a schema were applied in a validation:
// a union of references to unions takes time that doubles with each, and a
// hostile schema would keep us busy for ever.
type effort struct{ spent int }

const maxSteps = 500_000 // applications, about a second

var tooManySteps = fmt.Sprintf("more than %d steps", maxSteps)

// vocabulary has the engine call Validate wherever it applies a part of a
// schema, and keeps what the engine does not.
func (e *effort) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "tool:///effort",
		Compile: func(_ *jsonschema.CompilerContext, written map[string]any) (jsonschema.SchemaExt, error) {
			return &keywordExtension{effort: e, keywords: written}, nil
		},
	}
}

// A remark is what is kept of a part of a schema beside the engine's own.
type keywordExtension struct {
	*effort
	keywords map[string]any
}

// Validate panics at the limit, since the engine has no other way to stop;
// who had it validate recovers.
func (e *effort) Validate(*jsonschema.ValidatorContext, any) { e.step() }

func (e *effort) step() {
	if e.spent++; e.spent > maxSteps {
		panic(tooManySteps)
	}
}

// cyclic tells whether validation met a reference without end, of which JSON
// Schema says that its behavior is undefined (core 2020-12, section 9.4.1).
func hasRefCycle(e *jsonschema.ValidationError) bool {
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(e.Causes, hasRefCycle)
}

// wildNumber returns a number of v whose exponent the engine would expand into
// more than thousands of digits, "" if there is none.
func hugeNumber(v gjson.Result) (wild string) {
	switch {
	case v.Type == gjson.Number:
		if _, ok := parseRat(v.Raw); !ok {
			return describe(v)
		}
	case v.IsObject() || v.IsArray():
		// Text without an exponent of four digits has no such number.
		if !longExponent.MatchString(v.Raw) {
			return ""
		}
		v.ForEach(func(_, sub gjson.Result) bool {
			wild = hugeNumber(sub)
			return wild == ""
		})
	}
	return wild
}

var longExponent = regexp.MustCompile(`[0-9][eE][+-]?[0-9]{4}`)
