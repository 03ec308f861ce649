package transcript

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Member returns a member, which may not exist. name holds nothing that a pointer or a
// path escapes.
func (p Part) Member(name string) Part { return Part{p.Pointer + "/" + name, p.Value.Get(name)} }

// Members returns the members of an object, and none of another value.
func (p Part) Members() []Part {
	if !p.Value.IsObject() {
		return nil
	}
	var out []Part
	p.Value.ForEach(func(key, v gjson.Result) bool {
		out = append(out, Part{p.Pointer + "/" + pointerStep.Replace(key.String()), v})
		return true
	})
	return out
}

// Items returns the items of an array, and none of another value.
func (p Part) Items() []Part {
	if !p.Value.IsArray() {
		return nil
	}
	var out []Part
	for i, v := range p.Value.Array() {
		out = append(out, Part{fmt.Sprintf("%s/%d", p.Pointer, i), v})
	}
	return out
}

// Messages returns those messages that are objects of a prompt, or of the sampling
// requests that the message is or holds (schema.ts#InputRequests, since 2026-07-28).
func (s Message) Messages(j *check.J) (prompt, sampling []Part) {
	objects := func(list Part) (out []Part) {
		for _, p := range list.Items() {
			if p.Value.IsObject() {
				out = append(out, p)
			}
		}
		return out
	}
	body := Part{"", s.Body}
	switch s.Definition {
	case "GetPromptResult":
		prompt = objects(body.Member("messages"))
	case "CreateMessageRequest":
		sampling = objects(body.Member("params").Member("messages"))
	case "InputRequiredResult":
		for _, m := range schema.For(j.Rev).Members(s.Definition, "messages", s.Body) {
			sampling = append(sampling, objects(Part{m.Path, m.Value})...)
		}
	}
	return prompt, sampling
}
