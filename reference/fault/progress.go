package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// progress are the faults of basic/utilities/progress.
func progress() []Fault {
	return []Fault{
		{
			Name: "progress-in-words", Does: "tells progress in words instead of a number",
			CaughtBy: []string{"progress.params"},
			Apply:    onProgress(func(p server.Object) { p["progress"] = fmt.Sprint(p["progress"], " shelves") }),
		},
		{
			Name: "progress-without-token", Does: "reports progress without a token",
			CaughtBy: []string{"progress.params"},
			Apply:    onProgress(func(p server.Object) { delete(p, "progressToken") }),
		},
		{
			Name: "progress-total-string", Does: "writes the total of progress as a string",
			CaughtBy: []string{"progress.params"},
			Apply:    onProgress(func(p server.Object) { p["total"] = fmt.Sprint(p["total"]) }),
		},
		{
			Name: "progress-message-object", Does: "gives progress a message that is an object", In: spec.Since(spec.V2025_03_26),
			CaughtBy: []string{"progress.params"},
			Apply:    onProgress(func(p server.Object) { p["message"] = server.Object{"text": p["message"]} }),
		},
		{
			Name: "progress-message-blank", Does: "gives progress a message of one space",
			CaughtBy: []string{"progress.message"},
			Apply:    onProgress(func(p server.Object) { p["message"] = " " }),
		},
		{
			Name: "progress-unasked", Does: "reports progress on calls without a token, under one of its own",
			Breaks:   []string{"progress-active-token-only"},
			CaughtBy: []string{"progress.token.known"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				if meta := metaFor(r); meta["progressToken"] == nil {
					meta["progressToken"] = "desk-" + r.ID.Raw
				}
			}),
		},
		{
			Name: "progress-token-prefixed", Does: "puts a word of its own before progress tokens",
			Breaks:   []string{"progress-active-token-only"},
			CaughtBy: []string{"progress.token.known"},
			Apply:    onProgress(func(p server.Object) { p["progressToken"] = fmt.Sprint("desk:", p["progressToken"]) }),
		},
		{
			Name: "progress-request-id", Does: "reports progress under the id of the request",
			Breaks:   []string{"progress-active-token-only"},
			CaughtBy: []string{"progress.token.known"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					if f.Method == "notifications/progress" {
						f.Raw = editParams(f.Raw, func(p server.Object) { p["progressToken"] = "request " + f.Request.ID.Raw })
					}
					next(f)
				}
			}),
		},
		{
			Name: "progress-token-as-string", Does: "gives integer tokens back as strings",
			CaughtBy: []string{"progress.token.echoed"},
			Apply:    onProgress(func(p server.Object) { p["progressToken"] = fmt.Sprint(p["progressToken"]) }),
		},
		{
			Name: "progress-tokens-mixed", Does: "keeps tokens in a table by their text, where the integer 7 and the string 7 are one",
			CaughtBy: []string{"progress.token.own"},
			Also:     map[string]string{"progress.increases": "the reports on two calls come under one token"},
			Apply:    tokensMixed,
		},
		{
			Name: "progress-repeated", Does: "sends every report of progress twice",
			CaughtBy: []string{"progress.increases"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					next(f)
					if f.Method == "notifications/progress" {
						next(f)
					}
				}
			}),
		},
		{
			Name: "progress-remaining", Does: "tells what remains instead of what was done",
			CaughtBy: []string{"progress.increases"},
			Apply: onProgress(func(p server.Object) {
				p["progress"] = number(p["total"]) - number(p["progress"])
			}),
		},
		{
			Name: "progress-wrapped", Does: "begins at nothing again after the second report",
			CaughtBy: []string{"progress.increases"},
			Apply:    onProgress(func(p server.Object) { p["progress"] = int(number(p["progress"])) % 3 }),
		},
		{
			Name: "progress-after-answer", Does: "sends a last report behind the answer",
			CaughtBy: []string{"progress.ended"},
			Apply:    behindAnswer("notifications/progress"),
		},
		{
			Name: "progress-flood", Does: "reports progress six hundred times at once",
			CaughtBy: []string{"progress.rate"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				flooded := false
				return func(f server.Frame) {
					if f.Method == "notifications/progress" && !flooded {
						flooded = true
						for i := range 600 {
							small := f
							small.Raw = editParams(f.Raw, func(p server.Object) { p["progress"] = float64(i) / 1000 })
							next(small)
						}
					}
					next(f)
				}
			}),
		},
		{
			Name: "progress-token-integer-refused", Does: "refuses requests whose progress token is an integer",
			CaughtBy: []string{"progress.token.accepted"},
			Apply:    refusing(func(token any) bool { _, number := token.(json.Number); return number }),
		},
		{
			Name: "progress-token-string-refused", Does: "refuses requests whose progress token is a string",
			CaughtBy: []string{"progress.token.accepted"},
			Apply:    refusing(func(token any) bool { _, text := token.(string); return text }),
		},
		{
			Name: "progress-unknown-fatal", Does: "ends when it is told of progress under a token that it does not know",
			CaughtBy: []string{"progress.unknown.ignored"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if m := wire.Parse(line); m.Method() == "notifications/progress" && m.Params().Get("progressToken").Exists() {
						return fmt.Errorf("unknown progress token %s", m.Params().Get("progressToken").Raw)
					}
					return next(line)
				}
			}),
		},
		{
			Name: "progress-unknown-answered", Does: "answers progress under a token that it does not know with an error",
			CaughtBy: []string{"progress.unknown.ignored"},
			Apply: onLine(wire.Notification, "notifications/progress", func(m wire.Message, out server.FrameSink) {
				if m.Params().Get("progressToken").Exists() {
					out(raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Unknown progress token"}}`))
				}
			}),
		},
	}
}

// onProgress changes the params of progress notifications.
func onProgress(edit func(params server.Object)) apply {
	return onParams("notifications/progress", edit)
}

// number is a JSON number that editParams gave.
func number(v any) float64 {
	n, ok := v.(json.Number)
	if !ok {
		panic(fmt.Sprintf("fault: %v is no number", v))
	}
	f, err := n.Float64()
	if err != nil {
		panic(fmt.Sprintf("fault: %v is no number: %v", v, err))
	}
	return f
}

// metaFor returns the _meta of a request, which may be added to.
func metaFor(r *server.Request) server.Object {
	meta, ok := r.Params["_meta"].(server.Object)
	if !ok {
		meta = server.Object{}
		r.Params["_meta"] = meta
	}
	return meta
}

// refusing answers requests that give such a progress token with an error.
func refusing(bad func(token any) bool) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			meta, _ := r.Params["_meta"].(server.Object)
			if token, given := meta["progressToken"]; given && bad(token) {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "The progress token is of another type"}
			}
			return next(ctx, r)
		}
	})
}

// tokensMixed leaves the last report of each call out, so that none comes under
// the token of a call that has just ended.
func tokensMixed(o *server.Options) {
	var mu sync.Mutex
	last := map[string]any{} // by text: the token that was given last
	onRequest("tools/call", func(r *server.Request) {
		if token := metaFor(r)["progressToken"]; token != nil {
			mu.Lock()
			defer mu.Unlock()
			last[fmt.Sprint(token)] = token
		}
	})(o)
	onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			ends := false
			if f.Method == "notifications/progress" {
				f.Raw = editParams(f.Raw, func(p server.Object) {
					mu.Lock()
					defer mu.Unlock()
					ends = number(p["progress"]) == number(p["total"])
					p["progressToken"] = last[fmt.Sprint(p["progressToken"])]
				})
			}
			if !ends {
				next(f)
			}
		}
	})(o)
}

// behindAnswer holds the last notification of a method on each request back
// until the next one comes, and the very last until the answer is out.
func behindAnswer(method string) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		held := map[*server.Request]server.Frame{}
		return func(f server.Frame) {
			before, holds := held[f.Request]
			switch {
			case f.Request == nil:
				next(f)
			case f.Method == method && f.Kind == wire.Notification:
				if holds {
					next(before)
				}
				held[f.Request] = f
			default:
				next(f)
				if holds && (f.Kind == wire.Result || f.Kind == wire.Error) {
					delete(held, f.Request)
					next(before)
				}
			}
		}
	})
}
