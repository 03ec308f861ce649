package fault

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// inputRequiredFaults are the faults of basic/patterns/mrtr.
func inputRequiredFaults() []Fault {
	return slices.Concat(inputRequests(), inputResponses(), requestStates())
}

// inputRequests are faults in results of the type input_required.
func inputRequests() []Fault {
	return []Fault{
		{
			Name: "request-state-object", Does: "writes the requestState as an object",
			CaughtBy: []string{"input-required.result.shape"},
			Apply: combine(
				onInputRequired(func(_ *server.Request, o server.Object) {
					o["requestState"] = server.Object{"sealed": o["requestState"]}
				}),
				onRequest("", func(r *server.Request) {
					if o, ok := r.Params["requestState"].(server.Object); ok {
						r.Params["requestState"] = o["sealed"]
					}
				})),
		},
		{
			Name: "ping-among-input-requests", Does: "has a ping among the inputRequests",
			CaughtBy: []string{"input-required.input.kinds"},
			Apply: onInputRequired(func(_ *server.Request, o server.Object) {
				o["inputRequests"].(server.Object)["there"] = server.Object{"method": "ping"}
			}),
		},
		{
			Name: "same-key-twice", Does: "writes the first key of the inputRequests twice",
			CaughtBy: []string{"input-required.input.keys"},
			Apply:    rewriteFrames(anyFrame, repeatFirstKey),
		},
		{
			Name: "abandoned-rounds-block", Does: "refuses a call once after four calls that were not retried",
			CaughtBy: []string{"input-required.abandoned"},
			Apply:    blockAfterAbandoned,
		},
	}
}

// repeatFirstKey writes the first member of the inputRequests of a result twice.
func repeatFirstKey(f server.Frame) []byte {
	requests := gjson.GetBytes(f.Raw, "result.inputRequests")
	if !requests.IsObject() {
		return f.Raw
	}
	first := ""
	requests.ForEach(func(key, v gjson.Result) bool {
		first = key.Raw + ":" + v.Raw
		return false
	})
	return bytes.Replace(f.Raw, []byte(requests.Raw), []byte("{"+first+","+requests.Raw[1:]), 1)
}

// blockAfterAbandoned refuses one call of a tool after four calls of it whose input
// the client did not send.
func blockAfterAbandoned(o *server.Options) {
	var mu sync.Mutex
	abandoned, refused := map[any]int{}, false
	onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			name := r.Params["name"]
			mu.Lock()
			refuse := abandoned[name] == 4 && !refused && r.Params["requestState"] == nil
			refused = refused || refuse
			mu.Unlock()
			if refuse {
				return nil, &server.Error{Code: spec.InternalError, Message: "Finish the earlier calls first"}
			}
			v, problem := next(ctx, r)
			o, _ := v.(server.Object)
			mu.Lock()
			defer mu.Unlock()
			if abandoned[name]++; o["resultType"] != "input_required" {
				abandoned[name] = 0
			}
			return v, problem
		}
	})(o)
}

// inputResponses are faults in how inputResponses are received.
func inputResponses() []Fault {
	isObject := func(r *server.Request) bool {
		_, ok := r.Params["inputResponses"].(server.Object)
		return ok
	}
	holdsObjects := func(r *server.Request) bool {
		for _, v := range responsesOf(r) {
			if _, ok := v.(server.Object); !ok {
				return false
			}
		}
		return isObject(r)
	}
	isRetry := func(matches requestMatcher) requestMatcher {
		return func(r *server.Request) bool { return r.Params["inputResponses"] != nil && matches(r) }
	}
	return []Fault{
		{
			Name: "responses-unchecked", Does: "accepts inputResponses of any type",
			CaughtBy: []string{"input-required.responses.validated"},
			Apply: answerWhen(isRetry(func(r *server.Request) bool { return !holdsObjects(r) }),
				succeedWith(server.Object{"content": []any{server.Object{"type": "text", "text": "Thank you."}}})),
		},
		{
			Name: "bad-responses-in-result", Does: "reports in a result that inputResponses is not an object",
			CaughtBy: []string{"input-required.responses.errors"},
			Apply: answerWhen(isRetry(func(r *server.Request) bool { return !isObject(r) }),
				reportFailure("inputResponses is not an object")),
		},
		{
			Name: "extra-response-refused", Does: "refuses a response that it did not request",
			CaughtBy: []string{"input-required.responses.extra"},
			Apply: answerWhen(func(r *server.Request) bool { return responsesOf(r)["mcpcheck-extra"] != nil },
				failWith(spec.InvalidParams, "A response was not requested")),
		},
		{
			Name: "missing-response-refused", Does: "refuses a retry without responses",
			CaughtBy: []string{"input-required.responses.missing"},
			Apply: answerWhen(isRetry(func(r *server.Request) bool { return isObject(r) && len(responsesOf(r)) == 0 }),
				failWith(spec.InvalidParams, "The responses are missing")),
		},
		{
			Name: "spontaneous-response-hangs", Does: "does not answer a first request that has responses",
			CaughtBy: []string{"input-required.spontaneous"},
			Apply:    leaveUnanswered(func(r *server.Request) bool { return responsesOf(r)["mcpcheck"] != nil }),
		},
		{
			Name: "garbled-state-hangs", Does: "does not answer a retry whose requestState has no signature",
			CaughtBy: []string{"input-required.state.survived"},
			Apply: leaveUnanswered(isRetry(func(r *server.Request) bool {
				state, ok := r.Params["requestState"].(string)
				return ok && !strings.Contains(state, ".") && responsesOf(r)["mcpcheck"] == nil
			})),
		},
	}
}

// leaveUnanswered does not answer requests that match until their connection ends.
func leaveUnanswered(matches requestMatcher) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if matches(r) {
				return waitForEnd(ctx, r)
			}
			return next(ctx, r)
		}
	})
}

// requestStates are faults in how a requestState is received.
func requestStates() []Fault {
	return []Fault{
		{
			Name: "state-signature-unchecked", Does: "accepts a requestState with any signature",
			CaughtBy: []string{"input-required.state.tampered"},
			Apply:    onRequestState(func(_ *server.Request, body, _ string) string { return body }),
		},
		{
			Name: "state-for-other-request", Does: "accepts the requestState of one request for another",
			CaughtBy: []string{"input-required.state.bound"},
			Apply: onRequestState(func(r *server.Request, body, signature string) string {
				if signature != signatureOf(body) {
					return ""
				}
				return bindState(r, body)
			}),
		},
	}
}

// stateKey is the key of servers whose requestState the faults can sign.
var stateKey = []byte("the key by which the server signs")

// signatureOf returns the signature of the body of a requestState, as the reference
// makes it.
func signatureOf(body string) string {
	h := hmac.New(sha256.New, stateKey)
	h.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// onRequestState signs the body that edit returns of the requestState of a request;
// "" leaves the requestState as it came.
func onRequestState(edit func(r *server.Request, body, signature string) string) apply {
	return combine(func(o *server.Options) { o.StateKey = stateKey }, onRequest("", func(r *server.Request) {
		body, signature, ok := strings.Cut(asText(r.Params["requestState"]), ".")
		if !ok {
			return
		}
		if body = edit(r, body, signature); body != "" {
			r.Params["requestState"] = body + "." + signatureOf(body)
		}
	}))
}

// bindState returns the body of a requestState as if it was made for a request.
func bindState(r *server.Request, body string) string {
	raw, err := base64.RawURLEncoding.DecodeString(body)
	state := server.Object{}
	if err != nil || json.Unmarshal(raw, &state) != nil {
		return ""
	}
	about := server.Object{"method": r.Method}
	for _, member := range []string{"name", "uri", "arguments"} {
		if v, ok := r.Params[member]; ok {
			about[member] = v
		}
	}
	sum := sha256.Sum256(wire.Encode(about))
	state["for"] = base64.RawURLEncoding.EncodeToString(sum[:])
	return base64.RawURLEncoding.EncodeToString(wire.Encode(state))
}
