package schema

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/memo"
	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// Why the probes of dialects are not observed, and what helps.
const (
	noDialectTool   = "no tool that may be called with invalid arguments has a schema that depends on the dialect"
	allowWrongCalls = "--allow-tools NAME,… allows such calls"
)

// dialectProbes returns the probes of basic/index#schema-dialect and
// #implementation-requirements, since 2025-11-25: the arguments that a tool refuses show
// by which dialect the server reads its schema.
func dialectProbes() []check.Check {
	return []check.Check{
		{
			ID:    "schema.dialect.default",
			Says:  "a tool whose schema names no dialect refuses arguments that only JSON Schema 2020-12 forbids",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"schema-dialect-default-2020-12"},
			Idle:  noDialectTool,
			Hint:  "offer a tool whose inputSchema has prefixItems or dependentRequired" + check.AndAllow,
			Probe: func(t *check.T) {
				expectDialect(t, offer.Draft07, func(input gjson.Result) bool {
					return !wire.Member(input, "$schema").Exists() && sinceDraft07.MatchString(input.Raw)
				})
			},
		},
		{
			ID:    "schema.dialect.declared",
			Says:  "a tool whose schema names an older dialect refuses arguments that only that dialect forbids",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"schema-validate-by-dialect"},
			Idle:  noDialectTool,
			Hint:  "offer a tool whose inputSchema names an older dialect in $schema" + check.AndAllow,
			Probe: func(t *check.T) {
				expectDialect(t, offer.Draft2020, func(input gjson.Result) bool {
					if !wire.Member(input, "$schema").Exists() {
						return false
					}
					own, err := schema.CompileTool([]byte(input.Raw))
					return err == nil && own.Dialect() != offer.Draft2020
				})
			},
		},
	}
}

// sinceDraft07 matches keywords that draft-07 does not know; the two dialects share all
// other keywords that forbid something.
var sinceDraft07 = regexp.MustCompile(`"(prefixItems|dependentRequired|dependentSchemas|` +
	`unevaluatedItems|unevaluatedProperties|minContains|maxContains|\$dynamicRef)"`)

// expectDialect calls the tools whose schemas are subjects with arguments that their own
// dialect forbids and another does not, and fails the check if one accepts them. A tool
// shows something only if it accepts arguments that its schema allows, and refuses some
// that every dialect forbids.
func expectDialect(t *check.T, other string, isSubject func(inputSchema gjson.Result) bool) {
	for _, tool := range offer.Tools(t) {
		input := tool.Get("inputSchema")
		if !t.Config().MaySendInvalid(tool) || offer.RequiresTask(t, tool) || !isSubject(input) {
			continue
		}
		allowed := offer.MakeArguments(t, tool, maxDialectPairs)
		pairs, _ := madePairs.Get(other+" "+input.Raw, func() ([]argumentPair, error) {
			return dialectPairs([]byte(input.Raw), allowed, other), nil
		})
		for _, pair := range pairs {
			if !accepts(t, tool, pair.allowed) || !refusesInvalid(t, tool) {
				break
			}
			r := t.Try("tools/call", offer.CallParams(tool, pair.forbidden))
			if r.Err != nil {
				break // other checks judge that requests are answered
			}
			if check.Succeeded(t, r.Message) {
				t.Mark(r.Entry)
				t.Fail("an error, or a result with isError true", r.Message.Summary(),
					"tool %q accepted %s, which its schema forbids by a keyword of its dialect",
					tool.Get("name").String(), wire.Clip(pair.forbidden, 200))
			}
			t.Saw()
		}
	}
}

// accepts reports whether a call of a tool succeeds.
func accepts(t *check.T, tool gjson.Result, arguments string) bool {
	r := t.Try("tools/call", offer.CallParams(tool, arguments))
	return r.Err == nil && check.Succeeded(t, r.Message)
}

// refusesInvalid reports whether a tool refuses arguments that every dialect forbids.
func refusesInvalid(t *check.T, tool gjson.Result) bool {
	misfits := offer.InvalidArguments(t, tool)
	i := slices.IndexFunc(misfits, func(m schema.InvalidArguments) bool { return !m.Repairable })
	return i >= 0 && !accepts(t, tool, string(misfits[i].JSON))
}

// madePairs holds what dialectPairs returned: in a run every revision lists the same
// tools.
var madePairs = memo.Cache[[]argumentPair]{MaxResults: 64}

// An argumentPair is arguments that a schema allows, and a variant that it forbids.
type argumentPair struct{ allowed, forbidden string }

// dialectPairs returns pairs for an inputSchema in which another dialect finds nothing
// wrong with the forbidden arguments that it does not find with the allowed ones too.
func dialectPairs(input []byte, allowed []string, other string) []argumentPair {
	own, err := schema.CompileTool(input)
	if err != nil {
		return nil
	}
	foreign, err := offer.CompileAs(input, other)
	if err != nil {
		return nil
	}
	var out []argumentPair
	for _, args := range allowed {
		before, err := foreign.Validate([]byte(args))
		if err != nil {
			continue
		}
		for _, variant := range variants(args) {
			broken, err := own.Validate(variant)
			after, otherErr := foreign.Validate(variant)
			if err != nil || otherErr != nil || len(broken) == 0 || len(out) == maxDialectPairs {
				continue
			}
			if !slices.ContainsFunc(after, func(v schema.Violation) bool { return !slices.Contains(before, v) }) {
				out = append(out, argumentPair{args, string(variant)})
			}
		}
	}
	return out
}

// maxDialectPairs bounds the arguments that are varied, and the variants that are sent.
const maxDialectPairs = 6

// variants returns an object with each member removed in turn, each of its arrays
// emptied, and each of their items replaced.
func variants(raw string) [][]byte {
	var out [][]byte
	add := func(edit func(args map[string]any)) {
		args := map[string]any{}
		if json.Unmarshal([]byte(raw), &args) != nil {
			return
		}
		edit(args)
		if b, err := json.Marshal(args); err == nil {
			out = append(out, b)
		}
	}
	gjson.Parse(raw).ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		add(func(args map[string]any) { delete(args, name) })
		if !value.IsArray() {
			return true
		}
		add(func(args map[string]any) { args[name] = []any{} })
		for i := range value.Array() {
			add(func(args map[string]any) { args[name].([]any)[i] = map[string]any{"mcpcheck": []any{nil}} })
		}
		return true
	})
	return out
}
