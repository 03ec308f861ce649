package tools

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

func TestMisfitsAreChosenFromAllKeywordsAndTools(t *testing.T) {
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
			t.Error("a misfit that can be repaired comes before one that cannot")
		}
	}
	if len(got) != offer.MaxInvalidCalls || keywords["enum"] < 7 || keywords["required"] < 7 ||
		keywords["additionalProperties"] > 1 || len(tools) != 10 {
		t.Errorf("%d are chosen, of keywords %v and tools %v", len(got), keywords, tools)
	}
	if got := chooseMisfits(all[:9]); len(got) != offer.MaxInvalidCallsPerTool {
		t.Errorf("%d are chosen of one tool", len(got))
	}
	if got := chooseMisfits(all[:1]); len(got) != 1 {
		t.Errorf("%d are chosen of one that can be repaired", len(got))
	}
}

func TestMadeArgumentsDiffer(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{`{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}`, `{"on":false} {"on":true}`},
		{`{"type":"object"}`, `{}`},
		{`{"type":"object","not":{}}`, ``},
		{`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`, `{"a":"x"} {}`},
		{
			`{"type":"object","properties":{"a":{"type":"string"}},"examples":[{"a":"first"},{"a":"second"},` +
				`{"a":"third"}]}`,
			`{"a":"first"} {"a":"second"}`,
		},
	} {
		got := offer.MakeArguments(generatorOf(t, gjson.Parse(`{"inputSchema":`+c.input+`}`)), 2)
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.input, got, c.want)
		}
	}
}

func TestSwapCase(t *testing.T) {
	if got := swapCase("getUser_2.Ä"); got != "GETuSER_2.ä" {
		t.Errorf("swapCase gives %q", got)
	}
}

func generatorOf(t *testing.T, tool gjson.Result) *schema.Generator {
	t.Helper()
	g, err := schema.NewGenerator([]byte(tool.Get("inputSchema").Raw))
	if err != nil {
		return nil
	}
	return g
}
