package schema

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A reason explains a difference of the generated and the official schema. They agree if a value
// in the definitions of the official schema is replaced.
type reason struct {
	in  spec.Set
	at  string // the path from the definitions, separated by spaces
	to  string // JSON
	why string
}

func (r reason) name() string { return r.at + ": " + r.why }

const (
	// schema.ts says number, the generator of schema.json writes integer, and no
	// page requires an integer.
	narrowed = "schema.ts says number, the generated schema integer"
	// JSON-RPC 2.0 section 5: the id is null if that of the request was unreadable;
	// schema.ts requires it to be absent (since 2025-11-25) or valid (before).
	nullID = "JSON-RPC 2.0 section 5 allows the id null, and later revisions none"
	// schema.ts: a JSONValue may be null, and its numbers may be fractions.
	lostNull = "schema.ts allows null and fractions in a JSONValue"
)

var listed = func() []reason {
	const id = `{"anyOf":[{"type":["string","integer"]},{"type":"null"}]}`
	only11, since06, since11, since26 := spec.Only(spec.V2025_11_25), spec.Since(spec.V2025_06_18), spec.Since(
		spec.V2025_11_25), spec.Since(spec.V2026_07_28)
	until06 := spec.Until(spec.V2025_06_18)
	number, numberOrString := `"number"`, `["string","number"]`
	return []reason{
		{spec.Every, "ProgressToken type", numberOrString, narrowed},
		{spec.Every, "Resource properties size type", number, narrowed},
		{since06, "ResourceLink properties size type", number, narrowed},
		{spec.Every, "CompleteResult properties completion properties total type", number, narrowed},
		{until06, "CreateMessageRequest properties params properties maxTokens type", number, narrowed},
		{since11, "CreateMessageRequestParams properties maxTokens type", number, narrowed},
		{spec.Only(spec.V2025_06_18), "ElicitResult properties content additionalProperties type",
			`["string","number","boolean"]`, narrowed},
		{since11, "ElicitResult properties content additionalProperties anyOf",
			`[{"items":{"type":"string"},"type":"array"},{"type":["string","number","boolean"]}]`, narrowed},
		{since06, "StringSchema properties minLength type", number, narrowed},
		{since06, "StringSchema properties maxLength type", number, narrowed},
		{since11, "UntitledMultiSelectEnumSchema properties minItems type", number, narrowed},
		{since11, "UntitledMultiSelectEnumSchema properties maxItems type", number, narrowed},
		{since11, "TitledMultiSelectEnumSchema properties minItems type", number, narrowed},
		{since11, "TitledMultiSelectEnumSchema properties maxItems type", number, narrowed},
		{only11, "TaskMetadata properties ttl type", number, narrowed},
		{only11, "Task properties ttl type", `["number","null"]`, narrowed},
		{only11, "Task properties pollInterval type", number, narrowed},
		{until06, "JSONRPCError properties id", id, nullID},
		{until06, "JSONRPCError required", `["error","jsonrpc"]`, nullID},
		{since11, "JSONRPCErrorResponse properties id", id, nullID},
		{only11, "URLElicitationRequiredError properties id", id, nullID},
		{since26, "HeaderMismatchError properties id", id, nullID},
		{since26, "MissingRequiredClientCapabilityError properties id", id, nullID},
		{since26, "UnsupportedProtocolVersionError properties id", id, nullID},
		{since26, "JSONValue", `{}`, lostNull},
	}
}()

// patch applies the reasons to a schema document.
func patch(t *testing.T, doc any, reasons ...reason) any {
	t.Helper()
	_, defs := definitions(doc)
	for _, r := range reasons {
		at := defs
		steps := strings.Fields(r.at)
		for i, step := range steps {
			if _, there := at[step]; !there {
				t.Fatalf("%s: the official schema has no %s", r.at, step)
			}
			if i == len(steps)-1 {
				at[step] = decode(t, []byte(r.to))
				break
			}
			at = at[step].(map[string]any)
		}
	}
	return doc
}
