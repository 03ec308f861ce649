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
	mu       sync.Mutex // guards effort
	effort   *effort
}

// An InvalidSchemaError means that a schema breaks the meta-schema of its dialect.
type InvalidSchemaError struct {
	Dialect    string      // URI
	Violations []Violation // never empty; paths point into the schema
}

func (e *InvalidSchemaError) Error() string {
	return fmt.Sprintf("not a valid schema of %s: %v", e.Dialect, e.Violations[0])
}

// An UnknownDialectError means that $schema names none of draft-04, draft-06,
// draft-07, 2019-09 and 2020-12. The schema is not judged.
type UnknownDialectError struct{ URI string }

func (e *UnknownDialectError) Error() string { return fmt.Sprintf("unknown dialect %q", e.URI) }

// An UnresolvedRefError means that a reference is to a place outside of the schema,
// which is never followed, or, if Local, to a place in it that does not exist.
type UnresolvedRefError struct {
	Ref   string
	Local bool
}

func (e *UnresolvedRefError) Error() string {
	if e.Local {
		return fmt.Sprintf("reference %s is to a place that the schema does not have", e.Ref)
	}
	return fmt.Sprintf("reference %s is to a place outside of the schema", e.Ref)
}

// A NotJudgedError says why the engine cannot validate a schema or an instance. It
// is no statement about the peer.
type NotJudgedError struct{ Why string }

func (e *NotJudgedError) Error() string { return "not judged: " + e.Why }

// dialects are the known dialects, newest first.
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

// dialectOf returns the index of the dialect that $schema names, -1 if it is
// unknown.
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

// CompileTool compiles the schema of a tool in the dialect that its $schema names,
// 2020-12 if it names none (basic/index#json-schema-usage, since 2025-11-25). It
// fetches nothing. The error is an *InvalidSchemaError, *UnknownDialectError,
// *UnresolvedRefError or *NotJudgedError.
func CompileTool(raw []byte) (*ToolSchema, error) {
	return compileCached(&declaredCache, raw, compileDeclared)
}

// compileCached compiles a schema once, unless it is too large for the cache: in a
// run every session returns the same tools.
func compileCached(kept *memo.Cache[*ToolSchema], raw []byte,
	compile func(raw []byte) (*ToolSchema, error)) (*ToolSchema, error) {
	const largest = 64 << 10
	if len(raw) > largest {
		return compile(raw)
	}
	return kept.Get(string(raw), func() (*ToolSchema, error) { return compile(raw) })
}

// The results of CompileTool and CompileToolAnyDialect.
var declaredCache, anyDialectCache = memo.Cache[*ToolSchema]{MaxResults: 512}, memo.Cache[*ToolSchema]{MaxResults: 512}

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

// CompileToolAnyDialect compiles the schema in the first dialect that it fits: the
// one that it names, then the others, newest first. Up to 2025-06-18 no revision
// defines the dialect of a tool's schema. The error is that of the first dialect.
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

// The limits of schemas that are compiled: the time of the engine grows with the
// cube of the nesting (measured: 0.5 s at 800 levels).
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

// Dialect returns the URI of the dialect that the schema was compiled in.
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
			found, err = nil, &NotJudgedError{fmt.Sprintf("the schema engine stopped: %v", p)}
		}
	}()
	err = t.compiled.Validate(value)
	if err == nil {
		return nil, nil
	}
	var why *jsonschema.ValidationError
	if errors.As(err, &why) {
		if hasRefCycle(why) {
			return nil, &NotJudgedError{"a reference of the schema is to itself"}
		}
		return flattenErrors(why), nil
	}
	return nil, &NotJudgedError{err.Error()}
}

// hasRefCycle reports whether validation met an infinite recursion of references,
// whose behavior JSON Schema leaves undefined (core 2020-12, section 9.4.1).
func hasRefCycle(e *jsonschema.ValidationError) bool {
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(e.Causes, hasRefCycle)
}

// hugeNumber returns a number of v whose exponent the engine would expand into
// many thousands of digits, "" if there is none.
func hugeNumber(v gjson.Result) (huge string) {
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
			huge = hugeNumber(sub)
			return huge == ""
		})
	}
	return huge
}

var longExponent = regexp.MustCompile(`[0-9][eE][+-]?[0-9]{4}`)
