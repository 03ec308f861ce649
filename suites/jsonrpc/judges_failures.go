package jsonrpc

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// failureJudges returns the judges of #error-handling on the pages of resources,
// prompts and completion, for requests of what the server offers, as it offers it.
// Besides internal errors the pages name only cases in which the request is wrong.
func failureJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.failure.resources-read",
			Says:  "the server answers a listed resource that cannot be read with a standard error, ideally -32603",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"resources-internal-error-code"},
			Idle:  "no listed resource failed with an internal error",
			Hint:  expect.HintOptional,
			Judge: func(j *check.J) {
				judgeFailureCode(j, "resources/read", func(params gjson.Result, before int) bool {
					_, ok := listedResource(j, params.Get("uri"), before)
					return ok
				})
			},
		},
		{
			ID:    "jsonrpc.failure.prompts-get",
			Says:  "the server answers a listed prompt that cannot be returned with a standard error, ideally -32603",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"prompts-internal-error-code"},
			Idle:  "no listed prompt failed with an internal error",
			Hint:  expect.HintOptional,
			Judge: func(j *check.J) {
				judgeFailureCode(j, "prompts/get", func(params gjson.Result, before int) bool {
					prompt, ok := listedPrompt(j, params.Get("name"), before)
					return ok && argumentsFit(prompt, params.Get("arguments"))
				})
			},
		},
		{
			ID:    "jsonrpc.failure.completion",
			Says:  "the server answers an argument that it cannot complete with a standard error, ideally -32603",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"completion-internal-error-code"},
			Idle:  "no completion for a listed prompt failed with an internal error",
			Hint:  expect.HintOptional,
			Judge: func(j *check.J) {
				judgeFailureCode(j, "completion/complete", func(params gjson.Result, before int) bool {
					if params.Get("ref.type").String() != "ref/prompt" {
						return false
					}
					prompt, ok := listedPrompt(j, params.Get("ref.name"), before)
					argument := params.Get("argument")
					return ok && argument.Get("value").Type == gjson.String &&
						hasArgument(prompt, argument.Get("name").String())
				})
			},
		},
	}
}

// judgeFailureCode judges the errors that answer requests of a method which ask for
// what the server had offered before a frame. The codes that JSON-RPC reserves have
// meanings of their own: only -32603 shows that the rule is kept, and only a code that
// nobody reserves breaks it.
func judgeFailureCode(j *check.J, method string, offered func(params gjson.Result, before int) bool) {
	check.Each(j, transcript.ErrorResponses(j), func(e wire.Entry) bool {
		code, ok := e.Message.ErrorCode()
		if !ok || code != spec.InternalError && code >= -32768 && code <= -32000 {
			return false
		}
		request, ok := j.RequestOf(e)
		if !ok || request.Message.Method() != method || transcript.AnswersLegacyRequest(j, e) ||
			!offered(request.Message.Params(), request.Index) {
			return false
		}
		if code != spec.InternalError {
			j.Fail(e, "%s of what the server lists was answered with %d, which is no code of JSON-RPC", method, code)
		}
		return true
	})
}

// listedResource returns the resource that the server listed under a URI before a
// frame.
func listedResource(j *check.J, uri gjson.Result, before int) (gjson.Result, bool) {
	return listedEntry(j, "resources/list", "resources", "uri", uri, before)
}

// listedPrompt returns the prompt that the server listed under a name before a frame.
func listedPrompt(j *check.J, name gjson.Result, before int) (gjson.Result, bool) {
	return listedEntry(j, "prompts/list", "prompts", "name", name, before)
}

// listedEntry returns the entry of a list whose member key is a name or URI, as it was
// listed first, if that was before a frame.
func listedEntry(
	j *check.J, method, member, key string, name gjson.Result, before int,
) (entry gjson.Result, ok bool) {
	first := check.Derived(j, "first entries of "+method, func() map[string]transcript.ListEntry {
		out := map[string]transcript.ListEntry{}
		for _, l := range transcript.DistinctEntries(j, method, member) {
			v := l.Item.Get(key)
			if _, known := out[v.Str]; v.Type == gjson.String && !known {
				out[v.Str] = l
			}
		}
		return out
	})
	l, ok := first[name.String()]
	return l.Item, ok && name.Type == gjson.String && l.Answer.Index < before
}

// argumentsFit reports whether arguments are strings, all of them arguments of a
// prompt, with those that it requires.
func argumentsFit(prompt, arguments gjson.Result) bool {
	fit := true
	arguments.ForEach(func(name, value gjson.Result) bool {
		fit = value.Type == gjson.String && hasArgument(prompt, name.String())
		return fit
	})
	for _, arg := range prompt.Get("arguments").Array() {
		if arg.Get("required").Bool() && !wire.Member(arguments, arg.Get("name").String()).Exists() {
			fit = false
		}
	}
	return fit
}

// hasArgument reports whether a prompt has an argument of a name.
func hasArgument(prompt gjson.Result, name string) bool {
	for _, arg := range prompt.Get("arguments").Array() {
		if arg.Get("name").String() == name {
			return true
		}
	}
	return false
}
