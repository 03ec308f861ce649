package fault

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// progressFaults are the faults of basic/utilities/progress.
func progressFaults() []Fault {
	return slices.Concat(progressParams(), progressTokens(), progressOrder(), progressReceived(),
		[]Fault{progressWithoutZero()})
}

// onProgress changes the params of progress notifications.
func onProgress(edit func(params server.Object)) apply { return onNotification(progressMethod, edit) }

// progressWithoutZero reports no progress for the token 0.
func progressWithoutZero() Fault {
	return newFault("progress-token-zero-ignored", "reports no progress for the token 0", "progress.token.zero",
		withhold(func(f server.Frame) bool {
			m := wire.Parse(f.Raw)
			return m.Method() == progressMethod && m.Params().Get("progressToken").Raw == "0"
		}))
}

// progressParams are faults in the members of progress notifications.
func progressParams() []Fault {
	return []Fault{
		{
			Name: "progress-as-text", Does: "writes progress as a string",
			CaughtBy: []string{"progress.params"},
			Apply:    onProgress(func(p server.Object) { p["progress"] = fmt.Sprint(p["progress"], " shelves") }),
		},
		{
			Name: "progress-without-token", Does: "leaves the progress token out",
			CaughtBy: []string{"progress.params"},
			Apply:    onProgress(remove("progressToken")),
		},
		{
			Name: "progress-total-string", Does: "writes the total of progress as a string",
			CaughtBy: []string{"progress.params"},
			Apply:    onProgress(func(p server.Object) { p["total"] = fmt.Sprint(p["total"]) }),
		},
		{
			Name: "progress-message-object",
			Does: "writes the message of progress as an object", In: spec.Since(spec.V2025_03_26),
			CaughtBy: []string{"progress.params"},
			Apply:    onProgress(func(p server.Object) { p["message"] = server.Object{"text": p["message"]} }),
		},
		{
			Name: "progress-message-blank", Does: "sends progress with a message of one space",
			CaughtBy: []string{"progress.message"},
			Apply:    onProgress(set("message", " ")),
		},
	}
}

// progressTokens are faults in the tokens of progress notifications.
func progressTokens() []Fault {
	unknown := func(name, does string, apply apply) Fault {
		return Fault{
			Name: name, Does: does,
			Breaks:   []string{"progress-active-token-only"},
			CaughtBy: []string{"progress.token.known"},
			Apply:    apply,
		}
	}
	return []Fault{
		unknown("progress-unrequested", "reports progress of calls without a token under a token that it makes up",
			onRequest("tools/call", func(r *server.Request) {
				if meta := addMeta(r); meta["progressToken"] == nil {
					meta["progressToken"] = "server-" + r.ID.Raw
				}
			})),
		unknown("progress-token-prefixed", "puts a prefix before progress tokens",
			onProgress(func(p server.Object) { p["progressToken"] = fmt.Sprint("server:", p["progressToken"]) })),
		unknown("progress-request-id", "reports progress under the id of the request",
			onParamsWhen(isNotification(progressMethod), func(f server.Frame, p server.Object) {
				p["progressToken"] = "request " + f.Request.ID.Raw
			})),
		{
			Name: "progress-token-as-string", Does: "writes integer tokens as strings",
			CaughtBy: []string{"progress.token.echoed"},
			Apply:    onProgress(func(p server.Object) { p["progressToken"] = fmt.Sprint(p["progressToken"]) }),
		},
		{
			Name: "progress-tokens-mixed", Does: "confuses the tokens 7 and \"7\"",
			CaughtBy: []string{"progress.token.own"},
			Also:     map[string]string{"progress.increases": "the reports of two calls come under one token"},
			Apply:    mixTokens,
		},
	}
}

// progressOrder are faults in the order of progress notifications.
func progressOrder() []Fault {
	return []Fault{
		{
			Name: "progress-repeated", Does: "sends every progress notification twice",
			CaughtBy: []string{"progress.increases"},
			Apply:    sendTwice(isNotification(progressMethod)),
		},
		{
			Name: "progress-remaining", Does: "reports what remains as progress",
			CaughtBy: []string{"progress.increases"},
			Apply: onProgress(func(p server.Object) {
				p["progress"] = numberOf(p["total"]) - numberOf(p["progress"])
			}),
		},
		{
			Name: "progress-wrapped", Does: "begins with progress 0 again after the second report",
			CaughtBy: []string{"progress.increases"},
			Apply:    onProgress(func(p server.Object) { p["progress"] = int(numberOf(p["progress"])) % 3 }),
		},
		{
			Name: "progress-after-answer", Does: "sends the last progress notification after the answer",
			CaughtBy: []string{"progress.ended"},
			Apply:    sendLastAfterAnswer(progressMethod),
		},
		{
			Name: "progress-flood", Does: "reports progress six hundred times at once",
			CaughtBy: []string{"progress.rate"},
			Apply: sendFlood(isNotification(progressMethod), func(f server.Frame, n int) server.Frame {
				f.Raw = editParams(f.Raw, set("progress", float64(n)/1000))
				return f
			}),
		},
	}
}

// progressReceived are faults in how tokens and notifications of the client are
// received.
func progressReceived() []Fault {
	refuse := func(matches func(token any) bool) apply {
		return answerWhen(func(r *server.Request) bool {
			token, given := metaOf(r)["progressToken"]
			return given && matches(token)
		}, failWith(spec.InvalidParams, "The progress token has the wrong type"))
	}
	isNumber := func(token any) bool { _, ok := token.(json.Number); return ok }
	isString := func(token any) bool { _, ok := token.(string); return ok }
	hasToken := func(m wire.Message) bool {
		return m.Method() == progressMethod && m.Params().Get("progressToken").Exists()
	}
	return []Fault{
		{
			Name: "progress-token-integer-refused", Does: "refuses requests whose progress token is an integer",
			CaughtBy: []string{"progress.token.accepted"},
			Apply:    refuse(isNumber),
		},
		{
			Name: "progress-token-string-refused", Does: "refuses requests whose progress token is a string",
			CaughtBy: []string{"progress.token.accepted"},
			Apply:    refuse(isString),
		},
		{
			Name: "progress-unknown-fatal", Does: "exits on a progress notification with an unknown token",
			CaughtBy: []string{"progress.unknown.ignored"},
			Apply:    exitOn(hasToken, "unknown progress token"),
		},
		{
			Name:     "progress-unknown-answered",
			Does:     "answers a progress notification with an unknown token with an error",
			CaughtBy: []string{"progress.unknown.ignored"},
			Apply: onLine(isMessage(wire.Notification, progressMethod), func(m wire.Message, out server.FrameSink) {
				if hasToken(m) {
					out(errorWithoutID(spec.InvalidParams, "Unknown progress token"))
				}
			}),
		},
	}
}

// numberOf returns a number of params that editParams decoded.
func numberOf(v any) float64 {
	n, ok := v.(json.Number)
	f, err := n.Float64()
	if !ok || err != nil {
		panic(fmt.Sprintf("fault: %v is not a number: %v", v, err))
	}
	return f
}

// addMeta returns the _meta of a request, which it adds if there is none.
func addMeta(r *server.Request) server.Object {
	if metaOf(r) == nil {
		r.Params["_meta"] = server.Object{}
	}
	return metaOf(r)
}

// mixTokens keeps tokens by their text. It leaves the last report of each call out,
// so that none comes under the token of a call that has just ended.
func mixTokens(o *server.Options) {
	var mu sync.Mutex
	last := map[string]any{} // by text: the last token
	onRequest("tools/call", func(r *server.Request) {
		if token := addMeta(r)["progressToken"]; token != nil {
			mu.Lock()
			defer mu.Unlock()
			last[fmt.Sprint(token)] = token
		}
	})(o)
	onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			ends := false
			if f.Method == progressMethod {
				f.Raw = editParams(f.Raw, func(p server.Object) {
					mu.Lock()
					defer mu.Unlock()
					ends = numberOf(p["progress"]) == numberOf(p["total"])
					p["progressToken"] = last[fmt.Sprint(p["progressToken"])]
				})
			}
			if !ends {
				next(f)
			}
		}
	})(o)
}
