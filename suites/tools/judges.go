package tools

import (
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// toolJudges are the judges of server/tools#tool: the definitions that a server
// lists. Their schemas are in tools_schemas.go.
func toolJudges() []check.Check {
	return []check.Check{
		{
			ID:    "tools.list.array",
			Says:  "the result of tools/list has an array tools",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-list-result"},
			Judge: func(j *check.J) {
				transcript.EachResult(j, "tools/list", func(e wire.Entry, _ wire.Message, result gjson.Result) {
					if list := result.Get("tools"); !list.IsArray() {
						j.Fail(e, "tools is %s, not an array", wire.TypeName(list))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tools.name.string",
			Says:  "every tool has a string name",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-tool-name"},
			Judge: func(j *check.J) {
				transcript.EachResult(j, "tools/list", func(e wire.Entry, _ wire.Message, result gjson.Result) {
					if !result.Get("tools").IsArray() {
						return
					}
					for i, tool := range result.Get("tools").Array() {
						switch name := tool.Get("name"); {
						case !tool.IsObject():
							j.Fail(e, "entry %d of tools is %s, not a tool", i, wire.TypeName(tool))
						case name.Type != gjson.String:
							j.Fail(e, "the name of tool %d is %s, not a string", i, wire.TypeName(name))
						default:
							j.Saw()
						}
					}
				})
			},
		},
		{
			ID:    "tools.name.unique",
			Says:  "no two tools have the same name",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"tools-tool-name-unique"},
			Judge: func(j *check.J) { transcript.JudgeUnique(j, "tools/list", "tools", "name", "tools are called") },
		},
		{
			ID:    "tools.name.length",
			Says:  "the name of a tool has 1 to 128 characters",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"tools-name-length"},
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					name := tool.Get("name")
					if name.Type != gjson.String {
						return
					}
					if n := utf8.RuneCountInString(name.String()); n < 1 || n > 128 {
						j.Fail(e, "the name %q has %d characters", wire.Clip(name.String(), 80), n)
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tools.name.characters",
			Says:  "the name of a tool has only ASCII letters, digits, underscores, hyphens and dots",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"tools-name-charset", "tools-name-no-special"},
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					name := tool.Get("name")
					if name.Type != gjson.String || name.String() == "" {
						return
					}
					for _, r := range name.String() {
						switch {
						case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
						default:
							j.Fail(e, "the name %q has the character %q", wire.Clip(name.String(), 80), r)
							return
						}
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tools.title.string",
			Says:  "the title of a tool is a string",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-tool-title-type"},
			Judge: func(j *check.J) { toolText(j, "title") },
		},
		{
			ID:    "tools.description.string",
			Says:  "the description of a tool is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-tool-description-type"},
			Judge: func(j *check.J) { toolText(j, "description") },
		},
		{
			ID:    "tools.annotations.types",
			Says:  "the annotations of a tool are an object whose title is a string and whose hints are booleans",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"tools-annotations-types"},
			// toolAnnotations judges the members that schema.ts#ToolAnnotations knows;
			// others are allowed.
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					hints := tool.Get("annotations")
					if !hints.Exists() {
						return
					}
					if !hints.IsObject() {
						j.Fail(e, "%s: its annotations are %s, not an object", transcript.ToolLabel(tool), wire.TypeName(hints))
						return
					}
					if title := hints.Get("title"); title.Exists() && title.Type != gjson.String {
						j.Fail(e, "%s: the title in its annotations is %s, not a string", transcript.ToolLabel(tool), wire.TypeName(title))
						return
					}
					for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
						if v := hints.Get(hint); v.Exists() && !v.IsBool() {
							j.Fail(e, "%s: its %s is %s, not a boolean", transcript.ToolLabel(tool), hint, wire.TypeName(v))
							return
						}
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tools.execution.task-support",
			Says:  "taskSupport of a tool is forbidden, optional or required",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"tools-execution-task-support-enum"},
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					execution := tool.Get("execution")
					support := execution.Get("taskSupport")
					switch {
					case !execution.Exists() || execution.IsObject() && !support.Exists():
					case !execution.IsObject():
						j.Fail(e, "%s: its execution is %s, not an object", transcript.ToolLabel(tool), wire.TypeName(execution))
					case support.Type == gjson.String && (support.Str == "forbidden" || support.Str == "optional" || support.Str == "required"):
						j.Saw()
					default:
						j.Fail(e, "%s: its taskSupport is %s", transcript.ToolLabel(tool), wire.Clip(support.Raw, 80))
					}
				})
			},
		},
		{
			ID:    "tools.list-changed.undeclared",
			Says:  "notifications/tools/list_changed is sent only where tools.listChanged is declared",
			Level: spec.Must,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"tools-list-changed-needs-flag"},
			Judge: func(j *check.J) {
				transcript.JudgeUndeclared(j, "notifications/tools/list_changed", "tools.listChanged")
			},
		},
		{
			ID:    "tools.list-changed.undeclared.advised",
			Says:  "notifications/tools/list_changed is sent only where tools.listChanged is declared",
			Level: spec.Should,
			In:    spec.Every &^ spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"tools-list-changed-needs-flag"},
			Judge: func(j *check.J) {
				transcript.JudgeUndeclared(j, "notifications/tools/list_changed", "tools.listChanged")
			},
		},
	}
}

// toolText judges a member that is optional but then a string; null is none.
func toolText(j *check.J, member string) {
	transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
		switch v := tool.Get(member); {
		case !v.Exists():
		case v.Type != gjson.String:
			j.Fail(e, "%s: its %s is %s, not a string", transcript.ToolLabel(tool), member, wire.TypeName(v))
		default:
			j.Saw()
		}
	})
}
