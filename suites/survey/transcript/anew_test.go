package transcript

import (
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// What was said in the same words before is looked at once; the same words in
// answer to another method, and other words, are looked at.
func TestTheSameWordsAreLookedAtOnce(t *testing.T) {
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
	heard, tools := []int{}, []int{}
	check.NewView(spec.V2025_06_18, wire.TranscriptOf(frames)).Look(check.Check{Of: wire.Server,
		Judge: func(j *check.J) {
			EachDistinctMessage(j, func(s Message) { heard = append(heard, s.Index) })
			EachTool(j, func(e wire.Entry, _ gjson.Result) { tools = append(tools, e.Index) })
		}})
	if want := []int{1, 5, 7}; !slices.Equal(heard, want) {
		t.Errorf("looked at frames %v, want %v", heard, want)
	}
	if want := []int{1, 5}; !slices.Equal(tools, want) {
		t.Errorf("looked at tools of frames %v, want %v", tools, want)
	}
}
