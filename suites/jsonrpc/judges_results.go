package jsonrpc

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// noResult is why the judges of resultType are not observed.
const noResult = "no result of this revision was sent"

// resultJudges returns the judges of basic/index#resulttype, since 2026-07-28.
func resultJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.result-type.present",
			Says:  "every result has a resultType that is a string",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-result-type-required"},
			Idle:  noResult,
			Hint:  expect.HintReply,
			Judge: func(j *check.J) {
				check.Each(j, statelessResults(j), func(e wire.Entry) bool {
					if resultType := e.Message.Result().Get("resultType"); resultType.Type != gjson.String {
						j.Fail(e, "resultType is %s, not a string", wire.TypeName(resultType))
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.result-type.known",
			Says:  "every resultType is of the core set or of an extension that the client declares",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-result-type-closed-set"},
			Idle:  noResult,
			Hint:  expect.HintReply,
			Judge: func(j *check.J) {
				check.Each(j, statelessResults(j), func(e wire.Entry) bool {
					resultType := e.Message.Result().Get("resultType")
					if resultType.Type != gjson.String {
						return false
					}
					isCore := resultType.Str == "complete" || resultType.Str == "input_required"
					if !isCore && !mayBeOfExtension(j, e, resultType.Str) {
						j.Fail(e, "resultType is %q, which no declared extension defines",
							wire.Clip(resultType.Str, 80))
					}
					return isCore
				})
			},
		},
		{
			ID:    "jsonrpc.result-type.complete",
			Says:  "a result is complete, or asks for input where its method may",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-result-type-complete", "mrtr-other-methods-forbidden", "mrtr-at-least-one"},
			Idle:  noResult,
			Hint:  expect.HintReply,
			// Only three methods may ask for input (basic/patterns/mrtr#supported-requests). A
			// result that asks names what it asks for, or the state to retry with.
			Judge: func(j *check.J) {
				check.Each(j, statelessResults(j), func(e wire.Entry) bool {
					result := e.Message.Result()
					switch result.Get("resultType").String() {
					case "complete":
						return true
					case "input_required":
						request, ok := j.RequestOf(e)
						if ok && !transcript.MayRequestInput(request.Message.Method()) {
							j.Fail(e, "%s was answered with input_required", request.Message.Method())
						} else if !result.Get("inputRequests").Exists() && !result.Get("requestState").Exists() {
							j.Fail(e, "an input_required result has neither inputRequests nor requestState")
						}
						return true
					}
					return false
				})
			},
		},
	}
}

// statelessResults returns the results of the stateless era that are objects. It
// leaves out the answers to requests that do not name this revision, such as
// initialize, which a server of both eras may serve.
func statelessResults(j *check.J) []wire.Entry {
	return check.Derived(j, "results of the stateless era", func() []wire.Entry {
		return transcript.Filter(j.Sent(), func(e wire.Entry) bool {
			if e.Message.Kind != wire.Result || !e.Message.Result().IsObject() {
				return false
			}
			request, ok := j.RequestOf(e)
			if !ok {
				return !j.HasRequest(e)
			}
			return transcript.MetaMember(request.Message, spec.MetaProtocolVersion).String() == string(j.Rev)
		})
	})
}

// mayBeOfExtension reports whether a resultType may be one of an extension that the
// request declared. The tasks extension adds one (SEP-2663); what other extensions add
// is not known.
func mayBeOfExtension(j *check.J, answer wire.Entry, resultType string) bool {
	request, ok := j.RequestOf(answer)
	if !ok {
		return false
	}
	capabilities := transcript.MetaMember(request.Message, spec.MetaClientCapabilities)
	for name := range capabilities.Get("extensions").Map() {
		if name != "io.modelcontextprotocol/tasks" || resultType == "task" {
			return true
		}
	}
	return false
}
