package transcript

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A message that equals an earlier one is omitted. The same result of another method
// and another result of the same method are not.
func TestDistinctMessagesOmitsRepetitions(t *testing.T) {
	var frames []wire.Frame
	ask := func(id, method, result string) {
		frames = append(frames,
			wire.Frame{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`)},
			wire.Frame{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`)})
	}
	ask("1", "tools/list", `{"tools":[{"name":"a"}]}`)
	ask("2", "tools/list", `{"tools":[{"name":"a"}]}`)
	ask("3", "tools/list", `{"tools":[{"name":"a"},{"name":"b"}]}`)
	ask("4", "prompts/list", `{"tools":[{"name":"a"}]}`)
	var messages, tools []int
	check.Judge(check.Check{Of: wire.Server,
		Judge: func(j *check.J) {
			for _, s := range DistinctMessages(j) {
				messages = append(messages, s.Index)
			}
			for _, l := range Tools(j) {
				tools = append(tools, l.Answer.Index)
			}
		}}, spec.V2025_06_18, wire.TranscriptOf(frames))
	if want := []int{1, 5, 7}; !slices.Equal(messages, want) {
		t.Errorf("the distinct messages are frames %v, want %v", messages, want)
	}
	if want := []int{1, 5}; !slices.Equal(tools, want) {
		t.Errorf("the tools are in frames %v, want %v", tools, want)
	}
}
