package jsonrpc

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// errorCodeJudges are the judges of #error-handling on the pages of resources, prompts
// and completion, for what the server offers and the client asked for as it is
// offered. The cases that the pages name besides internal errors are then none
// of these.
func errorCodeJudges() []check.Check {
	return []check.Check{
		{
			ID:    "resources.read.failure",
			Says:  "that a listed resource cannot be read is told by a standard error, -32603 for what is internal",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"resources-internal-error-code"},
			Judge: func(j *check.J) {
				failureCode(j, "resources/read", func(j *check.J, params gjson.Result, before int) bool {
					_, ok := listedEntry(j, "resources/list", "resources", "uri", params.Get("uri"), before)
					return ok
				})
			},
		},
		{
			ID:    "prompts.get.failure",
			Says:  "that a listed prompt cannot be got is told by a standard error, -32603 for what is internal",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"prompts-internal-error-code"},
			Judge: func(j *check.J) {
				failureCode(j, "prompts/get", func(j *check.J, params gjson.Result, before int) bool {
					prompt, ok := listedEntry(j, "prompts/list", "prompts", "name", params.Get("name"), before)
					return ok && argumentsFit(prompt, params.Get("arguments"))
				})
			},
		},
		{
			ID:    "completion.failure",
			Says:  "that an argument of a listed prompt cannot be completed is told by a standard error, -32603 for what is internal",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"completion-internal-error-code"},
			Judge: func(j *check.J) {
				failureCode(j, "completion/complete", func(j *check.J, params gjson.Result, before int) bool {
					prompt, ok := listedEntry(j, "prompts/list", "prompts", "name", params.Get("ref.name"), before)
					argument := params.Get("argument")
					return ok && params.Get("ref.type").String() == "ref/prompt" && argument.Get("value").Type == gjson.String && hasArgument(prompt, argument.Get("name").String())
				})
			},
		},
	}
}

// failureCode judges the errors that answer requests of a method which ask for
// what was offered before. Codes that JSON-RPC reserves say what they say: only
// -32603 shows that the rule was kept, and only a code of nobody's breaks it.
func failureCode(j *check.J, method string, offered func(j *check.J, params gjson.Result, before int) bool) {

	for _, e := range transcript.ErrorResponses(j) {
		code, ok := e.Message.Code()
		if !ok || code != spec.InternalError && code >= -32768 && code <= -32000 {
			continue
		}
		request, ok := j.RequestOf(e)
		if !ok || request.Message.Method() != method || transcript.AnswersLegacyRequest(j, e) || !offered(j, request.Message.Params(), request.Index) {
			continue
		}
		if code != spec.InternalError {
			j.Fail(e, "%s of what the server lists was answered with %d, which is no code of JSON-RPC", method, code)
			continue
		}
		j.Saw()
	}

}

// listedEntry returns the entry of a list that a name or URI stands for, as it
// was listed before a frame.
func listedEntry(j *check.J, method, member, key string, name gjson.Result, before int) (gjson.Result, bool) {
	type listed struct {
		at    int
		entry gjson.Result
	}
	known := check.Derived(j, "entries of "+method, func() map[string]listed {
		out := map[string]listed{}
		transcript.EachListEntry(j, method, member, func(e wire.Entry, entry gjson.Result) {
			if v := entry.Get(key); v.Type == gjson.String {
				if _, again := out[v.Str]; !again {
					out[v.Str] = listed{e.Index, entry}
				}
			}
		})
		return out
	})
	l, ok := known[name.String()]
	return l.entry, ok && name.Type == gjson.String && l.at < before
}

// argumentsFit tells whether arguments are strings, those that a prompt has,
// with all that it requires.
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

func hasArgument(prompt gjson.Result, name string) bool {
	for _, arg := range prompt.Get("arguments").Array() {
		if arg.Get("name").String() == name {
			return true
		}
	}
	return false
}
