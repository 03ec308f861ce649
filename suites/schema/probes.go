package schema

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// dialectProbes are the probes of basic/index#schema-dialect and
// #implementation-requirements, since 2025-11-25: by which dialect a server
// reads the schemas of its own tools shows in the arguments that it refuses.
func dialectProbes() []check.Check {
	return []check.Check{
		{
			ID:    "schema.dialect.default",
			Says:  "a tool whose schema names no dialect refuses arguments that JSON Schema 2020-12 forbids and draft-07 would not",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"schema-dialect-default-2020-12"},
			Probe: func(t *check.T) {
				heldTo(t, offer.Draft07, func(input gjson.Result) bool {
					return !wire.Member(input, "$schema").Exists() && sinceDraft07.MatchString(input.Raw)
				})
			},
		},
		{
			ID:    "schema.dialect.declared",
			Says:  "a tool whose schema names an older dialect refuses arguments that this dialect forbids and 2020-12 would not",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"schema-validate-by-dialect"},
			Probe: func(t *check.T) {
				heldTo(t, offer.Draft2020, func(input gjson.Result) bool {
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

// sinceDraft07 finds keywords that draft-07 does not know; the rest of 2020-12
// it forbids with, it shares.
var sinceDraft07 = regexp.MustCompile(`"(prefixItems|dependentRequired|dependentSchemas|unevaluatedItems|unevaluatedProperties|minContains|maxContains|\$dynamicRef)"`)

// heldTo calls tools whose schema is of interest with arguments that it
// forbids by what only its own dialect says. Before, a tool must take arguments
// that it allows, and refuse some that every dialect forbids: of one that takes
// nothing, or anything, nothing is learnt here.
func heldTo(t *check.T, other string, interest func(inputSchema gjson.Result) bool) {
	seen := false
	for _, tool := range offer.Tools(t) {
		input := tool.Get("inputSchema")
		if !t.Config().MaySendInvalid(tool) || offer.OnlyAsTask(t, tool) || !interest(input) {
			continue
		}
		for _, pair := range telling(tool, offer.Generator(t, tool), other) {
			if !takes(t, tool, pair.allowed) || !refusesPlainly(t, tool) {
				break
			}
			e, err := t.Try("tools/call", offer.CallParams(tool, pair.forbidden)).Get()
			if err != nil {
				break // that requests are answered has checks of its own
			}
			if m := e.Message; taken(t, m) {
				t.Mark(e)
				t.Fail("an error, or a result with isError true", m.Summary(),
					"tool %q took %s, which its schema forbids by what only its dialect says", tool.Get("name").String(), wire.Clip(pair.forbidden, 200))
			}
			seen = true
		}
	}
	if !seen {
		t.NotObserved("no tool that may be called with wrong arguments has a schema whose meaning depends on the dialect", "--allow-tools NAME,… allows such calls")
	}
}

func taken(t *check.T, m wire.Message) bool {
	return m.Kind == wire.Result && check.IsComplete(t, m) && !m.Result().Get("isError").Bool()
}

func takes(t *check.T, tool gjson.Result, args string) bool {
	e, err := t.Try("tools/call", offer.CallParams(tool, args)).Get()
	return err == nil && taken(t, e.Message)
}

func refusesPlainly(t *check.T, tool gjson.Result) bool {
	wrong := offer.Misfits(t, tool)
	i := slices.IndexFunc(wrong, func(m schema.Misfit) bool { return !m.Mends })
	return i >= 0 && !takes(t, tool, string(wrong[i].JSON))
}

// A pair is arguments that a schema allows, and a variant that it forbids.
type pair struct{ allowed, forbidden string }

// telling returns pairs of which the schema of a tool, were it of the other
// dialect, would find nothing in the forbidden one that it does not find in the
// allowed one too.
func telling(tool gjson.Result, g *schema.Generator, other string) []pair {
	input := []byte(tool.Get("inputSchema").Raw)
	own, err := schema.CompileTool(input)
	if err != nil {
		return nil
	}
	foreign, err := offer.RecompileAs(input, other)
	if err != nil {
		return nil
	}
	var out []pair
	for _, raw := range offer.Made(g, telltales) {
		before, err := foreign.Validate([]byte(raw))
		if err != nil {
			continue
		}
		for _, args := range variants(raw) {
			wrong, err := own.Validate(args)
			after, otherErr := foreign.Validate(args)
			if err != nil || otherErr != nil || len(wrong) == 0 || len(out) == telltales {
				continue
			}
			if !slices.ContainsFunc(after, func(v schema.Violation) bool { return !slices.Contains(before, v) }) {
				out = append(out, pair{raw, string(args)})
			}
		}
	}
	return out
}

// telltales bounds the arguments that are varied, and those that are sent.
const telltales = 6

// variants returns an object with each member taken out in turn, each of its
// arrays emptied, and each item of them replaced.
func variants(raw string) [][]byte {
	var out [][]byte
	edited := func(edit func(args map[string]any)) {
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
		edited(func(args map[string]any) { delete(args, name) })
		if !value.IsArray() {
			return true
		}
		edited(func(args map[string]any) { args[name] = []any{} })
		for i := range value.Array() {
			edited(func(args map[string]any) { args[name].([]any)[i] = map[string]any{"mcpcheck": []any{nil}} })
		}
		return true
	})
	return out
}
