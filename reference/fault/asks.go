package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onAsk changes what the server asks its client for by a method, in both eras:
// the params of its requests, and of the entries of input_required results. The
// params may be missing.
func onAsk(method string, edit func(r *server.Request, params server.Object)) apply {
	requests := onFrame(func(f server.Frame, members map[string]json.RawMessage) {
		if f.Method != method || members["params"] == nil {
			return
		}
		params := server.Object{}
		if err := json.Unmarshal(members["params"], &params); err != nil {
			panic(fmt.Sprintf("fault: the server asked with the params %s: %v", members["params"], err))
		}
		edit(f.Request, params)
		members["params"] = encode(params)
	}, wire.Request)
	return all(requests, onEntry(func(r *server.Request, _ string, entry server.Object) {
		if params, ok := entry["params"].(server.Object); ok && entry["method"] == method {
			edit(r, params)
		}
	}))
}

// onEntry changes the entries of input_required results.
func onEntry(edit func(r *server.Request, key string, entry server.Object)) apply {
	return onInterim(func(r *server.Request, result server.Object) {
		asked, _ := result["inputRequests"].(server.Object)
		for key, entry := range asked {
			edit(r, key, entry.(server.Object))
		}
	})
}

// onInterim changes input_required results.
func onInterim(edit func(r *server.Request, result server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && o["resultType"] == "input_required" {
				edit(r, o)
			}
			return v, problem
		}
	})
}

// onSampling, onForm and onVisit change the params of what is asked for: a
// message of the model, a form, or a visit of a page.
func onSampling(edit func(params server.Object)) apply {
	return onAsk("sampling/createMessage", func(_ *server.Request, params server.Object) { edit(params) })
}

func onForm(edit func(params server.Object)) apply {
	return onAsk("elicitation/create", func(_ *server.Request, params server.Object) {
		if params["mode"] != "url" {
			edit(params)
		}
	})
}

func onVisit(edit func(params server.Object)) apply {
	return onAsk("elicitation/create", func(_ *server.Request, params server.Object) {
		if params["mode"] == "url" {
			edit(params)
		}
	})
}

// onField changes the fields of forms that are of one of the types, "" for none.
func onField(edit func(field server.Object), types ...string) apply {
	return onForm(func(params server.Object) {
		properties, _ := params["requestedSchema"].(server.Object)["properties"].(server.Object)
		for _, p := range properties {
			field := p.(server.Object)
			if kind, _ := field["type"].(string); slices.Contains(types, kind) {
				edit(field)
			}
		}
	})
}

// believing changes what the server takes the capabilities of its client for,
// in the handshake or in each request.
func believing(edit func(capabilities server.Object)) apply {
	return onRequest("", func(r *server.Request) {
		if c, ok := r.Params["capabilities"].(server.Object); ok && r.Method == "initialize" {
			edit(c)
		}
		if c, ok := metaOf(r)[spec.MetaClientCapabilities].(server.Object); ok {
			edit(c)
		}
	})
}

// supposing has the server take a capability for declared.
func supposing(name string) apply {
	return believing(func(c server.Object) {
		if c[name] == nil {
			c[name] = server.Object{}
		}
	})
}

// unheard keeps from the server the client's answers to a method that match:
// it waits for them on.
func unheard(method string, match func(m wire.Message) bool) apply {
	tag := strings.ReplaceAll(method, "/", "-") + ":"
	return all(onFrame(func(f server.Frame, members map[string]json.RawMessage) {
		var id string
		if f.Method == method && json.Unmarshal(members["id"], &id) == nil {
			members["id"] = encode(tag + id)
		}
	}, wire.Request), onNotification("notifications/cancelled", func(f server.Frame, params server.Object) {
		if id, ok := params["requestId"].(string); ok && f.Cancels == method {
			params["requestId"] = tag + id
		}
	}), onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error {
			m := wire.Parse(line)
			if !m.IsResponse() || !strings.HasPrefix(m.ID().Raw, `"`+tag) {
				return next(line)
			}
			if match(m) {
				return nil
			}
			return next([]byte(strings.Replace(string(line), `"`+tag, `"`, 1)))
		}
	}))
}

// refused tells whether the client answered by an error.
func refused(m wire.Message) bool { return m.Kind == wire.Error }

// onAnswer changes the client's answers to what it was asked for, before the
// server sees them, in both eras.
func onAnswer(edit func(answer server.Object)) apply {
	return all(onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error {
			var members map[string]json.RawMessage
			answer := server.Object{}
			if m := wire.Parse(line); m.Kind == wire.Result && json.Unmarshal(line, &members) == nil && json.Unmarshal(members["result"], &answer) == nil {
				edit(answer)
				members["result"] = encode(answer)
				line = encode(members)
			}
			return next(line)
		}
	}), onRequest("", func(r *server.Request) {
		responses, _ := r.Params["inputResponses"].(server.Object)
		for _, v := range responses {
			if answer, ok := v.(server.Object); ok {
				edit(answer)
			}
		}
	}))
}

// running puts something before what a tool does.
func running(tool string, before func(ctx context.Context, call *server.Call) (out server.Outcome, done bool)) apply {
	return onLibraryTool(tool, func(t *server.Tool) {
		inner := t.Run
		t.Run = func(ctx context.Context, call *server.Call) server.Outcome {
			if out, done := before(ctx, call); done {
				return out
			}
			return inner(ctx, call)
		}
	})
}

// saying is the outcome of a tool that has a text to say.
func saying(text string) server.Outcome {
	return server.Outcome{Content: []server.Object{{"type": "text", "text": text}}}
}
