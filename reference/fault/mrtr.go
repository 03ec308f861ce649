package fault

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// mrtr are the faults of basic/patterns/mrtr.
func mrtr() []Fault { return slices.Concat(roundFaults(), responseFaults(), stateFaults()) }

// roundFaults are those of the results that ask for input.
func roundFaults() []Fault {
	return []Fault{
		{
			Name: "roots-by-request", Does: "asks for roots by a request of its own",
			Breaks:   []string{"mrtr-server-input-via-result"},
			CaughtBy: []string{"jsonrpc.request.none"},
			Apply: beforeAnswer("tools/call", func(_ context.Context, r *server.Request) {
				if r.Params["name"] == "check_file" {
					r.Send(server.Frame{Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"desk-%x","method":"roots/list"}`, r.ID.Raw), Kind: wire.Request, Method: "roots/list"})
				}
			}),
		},
		{
			Name: "request-state-object", Does: "sends its requestState as an object",
			CaughtBy: []string{"mrtr.result.shape"},
			Apply: all(onInterim(func(_ *server.Request, o server.Object) {
				o["requestState"] = server.Object{"sealed": o["requestState"]}
			}),
				onRequest("", func(r *server.Request) {
					if o, ok := r.Params["requestState"].(server.Object); ok {
						r.Params["requestState"] = o["sealed"]
					}
				})),
		},
		{
			Name: "asks-for-nothing", Does: "wants a call to be retried, and neither asks nor hands out anything",
			Breaks:   []string{"mrtr-at-least-one"},
			CaughtBy: []string{"jsonrpc.result-type.complete"},
			Apply: onInterim(func(r *server.Request, o server.Object) {
				if r.Params["name"] == "register_reader" {
					delete(o, "inputRequests")
					delete(o, "requestState")
				}
			}),
		},
		{
			Name: "asks-for-a-ping", Does: "asks for a ping beside its other questions",
			CaughtBy: []string{"mrtr.input.kinds"},
			Apply: onInterim(func(_ *server.Request, o server.Object) {
				o["inputRequests"].(server.Object)["there"] = server.Object{"method": "ping"}
			}),
		},
		{
			Name: "same-key-twice", Does: "asks the first of its questions twice under one key",
			CaughtBy: []string{"mrtr.input.keys"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					if asked := gjson.GetBytes(f.Raw, "result.inputRequests"); asked.IsObject() {
						first := ""
						asked.ForEach(func(key, v gjson.Result) bool {
							first = key.Raw + ":" + v.Raw
							return false
						})
						f.Raw = bytes.Replace(f.Raw, []byte(asked.Raw), []byte("{"+first+","+asked.Raw[1:]), 1)
					}
					next(f)
				}
			}),
		},
		{
			Name: "abandoned-rounds-block", Does: "refuses a call once after it was left four times where it asked",
			CaughtBy: []string{"mrtr.abandoned"},
			Apply:    blocking,
		},
	}
}

// blocking refuses one call of a tool, once so many before it asked for input
// and were not retried.
func blocking(o *server.Options) {
	var mu sync.Mutex
	left, told := map[any]int{}, false
	onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			name := r.Params["name"]
			mu.Lock()
			refuse := left[name] == 4 && !told && r.Params["requestState"] == nil
			told = told || refuse
			mu.Unlock()
			if refuse {
				return nil, &server.Error{Code: spec.InternalError, Message: "Finish what you began first"}
			}
			v, problem := next(ctx, r)
			o, _ := v.(server.Object)
			mu.Lock()
			defer mu.Unlock()
			if left[name]++; o["resultType"] != "input_required" {
				left[name] = 0
			}
			return v, problem
		}
	})(o)
}

// responseFaults are those of what the server makes of inputResponses.
func responseFaults() []Fault {
	return []Fault{
		{
			Name: "any-response-will-do", Does: "takes whatever stands for the answers for answers",
			CaughtBy: []string{"mrtr.responses.validated"},
			Apply: onRetry(func(_ context.Context, r *server.Request) (any, *server.Error, bool) {
				o, object := r.Params["inputResponses"].(server.Object)
				for _, v := range o {
					_, ok := v.(server.Object)
					object = object && ok
				}
				return complete(server.Object{"content": []any{server.Object{"type": "text", "text": "Thank you."}}}), nil, !object
			}),
		},
		{
			Name: "bad-responses-in-result", Does: "tells in a result that the answers are no object",
			CaughtBy: []string{"mrtr.responses.errors"},
			Apply: onRetry(func(_ context.Context, r *server.Request) (any, *server.Error, bool) {
				_, object := r.Params["inputResponses"].(server.Object)
				return complained("The answers are no object"), nil, !object
			}),
		},
		{
			Name: "extra-response-refused", Does: "refuses an answer that it did not ask for",
			CaughtBy: []string{"mrtr.responses.extra"},
			Apply: onRetry(func(_ context.Context, r *server.Request) (any, *server.Error, bool) {
				o, _ := r.Params["inputResponses"].(server.Object)
				return nil, &server.Error{Code: spec.InvalidParams, Message: "Nobody asked for that"}, o["mcpcheck-extra"] != nil
			}),
		},
		{
			Name: "missing-response-refused", Does: "refuses a retry that answers nothing",
			CaughtBy: []string{"mrtr.responses.missing"},
			Apply: onRetry(func(_ context.Context, r *server.Request) (any, *server.Error, bool) {
				o, object := r.Params["inputResponses"].(server.Object)
				return nil, &server.Error{Code: spec.InvalidParams, Message: "The answers are missing"}, object && len(o) == 0
			}),
		},
		{
			Name: "spontaneous-response-hangs", Does: "never answers a first request that brings answers",
			CaughtBy: []string{"mrtr.spontaneous"},
			Apply: onRetry(func(ctx context.Context, r *server.Request) (any, *server.Error, bool) {
				o, _ := r.Params["inputResponses"].(server.Object)
				if o["mcpcheck"] == nil {
					return nil, nil, false
				}
				r.Park()
				<-ctx.Done()
				return nil, &server.Error{Code: spec.InternalError, Message: "Stopped"}, true
			}),
		},
	}
}

// onRetry answers requests that bring inputResponses, where instead says so.
func onRetry(instead func(ctx context.Context, r *server.Request) (any, *server.Error, bool)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Params["inputResponses"] != nil {
				if v, problem, ok := instead(ctx, r); ok {
					return v, problem
				}
			}
			return next(ctx, r)
		}
	})
}

// stateFaults are those of what the server makes of a requestState.
func stateFaults() []Fault {
	return []Fault{
		{
			Name: "garbled-state-hangs", Does: "never answers a retry whose requestState has no seal",
			CaughtBy: []string{"mrtr.state.survived"},
			Apply: onRetry(func(ctx context.Context, r *server.Request) (any, *server.Error, bool) {
				o, _ := r.Params["inputResponses"].(server.Object)
				state, ok := r.Params["requestState"].(string)
				if !ok || strings.Contains(state, ".") || o["mcpcheck"] != nil {
					return nil, nil, false
				}
				r.Park()
				<-ctx.Done()
				return nil, &server.Error{Code: spec.InternalError, Message: "Stopped"}, true
			}),
		},
		{
			Name: "state-unsealed", Does: "trusts a requestState whatever its seal",
			CaughtBy: []string{"mrtr.state.tampered"},
			Apply:    onState(func(_ *server.Request, body, _ string) string { return body }),
		},
		{
			Name: "state-for-anything", Does: "accepts the requestState of one request for another",
			CaughtBy: []string{"mrtr.state.bound"},
			Apply: onState(func(r *server.Request, body, seal string) string {
				if seal != sealed(body) {
					return ""
				}
				return made(r, body)
			}),
		},
	}
}

// stateKey is the key of servers whose requestState the faults can seal.
var stateKey = []byte("the key of the drawer at the desk")

// sealed returns the seal of the body of a requestState, as the reference has
// it.
func sealed(body string) string {
	h := hmac.New(sha256.New, stateKey)
	h.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// onState seals anew the body that edit returns of the requestState that a
// request brings; "" leaves it as it came.
func onState(edit func(r *server.Request, body, seal string) string) apply {
	return all(func(o *server.Options) { o.StateKey = stateKey }, onRequest("", func(r *server.Request) {
		state, _ := r.Params["requestState"].(string)
		body, seal, ok := strings.Cut(state, ".")
		if !ok {
			return
		}
		if body = edit(r, body, seal); body != "" {
			r.Params["requestState"] = body + "." + sealed(body)
		}
	}))
}

// made returns the body of a requestState as if it was made for a request.
func made(r *server.Request, body string) string {
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
	sum := sha256.Sum256(encode(about))
	state["for"] = base64.RawURLEncoding.EncodeToString(sum[:])
	return base64.RawURLEncoding.EncodeToString(encode(state))
}
