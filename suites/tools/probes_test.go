package tools

import (
	"fmt"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

func TestSelectsInvalidArgumentsOfAllKeywordsAndTools(t *testing.T) {
	var all []toolMisfit
	for i := range 10 {
		tool := gjson.Parse(fmt.Sprintf(`{"name":"t%d"}`, i))
		for _, keyword := range []string{
			"additionalProperties", "required", "type", "type", "type", "type", "type", "type", "enum",
		} {
			all = append(all, toolMisfit{tool, schema.InvalidArguments{
				Keyword: keyword, Repairable: keyword == "additionalProperties",
			}})
		}
	}
	keywords, tools := map[string]int{}, map[string]int{}
	got := chooseMisfits(all)
	for i, c := range got {
		keywords[c.misfit.Keyword]++
		tools[c.tool.Get("name").String()]++
		if c.misfit.Repairable && i < 3 {
			t.Error("repairable arguments come before others")
		}
	}
	if len(got) != offer.MaxInvalidCalls || keywords["enum"] < 7 || keywords["required"] < 7 ||
		keywords["additionalProperties"] > 1 || len(tools) != 10 {
		t.Errorf("%d arguments are selected, of the keywords %v and tools %v", len(got), keywords, tools)
	}
	if got := chooseMisfits(all[:9]); len(got) != offer.MaxInvalidCallsPerTool {
		t.Errorf("%d arguments of one tool are selected", len(got))
	}
	if got := chooseMisfits(all[:1]); len(got) != 1 {
		t.Errorf("%d repairable arguments are selected, want 1", len(got))
	}
}

func TestSwapCase(t *testing.T) {
	if got := swapCase("getUser_2.Ä"); got != "GETuSER_2.ä" {
		t.Errorf("swapCase gives %q", got)
	}
}
