package jsonrpc

import (
	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// noIllTypedSent is why probes of params of wrong types are not observed.
const noIllTypedSent = "the server declares nothing whose requests have params"

// paramsProbes returns the probes of requests whose params are of wrong types.
func paramsProbes() []check.Check {
	return []check.Check{
		{
			ID:       "jsonrpc.params.code",
			Says:     "an error for params of the wrong type is -32602",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"jsonrpc-invalid-params-code"},
			Malforms: true,
			Idle:     "no request with params of the wrong type was answered with an error",
			Hint: "declare resources, prompts or completions, and answer params of the wrong type with " +
				"error -32602",
			// Error -32600, that the request as a whole is invalid, is accepted too, and over
			// HTTP one about the headers that repeat the params. Other checks judge a result.
			Probe: func(t *check.T) {
				for _, p := range illTypedParams(t) {
					r := t.Try(p.method, p.params)
					code, ok := r.Message.ErrorCode()
					isUnknown := code == spec.MethodNotFound && p.method == "completion/complete"
					if !ok || isUnknown || code == spec.HeaderMismatch && t.Transport() != transport.Stdio {
						continue
					}
					match.Expect(t, r).To(match.BeError(spec.InvalidParams, spec.InvalidRequest), "%s with params %s",
						p.method, check.MustJSON(p.params))
					t.Saw()
				}
			},
		},
		{
			ID:       "jsonrpc.params.survived",
			Says:     "the server answers requests with params of the wrong type, and goes on",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/index#messages",
			Malforms: true,
			Idle:     noIllTypedSent,
			Hint:     "declare resources, prompts or completions",
			// Over HTTP a status of 4xx is an answer.
			Probe: func(t *check.T) {
				for _, p := range illTypedParams(t) {
					r := t.Try(p.method, p.params)
					if r.Err != nil && posting.ClientErrorStatus(r.Err) == 0 {
						t.Survives(p.method + " with params " + string(check.MustJSON(p.params)))
						t.Fail("an answer", "none", "%s with params %s: %v", p.method, check.MustJSON(p.params), r.Err)
					}
					t.Saw()
				}
			},
		},
	}
}

// omittedParamsProbes returns the probes of requests without params.
func omittedParamsProbes() []check.Check {
	return []check.Check{
		{
			ID: "jsonrpc.params.omitted",
			Says: "the server answers a request without params as one with empty params: the params are optional, " +
				"and most clients leave them out",
			Level:   spec.Robust,
			In:      spec.Handshake, // since 2026-07-28 params carry protocol fields
			Session: check.OwnSession,
			Spec:    "basic/index#requests",
			Idle:    "no request that needs no params had a result",
			Hint:    expect.HintReply,
			// Other requests of the session may have got empty params, so that the server is
			// judged at all: the bytes here have none.
			Probe: func(t *check.T) {
				const want = "the answer to one with empty params"
				methods := []string{"ping"}
				for _, l := range offer.Lists(t) {
					methods = append(methods, l.Method)
				}
				for _, method := range methods {
					if !t.Try(method, check.Params{}).Succeeded() {
						continue // other checks judge that
					}
					id := t.NextID()
					at := t.Send(string(wire.EncodeCall(id, method, nil)))
					t.Survives(method + " without params")
					switch m, ok := t.AwaitBarrier(at, check.ResponseTo(id)); {
					case !ok && !t.HTTP().Refused(at):
						t.Fail(want, "no answer", "%s without params was not answered, and with empty ones it was",
							method)
					case m.Kind == wire.Error && t.Try(method, check.Params{}).Succeeded():
						t.Fail(want, m.Summary(),
							"%s without params was answered with an error, and with empty ones with a result", method)
					}
					t.Saw()
				}
			},
		},
	}
}

// An illTyped is a request with a param of the wrong type.
type illTyped struct {
	method string
	params check.Params
}

// illTypedParams returns requests of what the server declares with a param of the wrong
// type, none of which can be executed.
func illTypedParams(t *check.T) []illTyped {
	var out []illTyped
	for _, l := range offer.Lists(t) {
		if len(offer.WalkOnce(t, l).Pages) == 0 {
			continue // other checks judge a list that fails
		}
		out = append(out, illTyped{l.Method, check.Params{"cursor": 5}})
	}
	for _, p := range []struct {
		capability string
		illTyped
	}{
		{"tools", illTyped{"tools/call", check.Params{"name": 5, "arguments": check.Params{}}}},
		{"resources", illTyped{"resources/read", check.Params{"uri": 5}}},
		{"prompts", illTyped{"prompts/get", check.Params{"name": 5}}},
		{"completions", illTyped{"completion/complete", check.Params{"ref": 5, "argument": 5}}},
	} {
		if t.Declares(p.capability) {
			out = append(out, p.illTyped)
		}
	}
	return out
}
