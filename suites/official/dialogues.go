package official

import (
	"encoding/json"
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// A dialogue is a request that the server answers after rounds of input.
type dialogue struct {
	t      *check.T
	what   string // the tool or prompt
	method string
	params check.Params // of the first round
}

// toolDialogue returns the dialogue of a tool of the contract.
func toolDialogue(t *check.T, suffix string) dialogue {
	return dialogue{
		t, inputRequiredTool + suffix, "tools/call", callParams(t, inputRequiredTool+suffix, check.Params{}),
	}
}

// An interim is an input_required result.
type interim struct{ gjson.Result }

// start sends the first round and returns its interim result.
func (d dialogue) start() interim { return d.mustAskForInput(d.t.Request(d.method, d.params)) }

// next sends the next round: the answers, and the requestState if the interim result has
// one.
func (d dialogue) next(before interim, answers any) wire.Message {
	params := maps.Clone(d.params)
	params["inputResponses"] = answers
	if state := before.Get("requestState"); state.Exists() {
		params["requestState"] = json.RawMessage(state.Raw)
	}
	return d.t.Request(d.method, params)
}

// mustAskForInput asserts that an answer requests input.
func (d dialogue) mustAskForInput(m wire.Message) interim {
	if !session.IsInputRequired(m) || len(m.Result().Get("inputRequests").Map()) == 0 {
		d.t.Fail("a result of type input_required with inputRequests", m.Summary(),
			"%s was answered with %s, which requests no input", d.what, m.Summary())
	}
	return interim{m.Result()}
}

// completedText returns the text of the complete result of a tool.
func (d dialogue) completedText(m wire.Message) gjson.Result {
	content := mustSucceed(d.t, d.what, m).Get("content")
	if len(content.Array()) == 0 {
		d.t.Fail("content", contract.ShortJSON(content), "the complete result of %s has no content", d.what)
	}
	return content.Get("0.text")
}

// mustAskUnder asserts that a key holds an input request of a method, and returns it.
func (i interim) mustAskUnder(d dialogue, key, method string) gjson.Result {
	entry := wire.Member(i.Get("inputRequests"), key)
	if entry.Get("method").String() != method {
		d.t.Fail(key+": "+method, contract.ShortJSON(i.Get("inputRequests")),
			"%s does not request %s by %s", d.what, key, method)
	}
	return entry
}

// mustAskBy asserts that there is an input request of a method, and returns its key.
func (i interim) mustAskBy(d dialogue, method string) (key string, entry gjson.Result) {
	i.Get("inputRequests").ForEach(func(k, v gjson.Result) bool {
		if v.Get("method").String() == method {
			key, entry = k.String(), v
		}
		return key == ""
	})
	if key == "" {
		d.t.Fail("an input request "+method, contract.ShortJSON(i.Get("inputRequests")),
			"%s requests no input by %s", d.what, method)
	}
	return key, entry
}

// mustHaveState asserts that the interim result has a requestState, and returns it.
func (i interim) mustHaveState(d dialogue) string {
	state := i.Get("requestState")
	if state.Type != gjson.String || state.Str == "" {
		d.t.Fail("requestState, a string", contract.ShortJSON(state), "%s returns no requestState", d.what)
	}
	return state.Str
}

// The answers of the contract.
func aliceAnswer() check.Params { return acceptAnswer(check.Params{"name": "Alice"}) }

func okAnswer() check.Params { return acceptAnswer(check.Params{"ok": true}) }

func rootsAnswer() check.Params {
	return check.Params{"roots": []any{check.Params{"uri": "file:///test/root", "name": "Test Root"}}}
}
