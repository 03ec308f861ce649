package tools

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why the judges of results are not observed, and what helps.
const (
	noResult              = "no call of a tool had a result"
	allowCalls            = "offer a read-only tool" + check.OrAllow
	noStructuredContent   = "no result of a tool has structuredContent"
	giveStructuredContent = "offer a read-only tool that returns structuredContent" + check.OrAllow
)

// judgesOfResults returns the judges of server/tools#tool-result and #error-handling.
// The checks of schema judge content blocks.
func judgesOfResults() []check.Check {
	return []check.Check{
		{
			ID:    "tools.result.content",
			Says:  "the result of tools/call has an array content",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-call-result-content"},
			Idle:  noResult,
			Hint:  allowCalls,
			Judge: func(j *check.J) {
				check.Each(j, callResults(j), func(c callResult) bool {
					if content := c.result.Get("content"); !content.IsArray() {
						j.Fail(c.answer, "%s: content is %s, not an array", c.label(), wire.TypeName(content))
					}
					return true
				})
			},
		},
		{
			ID:    "tools.result.is-error",
			Says:  "isError in the result of tools/call is a boolean",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-call-result-is-error-type"},
			Idle:  "no result of a tool has isError",
			Hint:  "offer a read-only tool that fails with isError true" + check.OrAllow,
			Judge: func(j *check.J) {
				check.Each(j, callResults(j), func(c callResult) bool {
					isError := c.result.Get("isError")
					if isError.Exists() && !isError.IsBool() {
						j.Fail(c.answer, "%s: isError is %s, not a boolean", c.label(), wire.TypeName(isError))
					}
					return isError.Exists()
				})
			},
		},
		{
			ID:    "tools.result.structured.object",
			Says:  "structuredContent is an object",
			Level: spec.Must,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"tools-structured-content-object"},
			Idle:  noStructuredContent,
			Hint:  giveStructuredContent,
			Judge: func(j *check.J) {
				check.Each(j, callResults(j), func(c callResult) bool {
					structured := c.result.Get("structuredContent")
					if structured.Exists() && !structured.IsObject() {
						j.Fail(c.answer, "%s: structuredContent is %s, not an object", c.label(),
							wire.TypeName(structured))
					}
					return structured.Exists()
				})
			},
		},
		{
			ID:    "tools.result.structured.text",
			Says:  "a text block of the result holds structuredContent as JSON",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-structured-content-text"},
			Idle:  "no result of a tool has structuredContent that is an object",
			Hint:  giveStructuredContent,
			// Only objects are judged: where other values are allowed, the page's own
			// example of an array has prose in the text block.
			Judge: func(j *check.J) {
				check.Each(j, callResults(j), func(c callResult) bool {
					structured := c.result.Get("structuredContent")
					if !structured.IsObject() || c.failed() {
						return false
					}
					repeated := slices.ContainsFunc(c.result.Get("content").Array(), func(block gjson.Result) bool {
						text := block.Get("text").String()
						return block.Get("type").String() == "text" && gjson.Valid(text) &&
							transcript.EqualJSON(gjson.Parse(text), structured)
					})
					if !repeated {
						j.Fail(c.answer, "%s: no text block holds structuredContent as JSON", c.label())
					}
					return true
				})
			},
		},
		{
			ID:    "tools.result.structured.schema",
			Says:  "the result of a tool with an outputSchema has structuredContent that conforms to it",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-output-schema-conformance"},
			Idle:  "no tool with an outputSchema returned a result",
			Hint:  "offer a read-only tool with an outputSchema" + check.OrAllow,
			// A failed call has no structured result. tools.output-schema.valid judges a
			// schema that cannot be compiled.
			Judge: func(j *check.J) {
				compiled := map[string]*schema.ToolSchema{} // by outputSchema; nil if it cannot be compiled
				check.Each(j, callsWithOutputSchema(j), func(c callWithOutputSchema) bool {
					if c.failed() {
						return false
					}
					s, known := compiled[c.outputSchema]
					if !known {
						s, _ = schema.CompileTool([]byte(c.outputSchema))
						compiled[c.outputSchema] = s
					}
					return s != nil && judgeStructuredContent(j, c.callResult, s)
				})
			},
		},
		{
			ID:    "tools.result.embedded",
			Says:  "a server whose tools embed resources declares the capability resources",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-embedded-resources-capability"},
			Idle:  "no result of a tool embeds a resource",
			Hint:  "offer a read-only tool that embeds a resource" + check.OrAllow,
			// Without the opening of the session it is not known what the server declared.
			Judge: func(j *check.J) {
				if !j.Capabilities(wire.Server).Exists() {
					return
				}
				check.Each(j, callResults(j), func(c callResult) bool {
					embeds := slices.ContainsFunc(c.result.Get("content").Array(), func(block gjson.Result) bool {
						return block.Get("type").String() == "resource"
					})
					if embeds && !j.Declares(wire.Server, "resources") {
						j.Fail(c.answer, "tool %q embeds a resource, but the server does not declare resources",
							wire.Clip(c.tool, 80))
					}
					return embeds
				})
			},
		},
		{
			ID: "tools.result.rejected",
			Says: "the server does not reject the result of its own tool, which then always fails whatever the" +
				" client sends",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "server/tools#tool-result",
			Idle:  noResult,
			Hint:  allowCalls,
			// Only the texts of known SDKs show that an error is about the result. A result
			// may be made of what the client answered.
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					request, ok := j.RequestOf(e)
					if !ok || !e.Message.IsResponse() || request.Message.Method() != "tools/call" ||
						hasClientInput(j, request, e) {
						return false
					}
					text := e.Message.Error().Get("message").String()
					if result := e.Message.Result(); result.Get("isError").Bool() {
						text = result.Get("content.0.text").String()
					}
					if aboutOwnResult.MatchString(wire.Clip(text, 400)) {
						j.Fail(e, "the call of tool %q got an error about the result of the tool: %s",
							wire.Clip(request.Message.Params().Get("name").String(), 80), wire.Clip(text, 200))
					}
					return e.Message.Kind == wire.Result
				})
			},
		},
		{
			ID:    "tools.result.failure",
			Says:  "a tool that fails returns a result with isError true",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"tools-execution-error-is-error", "tools-execution-error-docs"},
			Idle:  "no tool of the public conformance suite that always fails was called",
			Hint:  "offer the tool " + failingTool + ", which fails, and allow it: --allow-tools " + failingTool,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if !e.Message.IsResponse() || !answersFailingCall(j, e) {
						return false
					}
					switch {
					case e.Message.Kind == wire.Error:
						j.Fail(e, "the tool %s, which fails, was answered with the protocol %s", failingTool,
							e.Message.Summary())
					case !e.Message.Result().Get("isError").Bool():
						j.Fail(e, "the tool %s, which fails, was answered with a result without isError true",
							failingTool)
					}
					return true
				})
			},
		},
	}
}

// aboutOwnResult matches the errors by which SDKs for TypeScript, Python and Go reject
// the result of a tool.
var aboutOwnResult = regexp.MustCompile(`(?i)\boutput validation error\b|\binvalid tools/call result\b|` +
	`\bvalidating tool output\b|\bvalidation errors? for CallToolResult\b`)

// A callResult is the result of a call of a tool.
type callResult struct {
	answer wire.Entry
	tool   string
	result gjson.Result
}

// label names the result in a failure.
func (c callResult) label() string {
	return fmt.Sprintf("the result of tool %q", wire.Clip(c.tool, 80))
}

// failed reports whether the tool failed.
func (c callResult) failed() bool { return c.result.Get("isError").Bool() }

// callResults returns the results of tools/call. It leaves out calls as tasks, which
// are answered with the task (basic/utilities/tasks, in 2025-11-25).
func callResults(j *check.J) []callResult {
	var out []callResult
	for _, r := range transcript.Results(j, "tools/call") {
		if params := r.Request.Params(); !params.Get("task").Exists() {
			out = append(out, callResult{r.Answer, params.Get("name").String(), r.Result})
		}
	}
	return out
}

// A callWithOutputSchema is the result of a call of a tool with an outputSchema.
type callWithOutputSchema struct {
	callResult
	outputSchema string // as the tool was last listed before the result
}

// callsWithOutputSchema returns the results of tools with an outputSchema.
func callsWithOutputSchema(j *check.J) []callWithOutputSchema {
	var out []callWithOutputSchema
	listed := transcript.ListEntries(j, "tools/list", "tools")
	outputSchemas := map[string]string{} // by name of the tool
	for _, c := range callResults(j) {
		for len(listed) > 0 && listed[0].Answer.Index <= c.answer.Index {
			tool := listed[0].Item
			outputSchemas[tool.Get("name").String()] = tool.Get("outputSchema").Raw
			listed = listed[1:]
		}
		if raw := outputSchemas[c.tool]; raw != "" {
			out = append(out, callWithOutputSchema{c, raw})
		}
	}
	return out
}

// judgeStructuredContent judges the structuredContent of a result by a schema. It
// reports whether the schema could be applied.
func judgeStructuredContent(j *check.J, c callResult, s *schema.ToolSchema) bool {
	structured := c.result.Get("structuredContent")
	if !structured.Exists() {
		j.Fail(c.answer, "tool %q has an outputSchema, but its result has no structuredContent", wire.Clip(c.tool, 80))
		return true
	}
	violations, err := s.Validate([]byte(structured.Raw))
	if len(violations) > 0 && err == nil {
		j.Fail(c.answer, "the structuredContent of tool %q does not conform to its outputSchema: %s",
			wire.Clip(c.tool, 80), violations[0])
	}
	return err == nil
}

// failingTool is the tool that fails by the public conformance contract, whose
// fixtures many servers offer. For any other tool it is not known whether an error is
// the tool's own or one that the server reports as a protocol error.
const failingTool = "test_error_handling"

// answersFailingCall reports whether a response answers a call of the failing tool
// without arguments, after the server listed that tool.
func answersFailingCall(j *check.J, e wire.Entry) bool {
	request, ok := j.RequestOf(e)
	if !ok || request.Message.Method() != "tools/call" {
		return false
	}
	params := request.Message.Params()
	if params.Get("name").String() != failingTool || len(params.Get("arguments").Map()) > 0 {
		return false
	}
	return slices.ContainsFunc(transcript.Tools(j), func(l transcript.ListEntry) bool {
		return l.Answer.Index < e.Index && l.Item.Get("name").String() == failingTool
	})
}

// hasClientInput reports whether the client gave a request input, or answered any request
// of the server before the response.
func hasClientInput(j *check.J, request, response wire.Entry) bool {
	return request.Message.Params().Get("inputResponses").Exists() ||
		slices.ContainsFunc(j.Received(), func(e wire.Entry) bool {
			return e.Index > request.Index && e.Index < response.Index && e.Message.IsResponse()
		})
}
