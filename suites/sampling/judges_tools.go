package sampling

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// toolJudges returns the judges of messages with uses and results of tools.
func toolJudges() []check.Check {
	return []check.Check{
		{
			ID:    "sampling.tools.results-alone",
			Says:  "a message with results of tools holds no other content",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-result-only"},
			Idle:  "no message that the server sent holds a result of a tool",
			Hint:  expect.HintToolLoop,
			Judge: func(j *check.J) {
				for _, a := range transcript.InputRequests(j, createMessage) {
					check.Each(j, a.Params().Member("messages").Items(), func(message transcript.Part) bool {
						blocks := contents(message)
						results := blocksOf(blocks, "tool_result")
						if 0 < len(results) && len(results) < len(blocks) {
							j.Fail(a.Entry, "%s: %s/content holds %d results of tools among %d blocks",
								a.Name, message.Pointer, len(results), len(blocks))
						}
						return len(results) > 0
					})
				}
			},
		},
		{
			ID:    "sampling.tools.balanced",
			Says:  "the message after uses of tools is of the user and holds a result for each use",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-use-balanced"},
			Idle:  "no message that the server sent holds a use of a tool",
			Hint:  expect.HintToolLoop,
			Judge: func(j *check.J) {
				for _, a := range transcript.InputRequests(j, createMessage) {
					messages := a.Params().Member("messages").Items()
					for i, message := range messages {
						uses := blocksOf(contents(message), "tool_use")
						if len(uses) == 0 || message.Value.Get("role").String() != "assistant" {
							continue
						}
						results := map[string]bool{} // by id of the use
						if i+1 < len(messages) && messages[i+1].Value.Get("role").String() == "user" {
							for _, r := range blocksOf(contents(messages[i+1]), "tool_result") {
								results[r.Value.Get("toolUseId").String()] = true
							}
						}
						for _, use := range uses {
							if id := use.Value.Get("id").String(); !results[id] {
								j.Fail(a.Entry,
									"%s: %s uses a tool with the id %q, and the next message has no result for it",
									a.Name, use.Pointer, wire.Clip(id, 80))
								break
							}
						}
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "sampling.tools.structured",
			Says:  "the structured result of a tool is valid against the outputSchema of the tool",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-result-output-schema"},
			Idle:  "no message that the server sent holds a structured result of a tool with an outputSchema",
			Hint:  "offer a read-only tool that samples again with the structuredContent of a tool" + check.OrAllow,
			// A result names its use, and the use its tool. A schema that cannot be compiled is
			// left out.
			Judge: func(j *check.J) {
				for _, a := range transcript.InputRequests(j, createMessage) {
					check.Each(j, structuredResults(a), func(r structuredResult) bool {
						compiled, err := schema.CompileTool([]byte(r.outputSchema.Raw))
						if err != nil {
							return false
						}
						broken, err := compiled.Validate([]byte(r.value.Raw))
						if len(broken) > 0 {
							j.Fail(a.Entry, "%s: %s/structuredContent is not valid against the outputSchema of %q: %s",
								a.Name, r.pointer, wire.Clip(r.tool, 80), broken[0])
						}
						return err == nil
					})
				}
			},
		},
	}
}

// A structuredResult is the structured result of a tool in a message.
type structuredResult struct {
	pointer      string // of the block
	tool         string
	outputSchema gjson.Result
	value        gjson.Result
}

// structuredResults returns the structured results, in the messages of a request, of
// tools with an outputSchema.
func structuredResults(a transcript.InputRequest) []structuredResult {
	schemas := map[string]gjson.Result{} // by name of the tool
	for _, tool := range a.Params().Member("tools").Items() {
		schemas[tool.Value.Get("name").String()] = tool.Value.Get("outputSchema")
	}
	used := map[string]string{} // name of the tool by id of its use
	var out []structuredResult
	for _, message := range a.Params().Member("messages").Items() {
		for _, b := range contents(message) {
			switch b.Value.Get("type").String() {
			case "tool_use":
				used[b.Value.Get("id").String()] = b.Value.Get("name").String()
			case "tool_result":
				tool, value := used[b.Value.Get("toolUseId").String()], b.Value.Get("structuredContent")
				if schemas[tool].IsObject() && value.Exists() {
					out = append(out, structuredResult{b.Pointer, tool, schemas[tool], value})
				}
			}
		}
	}
	return out
}

// contents returns the content blocks of a sampling message: one, or an array.
func contents(message transcript.Part) []transcript.Part {
	content := message.Member("content")
	if content.Value.IsArray() {
		return content.Items()
	}
	return []transcript.Part{content}
}

// blocksOf returns the blocks of a type.
func blocksOf(blocks []transcript.Part, kind string) []transcript.Part {
	return transcript.Filter(blocks, func(p transcript.Part) bool { return p.Value.Get("type").String() == kind })
}
