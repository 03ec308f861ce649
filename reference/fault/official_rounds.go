package fault

import (
	"context"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// rounds begins the names of the tools of the contract that ask by
// input_required results.
const rounds = "test_input_required_result_"

func officialRounds() []Fault {
	return []Fault{
		{
			Name: "contract-key-renamed", Does: "asks for name where the contract wants the key user_name",
			CaughtBy: []string{"official.input-required.elicitation"},
			Also:     map[string]string{"official.input-required.asks-again": "the same question again", "official.input-required.extra": "the key that was asked for is not answered"},
			Apply:    onAsks(rounds+"elicitation", func(_ *server.Call, asks []server.Ask) []server.Ask { asks[0].Key = "name"; return asks }),
		},
		{
			Name: "contract-asks-for-ever", Does: "asks again whatever the answer in " + rounds + "elicitation",
			CaughtBy: []string{"official.input-required.elicitation"},
			Also:     map[string]string{"official.input-required.extra": "the same answer with others beside it"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				if responses, ok := r.Params["inputResponses"].(server.Object); ok && r.Params["name"] == rounds+"elicitation" {
					if _, answered := responses["user_name"].(server.Object); answered {
						delete(responses, "user_name")
					}
				}
			}),
		},
		{
			Name: "contract-greeting-without-name", Does: "greets nobody by name in " + rounds + "elicitation", In: spec.Stateless,
			CaughtBy: []string{"official.documented"},
			Apply:    insteadSaying(rounds+"elicitation", "Hello!"),
		},
		{
			Name: "contract-model-unheard", Does: "does not say what the model answered in " + rounds + "sampling",
			CaughtBy: []string{"official.input-required.sampling"},
			Apply:    insteadSaying(rounds+"sampling", "The model has answered."),
		},
		{
			Name: "contract-roots-unnamed", Does: "names no root in " + rounds + "list_roots",
			CaughtBy: []string{"official.input-required.roots"},
			Apply:    insteadSaying(rounds+"list_roots", "There are some roots."),
		},
		{
			Name: "contract-state-unconfirmed", Does: "does not say state-ok in " + rounds + "request_state",
			CaughtBy: []string{"official.input-required.state"},
			Apply:    insteadSaying(rounds+"request_state", "Done."),
		},
		{
			Name: "contract-state-not-kept", Does: "hands out no requestState in " + rounds + "request_state",
			CaughtBy: []string{"official.input-required.state"},
			Apply: onAsks(rounds+"request_state", func(_ *server.Call, asks []server.Ask) []server.Ask {
				asks[0].Open = true
				return asks
			}),
		},
		{
			Name: "contract-two-of-three", Does: "does not ask for the roots in " + rounds + "multiple_inputs",
			CaughtBy: []string{"official.input-required.several"},
			Apply:    onAsks(rounds+"multiple_inputs", func(_ *server.Call, asks []server.Ask) []server.Ask { return asks[:2] }),
		},
		{
			Name: "contract-state-repeated", Does: "hands out the same requestState in both rounds of " + rounds + "multi_round",
			CaughtBy: []string{"official.input-required.rounds"},
			Apply:    onHandler(stateRepeated),
		},
		{
			Name: "contract-one-round", Does: "asks once in " + rounds + "multi_round",
			CaughtBy: []string{"official.input-required.rounds"},
			Apply:    onLibraryTool(rounds+"multi_round", func(t *server.Tool) { t.More = nil }),
		},
		{
			Name: "contract-tampering-unseen", Does: "takes a requestState for its own that was changed at its end",
			CaughtBy: []string{"official.input-required.tampered"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				if state, ok := r.Params["requestState"].(string); ok {
					r.Params["requestState"] = strings.TrimSuffix(state, "-TAMPERED")
				}
			}),
		},
		{
			Name: "contract-capabilities-ignored", Does: "asks a client without elicitation to show a form in " + rounds + "capabilities",
			CaughtBy: []string{"official.input-required.capabilities"},
			Also:     map[string]string{"lifecycle.input.declared": "the client did not declare elicitation"},
			Apply: onInterimOf("tools/call", rounds+"capabilities", func(_ *server.Request, o server.Object) {
				o["inputRequests"].(server.Object)["user_name"] = server.Object{"method": "elicitation/create", "params": server.Object{
					"mode": "form", "message": "What is your name?",
					"requestedSchema": server.Object{"type": "object", "properties": server.Object{"name": server.Object{"type": "string"}}},
				}}
			}),
		},
		{
			Name: "contract-prompt-key-renamed", Does: "asks for context where the contract wants the key user_context",
			CaughtBy: []string{"official.input-required.prompt"},
			Apply: func(o *server.Options) {
				o.Library = func(l *server.Library) {
					for _, p := range l.Prompts {
						if asks := p.Asks; p.Name == rounds+"prompt" {
							p.Asks = func() []server.Ask {
								a := asks()
								a[0].Key = "context"
								return a
							}
						}
					}
				}
			},
		},
		{
			Name: "contract-wrong-key-refused", Does: "answers a key that was not asked for with error -32602",
			CaughtBy: []string{"official.input-required.asks-again"},
			Apply: onHandler(refusingSome("tools/call", func(r *server.Request) bool {
				responses, ok := r.Params["inputResponses"].(server.Object)
				return ok && r.Params["name"] == rounds+"elicitation" && responses["user_name"] == nil
			}, &server.Error{Code: spec.InvalidParams, Message: "inputResponses lacks user_name"})),
		},
		{
			Name: "contract-extra-keys-refused", Does: "answers keys that were not asked for, beside the one that was, with error -32602",
			CaughtBy: []string{"official.input-required.extra"},
			Apply: onHandler(refusingSome("tools/call", func(r *server.Request) bool {
				responses, _ := r.Params["inputResponses"].(server.Object)
				return r.Params["name"] == rounds+"elicitation" && len(responses) > 1
			}, &server.Error{Code: spec.InvalidParams, Message: "inputResponses holds what nobody asked for"})),
		},
		{
			Name: "contract-number-for-an-answer", Does: "takes the number in inputResponses for the name",
			CaughtBy: []string{"official.input-required.invalid"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				responses, _ := r.Params["inputResponses"].(server.Object)
				if _, none := responses["user_name"].(server.Object); responses["user_name"] != nil && !none {
					responses["user_name"] = server.Object{"action": "accept", "content": server.Object{"name": "12345"}}
				}
			}),
		},
	}
}

// stateRepeated hands out the state of the first round in the second too, and
// keeps to itself which it was.
func stateRepeated(next server.Handler) server.Handler {
	var mu sync.Mutex
	second := map[string]string{} // what the state of the second round is, by that of the first
	return func(ctx context.Context, r *server.Request) (any, *server.Error) {
		if r.Params["name"] != rounds+"multi_round" {
			return next(ctx, r)
		}
		mu.Lock()
		defer mu.Unlock()
		shown, _ := r.Params["requestState"].(string)
		responses, _ := r.Params["inputResponses"].(server.Object)
		if kept, ok := second[shown]; ok && responses["step2"] != nil {
			r.Params["requestState"] = kept
		}
		v, problem := next(ctx, r)
		if o, ok := v.(server.Object); ok && o["resultType"] == "input_required" && shown != "" {
			second[shown], _ = o["requestState"].(string)
			o["requestState"] = shown
		}
		return v, problem
	}
}
