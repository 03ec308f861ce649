package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
)

// The run abandons schemas that no generator can satisfy in time, also if a server
// lists many of them.
func TestHostileInputSchemasDoNotDelayRun(t *testing.T) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `,"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	var tools []string
	for i := range 80 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","annotations":{"readOnlyHint":true},"inputSchema":`+
			`{"type":"object","title":"%d","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{"d40":{"not":{}}%s}}}`,
			i, i, defs.String()))
	}
	counts := map[string]int{}
	began := time.Now()
	got, _ := runChecksAt(t, toolListTarget(counts, func(m wire.Message) string {
		if m.Method() == "tools/list" {
			return `{"tools":[` + strings.Join(tools, ",") + `]}`
		}
		return `{"content":[]}`
	}), spec.V2025_06_18, "tools.call.*", "tools.result.*")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the run took %v", took)
	}
	if o := got["tools.call.arguments.validated"]; o.Verdict != reports.NotObserved {
		t.Errorf("%s is %s: %s", o.ID, o.Verdict, o.Detail)
	}
	t.Logf("%v, %v", time.Since(began), counts)
}

// partlyValidatingTools are tools that check their arguments in part, with the text that
// the report contains.
var partlyValidatingTools = map[string]struct {
	schema  string
	takes   func(args map[string]any) bool
	verdict reports.Verdict
	says    string // in the detail or the notes
}{
	"enum": {`{"type":"object","properties":{"sort":{"type":"string","enum":["up","down"]}},` +
		`"required":["sort"],"additionalProperties":false}`,
		func(args map[string]any) bool {
			_, ok := args["sort"].(string)
			return ok && len(args) == 1
		}, reports.Fail, `enum: /sort is not one of up, down`},
	"maximum": {`{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":50}},` +
		`"required":["limit"]}`,
		func(args map[string]any) bool {
			n, ok := args["limit"].(float64)
			return ok && n >= 1
		}, reports.Fail, `maximum: /limit is 51, more than 50`},
	"nested": {`{"type":"object","properties":{"at":` +
		`{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}},"required":["at"]}`,
		func(args map[string]any) bool {
			at, ok := args["at"].(map[string]any)
			_, number := at["x"].(float64)
			return ok && (at["x"] == nil || number)
		}, reports.Fail, `required: /at/x is missing`},
	"additional members are dropped": {`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],` +
		`"additionalProperties":false}`,
		func(args map[string]any) bool {
			_, ok := args["q"].(string)
			return ok
		}, reports.Pass, `additionalProperties: /mcpcheck is not allowed`},
	"a default is filled in": {`{"type":"object","properties":{"q":{"type":"string"},` +
		`"n":{"type":"integer","default":3}},"required":["q","n"]}`,
		func(args map[string]any) bool {
			_, q := args["q"].(string)
			_, n := args["n"].(float64)
			return q && (n || args["n"] == nil)
		}, reports.Pass, `required: /n is missing`},
	"all invalid arguments are refused": {`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`,
		func(args map[string]any) bool { _, ok := args["q"].(string); return ok }, reports.Pass, ``},
}

// A failure names the constraint of the schema that the tool does not check. Where the
// tool may have repaired the arguments, a note names it.
func TestNamesConstraintThatToolDoesNotCheck(t *testing.T) {
	for name, c := range partlyValidatingTools {
		got, _ := runChecksAt(t, toolListTarget(map[string]int{}, func(m wire.Message) string {
			if m.Method() == "tools/list" {
				return `{"tools":[{"name":"act","inputSchema":` + c.schema + `}]}`
			}
			var args map[string]any
			if json.Unmarshal([]byte(m.Params().Get("arguments").Raw), &args) == nil && c.takes(args) {
				return `{"content":[]}`
			}
			return `{"content":[],"isError":true}`
		}), spec.V2025_06_18, "tools.call.arguments.validated")
		o := got["tools.call.arguments.validated"]
		if o.Verdict != c.verdict || !strings.Contains(o.Detail+strings.Join(o.Notes, "\n"), c.says) {
			t.Errorf("%s: %s, %s, notes %q", name, o.Verdict, o.Detail, o.Notes)
		}
		if c.says == "" && len(o.Notes) > 0 {
			t.Errorf("%s: notes %q", name, o.Notes)
		}
	}
}
