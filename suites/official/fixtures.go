package official

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// The reasons why most checks are not observed.
const (
	noCall   = "the tool was not called"
	noRead   = "the resource was not read"
	noPrompt = "the prompt was not requested"
	noTask   = "no task was created"
)

// listedItem returns the entry of a list that the contract names.
func listedItem(t *check.T, l offer.List, kind, name string) gjson.Result {
	if !t.Declares(l.Capability) {
		t.Fail("the capability "+l.Capability, "none",
			"the %s %s cannot be offered: the server does not declare the capability %s", kind, name, l.Capability)
	}
	w := offer.WalkOnce(t, l)
	for _, item := range w.Items() {
		if item.Get(l.Key).String() == name {
			return item
		}
	}
	t.Mark(w.Last)
	got := wire.Clip("["+contract.Join(l.Names(w.Items()))+"]", 200)
	if w.Failure != "" {
		got = w.Failure
	}
	t.Fail(name+" in the result of "+l.Method, got, "the %s %s is not listed", kind, name)
	return gjson.Result{}
}

// callParams returns the params of a call of a listed tool of the contract. Without
// arguments the member is left out.
func callParams(t *check.T, tool string, args check.Params) check.Params {
	listedItem(t, offer.ToolsList, "tool", tool)
	params := check.Params{"name": tool}
	if args != nil {
		params["arguments"] = args
	}
	return params
}

// callTool returns the result of a tool of the contract. All input that the tool
// requests is given.
func callTool(t *check.T, tool string, args check.Params) gjson.Result {
	return mustSucceed(t, tool, t.RequireAnswer(t.Client().Invoke("tools/call", callParams(t, tool, args))))
}

// mustSucceed asserts that a call of a tool succeeded, and returns its result.
func mustSucceed(t *check.T, tool string, m wire.Message) gjson.Result {
	r := mustBeResult(t, tool, m)
	if r.Get("isError").Bool() {
		t.Fail("a result without isError", contract.ShortJSON(r.Get("content")),
			"the tool %s failed: %s", tool, contract.ShortJSON(r.Get("content.0.text")))
	}
	return r
}

// mustBeResult asserts that an answer is a complete result, and returns it.
func mustBeResult(t *check.T, what string, m wire.Message) gjson.Result {
	match.Expect(t, m).To(match.BeResult(), "%s", what)
	if r := m.Result(); r.Get("resultType").String() == "input_required" {
		t.Fail("a complete result", contract.ShortJSON(r), "%s requests input although it has all that it needs", what)
	}
	return m.Result()
}
