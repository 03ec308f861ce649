package tools

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// resultJudges are the judges of server/tools#tool-result. What stands inside a
// content block is judged wherever content occurs, not here.
func resultJudges() []check.Check {
	return []check.Check{
		{
			ID:    "tools.result.content",
			Says:  "the result of tools/call has an array content",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-call-result-content"},
			Judge: func(j *check.J) {
				eachCallResult(j, func(e wire.Entry, tool string, result gjson.Result) {
					if c := result.Get("content"); !c.IsArray() {
						j.Fail(e, "the result of tool %q: content is %s, not an array", wire.Clip(tool, 80), wire.TypeName(c))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tools.result.is-error",
			Says:  "isError in the result of tools/call is a boolean",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-call-result-is-error-type"},
			Judge: func(j *check.J) {
				eachCallResult(j, func(e wire.Entry, tool string, result gjson.Result) {
					switch v := result.Get("isError"); {
					case !v.Exists():
					case !v.IsBool():
						j.Fail(e, "the result of tool %q: isError is %s, not a boolean", wire.Clip(tool, 80), wire.TypeName(v))
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "tools.result.structured.object",
			Says:  "structuredContent is an object",
			Level: spec.Must,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"tools-structured-content-object"},
			Judge: func(j *check.J) {
				eachCallResult(j, func(e wire.Entry, tool string, result gjson.Result) {
					switch v := result.Get("structuredContent"); {
					case !v.Exists():
					case !v.IsObject():
						j.Fail(e, "the result of tool %q: structuredContent is %s, not an object", wire.Clip(tool, 80), wire.TypeName(v))
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "tools.result.structured.text",
			Says:  "structuredContent also stands as JSON in a text block",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-structured-content-text"},
			// structuredText looks at objects only: where other values are allowed, the
			// page's own example of an array puts prose into the text block.
			Judge: func(j *check.J) {
				eachCallResult(j, func(e wire.Entry, tool string, result gjson.Result) {
					v := result.Get("structuredContent")
					if !v.IsObject() || result.Get("isError").Bool() {
						return
					}
					for _, block := range result.Get("content").Array() {
						text := block.Get("text").String()
						if block.Get("type").String() == "text" && gjson.Valid(text) && transcript.EqualJSON(gjson.Parse(text), v) {
							j.Saw()
							return
						}
					}
					j.Fail(e, "the result of tool %q: no text block holds structuredContent as JSON", wire.Clip(tool, 80))
				})
			},
		},
		{
			ID:    "tools.result.structured.schema",
			Says:  "the result of a tool with an outputSchema has structuredContent that fits it",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-output-schema-conformance"},
			// structuredSchema holds results against the outputSchema that the tool was
			// last listed with. A failed call owes no structured result.
			Judge: func(j *check.J) {
				listed := map[string]string{} // outputSchema by name; "" for none
				compiled := map[string]*schema.ToolSchema{}
				calls := map[int][]callResult{}
				eachCallResult(j, func(e wire.Entry, tool string, result gjson.Result) {
					calls[e.Index] = append(calls[e.Index], callResult{e, tool, result})
				})
				definitions := map[int][]gjson.Result{}
				transcript.EachListEntry(j, "tools/list", "tools", func(e wire.Entry, tool gjson.Result) { definitions[e.Index] = append(definitions[e.Index], tool) })
				for i := range j.Entries() {
					for _, tool := range definitions[i] {
						listed[tool.Get("name").String()] = tool.Get("outputSchema").Raw
					}
					for _, c := range calls[i] {
						raw := listed[c.tool]
						if raw == "" || c.result.Get("isError").Bool() {
							continue
						}
						s, known := compiled[raw]
						if !known {
							s, _ = schema.CompileTool([]byte(raw)) // one that cannot be compiled judges nothing
							compiled[raw] = s
						}
						if s != nil {
							c.holdAgainst(j, s)
						}
					}
				}
			},
		},
		{
			ID:    "tools.result.embedded",
			Says:  "a server whose tools embed resources declares resources",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-embedded-resources-capability"},
			Judge: func(j *check.J) {
				if !j.Capabilities(wire.Server).Exists() {
					return
				}
				declared := j.Declares(wire.Server, "resources")
				eachCallResult(j, func(e wire.Entry, tool string, result gjson.Result) {
					embeds := slices.ContainsFunc(result.Get("content").Array(), func(b gjson.Result) bool { return b.Get("type").String() == "resource" })
					switch {
					case embeds && !declared:
						j.Fail(e, "tool %q embeds a resource, but resources is not declared", wire.Clip(tool, 80))
					case embeds:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "tools.result.failure",
			Says:  "a tool that fails says so in its result, with isError true",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"tools-execution-error-is-error", "tools-execution-error-docs"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if !e.Message.IsResponse() {
						continue
					}
					request, ok := j.RequestOf(e)
					if !ok || request.Message.Method() != "tools/call" {
						continue
					}
					call := request.Message.Params()
					if call.Get("name").String() != alwaysFails || len(call.Get("arguments").Map()) > 0 || !listedBefore(j, e, alwaysFails) {
						continue
					}
					if e.Message.Kind == wire.Error || !e.Message.Result().Get("isError").Bool() {
						j.Fail(e, "the tool %s, which fails, was answered with %s", alwaysFails, failureForm(e.Message))
						continue
					}
					j.Saw()
				}
			},
		},
	}
}

// eachCallResult gives the results of tools/call. A call that asked to become
// a task is answered with the task (basic/utilities/tasks, in 2025-11-25).
func eachCallResult(j *check.J, look func(e wire.Entry, tool string, result gjson.Result)) {
	transcript.EachResult(j, "tools/call", func(e wire.Entry, request wire.Message, result gjson.Result) {
		if !request.Params().Get("task").Exists() {
			look(e, request.Params().Get("name").String(), result)
		}
	})
}

type callResult struct {
	e      wire.Entry
	tool   string
	result gjson.Result
}

func (c callResult) holdAgainst(j *check.J, s *schema.ToolSchema) {
	v := c.result.Get("structuredContent")
	if !v.Exists() {
		j.Fail(c.e, "tool %q has an outputSchema, but its result has no structuredContent", wire.Clip(c.tool, 80))
		return
	}
	switch broken, err := s.Validate([]byte(v.Raw)); {
	case err != nil:
	case len(broken) > 0:
		j.Fail(c.e, "the structuredContent of tool %q does not fit its outputSchema: %s", wire.Clip(c.tool, 80), broken[0])
	default:
		j.Saw()
	}
}

// alwaysFails is the tool that fails by the public conformance contract, whose
// fixtures many servers offer. Of any other tool nobody can tell from outside
// whether an error is the tool's own or the server's, which is due as a
// protocol error.
const alwaysFails = "test_error_handling"

func failureForm(m wire.Message) string {
	if m.Kind == wire.Error {
		return "the protocol " + m.Summary()
	}
	return "a result without isError true"
}

// listedBefore tells whether the server listed a tool of that name before a
// frame: else the name is unknown to it.
func listedBefore(j *check.J, before wire.Entry, name string) (found bool) {
	transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
		found = found || e.Index < before.Index && tool.Get("name").String() == name
	})
	return found
}
