package fault

import (
	"context"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// rounds begins the names of the tools of the contract that return input_required.
const rounds = "test_input_required_result_"

// isElicitationRound matches calls of the tool of the contract that elicits a name.
var isElicitationRound = isCall(rounds + "elicitation")

// onInputRequiredOf changes the results of the type input_required of a tool.
func onInputRequiredOf(tool string, edit func(result server.Object)) apply {
	return onCall(tool, whenMember("resultType", "input_required", edit))
}

// officialRounds are faults in what tools request by input_required.
func officialRounds() []Fault {
	return []Fault{
		{
			Name: "contract-key-renamed", Does: "requests name where the contract names the key user_name",
			CaughtBy: []string{"official.input-required.elicitation"},
			Also: map[string]string{
				"official.input-required.asks-again": "it is the same request again",
				"official.input-required.extra":      "the requested key has no response",
			},
			Apply: onToolAsks(rounds+"elicitation", func(asks []server.InputRequest) []server.InputRequest {
				asks[0].Key = "name"
				return asks
			}),
		},
		{
			Name: "contract-asks-forever", Does: "requests the same input after every response in " + rounds +
				"elicitation",
			CaughtBy: []string{"official.input-required.elicitation"},
			Also:     map[string]string{"official.input-required.extra": "the response has others beside it"},
			Apply: onRequestWhen(isElicitationRound, func(r *server.Request) {
				if _, answered := responsesOf(r)["user_name"].(server.Object); answered {
					delete(responsesOf(r), "user_name")
				}
			}),
		},
		{
			Name: "contract-greeting-without-name", Does: "leaves the name out of " + rounds + "elicitation",
			In:       spec.Stateless,
			CaughtBy: documented,
			Apply:    onText(rounds+"elicitation", "Hello!"),
		},
		{
			Name:     "contract-sampled-answer-missing",
			Does:     "leaves the answer of the model out of " + rounds + "sampling",
			CaughtBy: []string{"official.input-required.sampling"},
			Apply:    onText(rounds+"sampling", "The model has answered."),
		},
		{
			Name: "contract-roots-unnamed", Does: "leaves the roots out of " + rounds + "list_roots",
			CaughtBy: []string{"official.input-required.roots"},
			Apply:    onText(rounds+"list_roots", "There are some roots."),
		},
		{
			Name: "contract-state-unconfirmed", Does: "leaves state-ok out of " + rounds + "request_state",
			CaughtBy: []string{"official.input-required.state"},
			Apply:    onText(rounds+"request_state", "Done."),
		},
		{
			Name: "contract-state-not-kept", Does: "returns no requestState in " + rounds + "request_state",
			CaughtBy: []string{"official.input-required.state"},
			Apply: onToolAsks(rounds+"request_state", func(asks []server.InputRequest) []server.InputRequest {
				asks[0].WithoutState = true
				return asks
			}),
		},
		{
			Name: "contract-two-of-three", Does: "does not request roots in " + rounds + "multiple_inputs",
			CaughtBy: []string{"official.input-required.several"},
			Apply: onToolAsks(rounds+"multiple_inputs", func(asks []server.InputRequest) []server.InputRequest {
				return asks[:2]
			}),
		},
		{
			Name: "contract-state-repeated", Does: "returns the same requestState in both rounds of " + rounds +
				"multi_round",
			CaughtBy: []string{"official.input-required.rounds"},
			Apply:    onHandler(repeatState),
		},
		{
			Name: "contract-one-round", Does: "requests input once in " + rounds + "multi_round",
			CaughtBy: []string{"official.input-required.rounds"},
			Apply:    onLibraryTool(rounds+"multi_round", func(t *server.Tool) { t.MoreInputRequests = nil }),
		},
		{
			Name:     "contract-capabilities-ignored",
			Does:     "elicits from a client without elicitation in " + rounds + "capabilities",
			CaughtBy: []string{"official.input-required.capabilities"},
			Also:     map[string]string{"lifecycle.input.declared": "the client did not declare elicitation"},
			Apply: onInputRequiredOf(rounds+"capabilities", func(o server.Object) {
				o["inputRequests"].(server.Object)["user_name"] = nameElicitation()
			}),
		},
		{
			Name: "contract-prompt-key-renamed", Does: "requests context where the contract names the key user_context",
			CaughtBy: []string{"official.input-required.prompt"},
			Apply: onLibrary(func(l *server.Features) {
				for _, p := range l.Prompts {
					if asks := p.InputRequests; p.Name == rounds+"prompt" {
						p.InputRequests = func() []server.InputRequest {
							a := asks()
							a[0].Key = "context"
							return a
						}
					}
				}
			}),
		},
	}
}

// nameElicitation returns an input request for the name of the user.
func nameElicitation() server.Object {
	fields := server.Object{"name": server.Object{"type": "string"}}
	return server.Object{"method": "elicitation/create", "params": server.Object{
		"mode": "form", "message": "What is your name?",
		"requestedSchema": server.Object{"type": "object", "properties": fields},
	}}
}

// repeatState returns the requestState of the first round in the second as well, and
// keeps the right one.
func repeatState(next server.Handler) server.Handler {
	var mu sync.Mutex
	second := map[string]string{} // the state of the second round, by that of the first
	return func(ctx context.Context, r *server.Request) (any, *server.Error) {
		if r.Params["name"] != rounds+"multi_round" {
			return next(ctx, r)
		}
		mu.Lock()
		defer mu.Unlock()
		shown := asText(r.Params["requestState"])
		if kept, ok := second[shown]; ok && responsesOf(r)["step2"] != nil {
			r.Params["requestState"] = kept
		}
		v, problem := next(ctx, r)
		if o, ok := v.(server.Object); ok && o["resultType"] == "input_required" && shown != "" {
			second[shown] = asText(o["requestState"])
			o["requestState"] = shown
		}
		return v, problem
	}
}

// officialResponses are faults in how responses and states are received.
func officialResponses() []Fault {
	return []Fault{
		{
			Name: "contract-tampering-undetected", Does: "accepts a requestState that was changed at its end",
			CaughtBy: []string{"official.input-required.tampered"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				if state, ok := r.Params["requestState"].(string); ok {
					r.Params["requestState"] = strings.TrimSuffix(state, "-TAMPERED")
				}
			}),
		},
		{
			Name: "contract-wrong-key-refused", Does: "answers a response that was not requested with error -32602",
			CaughtBy: []string{"official.input-required.asks-again"},
			Apply: answerWhen(func(r *server.Request) bool {
				responses := responsesOf(r)
				return isElicitationRound(r) && responses != nil && responses["user_name"] == nil
			}, failWith(spec.InvalidParams, "inputResponses lacks user_name")),
		},
		{
			Name: "contract-extra-keys-refused", Does: "answers responses beside the requested one with error -32602",
			CaughtBy: []string{"official.input-required.extra"},
			Apply: answerWhen(func(r *server.Request) bool { return isElicitationRound(r) && len(responsesOf(r)) > 1 },
				failWith(spec.InvalidParams, "inputResponses has a response that was not requested")),
		},
		{
			Name: "contract-number-for-an-answer", Does: "accepts a number in inputResponses",
			CaughtBy: []string{"official.input-required.invalid"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				responses := responsesOf(r)
				if _, object := responses["user_name"].(server.Object); responses["user_name"] != nil && !object {
					responses["user_name"] = server.Object{
						"action": "accept", "content": server.Object{"name": "12345"},
					}
				}
			}),
		},
	}
}
