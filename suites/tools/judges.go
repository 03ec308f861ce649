package tools

import (
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// The reasons why several checks are not observed, and what helps.
const (
	noList        = "the server returned no list of tools"
	noListed      = "the server listed no tool"
	offerTool     = "list a tool"
	changeTools   = "offer a tool that changes the list of tools" + check.AndAllow
	noListChanged = "the server sent no notifications/tools/list_changed"
)

// judgesOfTools returns the judges of server/tools#tool and #listing-tools: of the
// tools that a server lists. judgesOfSchemas has those of their schemas.
func judgesOfTools() []check.Check {
	return slices.Concat(judgesOfLists(), judgesOfNames(), judgesOfMembers())
}

// judgesOfLists returns the judges of #listing-tools and #list-changed-notification.
func judgesOfLists() []check.Check {
	return []check.Check{
		{
			ID:    "tools.list.array",
			Says:  "the result of tools/list has an array tools",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-list-result"},
			Idle:  noList,
			Hint:  "offer tools, and answer tools/list",
			Judge: func(j *check.J) {
				check.Each(j, transcript.Results(j, "tools/list"), func(r transcript.Answered) bool {
					if list := r.Result.Get("tools"); !list.IsArray() {
						j.Fail(r.Answer, "tools is %s, not an array", wire.TypeName(list))
					}
					return true
				})
			},
		},
		{
			ID:    "tools.list-changed.undeclared",
			Says:  "the server sends notifications/tools/list_changed only if it declares tools.listChanged",
			Level: spec.Must,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"tools-list-changed-needs-flag"},
			Idle:  noListChanged,
			Hint:  changeTools,
			Judge: func(j *check.J) {
				transcript.JudgeUndeclared(j, "notifications/tools/list_changed", "tools.listChanged")
			},
		},
		{
			ID:    "tools.list-changed.undeclared.advised",
			Says:  "the server sends notifications/tools/list_changed only if it declares tools.listChanged",
			Level: spec.Should,
			In:    spec.Every &^ spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"tools-list-changed-needs-flag"},
			Idle:  noListChanged,
			Hint:  changeTools,
			Judge: func(j *check.J) {
				transcript.JudgeUndeclared(j, "notifications/tools/list_changed", "tools.listChanged")
			},
		},
	}
}

// judgesOfNames returns the judges of #tool-names.
func judgesOfNames() []check.Check {
	return []check.Check{
		{
			ID:    "tools.name.string",
			Says:  "every tool has a string name",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-tool-name"},
			Idle:  noListed,
			Hint:  offerTool,
			Judge: func(j *check.J) {
				for _, r := range transcript.Results(j, "tools/list") {
					if !r.Result.Get("tools").IsArray() {
						continue
					}
					for i, tool := range r.Result.Get("tools").Array() {
						switch name := tool.Get("name"); {
						case !tool.IsObject():
							j.Fail(r.Answer, "entry %d of tools is %s, not a tool", i, wire.TypeName(tool))
						case name.Type != gjson.String:
							j.Fail(r.Answer, "the name of tool %d is %s, not a string", i, wire.TypeName(name))
						default:
							j.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "tools.name.unique",
			Says:  "no two tools have the same name",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"tools-tool-name-unique"},
			Idle:  noListed,
			Hint:  offerTool,
			Judge: func(j *check.J) { transcript.JudgeUnique(j, "tools/list", "tools", "name", "tools have the name") },
		},
		{
			ID:    "tools.name.length",
			Says:  "the name of a tool has 1 to 128 characters",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"tools-name-length"},
			Idle:  noListed,
			Hint:  offerTool,
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
					name := l.Item.Get("name")
					if n := utf8.RuneCountInString(name.Str); name.Type == gjson.String && (n < 1 || n > 128) {
						j.Fail(l.Answer, "the name %q has %d characters", wire.Clip(name.Str, 80), n)
					}
					return name.Type == gjson.String
				})
			},
		},
		{
			ID:    "tools.name.characters",
			Says:  "the name of a tool has only ASCII letters, digits, underscores, hyphens and dots",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"tools-name-charset", "tools-name-no-special"},
			Idle:  noListed,
			Hint:  offerTool,
			// tools.name.length judges an empty name.
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
					name := l.Item.Get("name")
					if name.Type != gjson.String || name.Str == "" {
						return false
					}
					for _, r := range name.Str {
						if !isNameCharacter(r) {
							j.Fail(l.Answer, "the name %q has the character %q", wire.Clip(name.Str, 80), r)
							break
						}
					}
					return true
				})
			},
		},
	}
}

// isNameCharacter reports whether the name of a tool should have a character.
func isNameCharacter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.'
}

// judgesOfMembers returns the judges of the optional members of a tool.
func judgesOfMembers() []check.Check {
	return []check.Check{
		{
			ID:    "tools.title.string",
			Says:  "the title of a tool is a string",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-tool-title-type"},
			Idle:  "no tool has a title",
			Hint:  "offer a tool with a title",
			Judge: func(j *check.J) { judgeText(j, "title") },
		},
		{
			ID:    "tools.description.string",
			Says:  "the description of a tool is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-tool-description-type"},
			Idle:  "no tool has a description",
			Hint:  "offer a tool with a description",
			Judge: func(j *check.J) { judgeText(j, "description") },
		},
		{
			ID:    "tools.annotations.types",
			Says:  "the annotations of a tool are an object whose title is a string and whose hints are booleans",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"tools-annotations-types"},
			Idle:  "no tool has annotations",
			Hint:  "offer a tool with annotations",
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
					annotations := l.Item.Get("annotations")
					if !annotations.Exists() {
						return false
					}
					if problem := annotationsProblem(annotations); problem != "" {
						j.Fail(l.Answer, "%s: %s", transcript.ToolLabel(l.Item), problem)
					}
					return true
				})
			},
		},
		{
			ID: "tools.annotations.schema",
			Says: "the annotations of a tool are not the JSON Schema of its arguments, which clients look for in" +
				" inputSchema",
			Level: spec.Robust,
			In:    spec.Since(spec.V2025_03_26),
			Spec:  "server/tools#tool",
			Idle:  "no tool has annotations",
			Hint:  "offer a tool with annotations",
			// Further members are allowed. Only a schema of an object whose properties
			// inputSchema does not have shows that one was taken for the other.
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
					annotations := l.Item.Get("annotations")
					properties := annotations.Get("properties")
					if annotations.Get("type").Str == "object" && properties.IsObject() {
						properties.ForEach(func(name, _ gjson.Result) bool {
							listed := wire.Member(l.Item.Get("inputSchema.properties"), name.String()).Exists()
							if !listed {
								j.Fail(l.Answer, "%s: annotations is a JSON Schema with the property %q,"+
									" which inputSchema does not have", transcript.ToolLabel(l.Item), name.String())
							}
							return listed
						})
					}
					return annotations.Exists()
				})
			},
		},
		{
			ID:    "tools.execution.task-support",
			Says:  "the taskSupport of a tool is forbidden, optional or required",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"tools-execution-task-support-enum"},
			Idle:  "no tool has taskSupport",
			Hint:  "offer a tool with taskSupport",
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
					execution := l.Item.Get("execution")
					support := execution.Get("taskSupport")
					switch {
					case !execution.Exists() || execution.IsObject() && !support.Exists():
						return false
					case !execution.IsObject():
						j.Fail(l.Answer, "%s: execution is %s, not an object", transcript.ToolLabel(l.Item),
							wire.TypeName(execution))
					case support.Type != gjson.String ||
						!slices.Contains([]string{"forbidden", "optional", "required"}, support.Str):
						j.Fail(l.Answer, "%s: taskSupport is %s", transcript.ToolLabel(l.Item),
							wire.Clip(support.Raw, 80))
					}
					return true
				})
			},
		},
	}
}

// judgeText judges that a member of a tool is a string if it is present; null is not
// a string.
func judgeText(j *check.J, member string) {
	check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
		v := l.Item.Get(member)
		if v.Exists() && v.Type != gjson.String {
			j.Fail(l.Answer, "%s: %s is %s, not a string", transcript.ToolLabel(l.Item), member, wire.TypeName(v))
		}
		return v.Exists()
	})
}

// annotationsProblem returns how the annotations of a tool break
// schema.ts#ToolAnnotations, or "". Other members are allowed.
func annotationsProblem(annotations gjson.Result) string {
	if !annotations.IsObject() {
		return "annotations is " + wire.TypeName(annotations) + ", not an object"
	}
	if title := annotations.Get("title"); title.Exists() && title.Type != gjson.String {
		return "the title in its annotations is " + wire.TypeName(title) + ", not a string"
	}
	for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		if v := annotations.Get(hint); v.Exists() && !v.IsBool() {
			return hint + " is " + wire.TypeName(v) + ", not a boolean"
		}
	}
	return ""
}
