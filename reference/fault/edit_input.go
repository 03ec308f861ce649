package fault

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onInputRequired changes results of the type input_required.
func onInputRequired(edit func(r *server.Request, result server.Object)) apply {
	return onResultWhen(isMethod(""), func(r *server.Request, result server.Object) {
		if result["resultType"] == "input_required" {
			edit(r, result)
		}
	})
}

// onInputRequest changes the inputRequests of results of the type input_required.
func onInputRequest(edit func(r *server.Request, key string, entry server.Object)) apply {
	return onInputRequired(func(r *server.Request, result server.Object) {
		requests, _ := result["inputRequests"].(server.Object)
		for key, entry := range requests {
			edit(r, key, entry.(server.Object))
		}
	})
}

// onInput changes the params of what the server requests of its client by a
// method, in both eras: by requests, and by entries of input_required results.
func onInput(method string, edit func(r *server.Request, params server.Object)) apply {
	isRequest := func(f server.Frame) bool { return f.Kind == wire.Request && f.Method == method }
	return combine(
		onParamsWhen(isRequest, func(f server.Frame, params server.Object) { edit(f.Request, params) }),
		onInputRequest(func(r *server.Request, _ string, entry server.Object) {
			if params, ok := entry["params"].(server.Object); ok && entry["method"] == method {
				edit(r, params)
			}
		}))
}

// onSampling changes the params of requests for sampling.
func onSampling(edit func(params server.Object)) apply {
	return onInput("sampling/createMessage", func(_ *server.Request, params server.Object) { edit(params) })
}

// onElicitation changes the params of elicitations.
func onElicitation(edit func(params server.Object)) apply {
	return onInput("elicitation/create", func(_ *server.Request, params server.Object) { edit(params) })
}

// onForm changes the params of elicitations in form mode.
func onForm(edit func(params server.Object)) apply {
	return onElicitation(func(params server.Object) {
		if params["mode"] != "url" {
			edit(params)
		}
	})
}

// onURLMode changes the params of elicitations in URL mode.
func onURLMode(edit func(params server.Object)) apply {
	return onElicitation(whenMember("mode", "url", edit))
}

// onField changes the fields of forms that have one of the types; "" means no type.
func onField(edit func(field server.Object), types ...string) apply {
	return onForm(func(params server.Object) {
		for _, p := range fieldsOf(params) {
			field := p.(server.Object)
			if slices.Contains(types, asText(field["type"])) {
				edit(field)
			}
		}
	})
}

// fieldsOf returns the fields of a form.
func fieldsOf(params server.Object) server.Object {
	fields, _ := params["requestedSchema"].(server.Object)["properties"].(server.Object)
	return fields
}

// onClientCapabilities changes the capabilities that the client declares before
// the server reads them, in initialize or in each request.
func onClientCapabilities(edit func(capabilities server.Object)) apply {
	return onRequest("", func(r *server.Request) {
		if c, ok := r.Params["capabilities"].(server.Object); ok && r.Method == "initialize" {
			edit(c)
		}
		if c, ok := metaOf(r)[spec.MetaClientCapabilities].(server.Object); ok {
			edit(c)
		}
	})
}

// onClientCapability changes one of these capabilities where the client declares it.
func onClientCapability(name string, edit func(capability server.Object)) apply {
	return onClientCapabilities(func(capabilities server.Object) {
		if c, ok := capabilities[name].(server.Object); ok {
			edit(c)
		}
	})
}

// assumeCapability takes a capability of the client for declared.
func assumeCapability(name string) apply {
	return onClientCapabilities(func(capabilities server.Object) {
		if capabilities[name] == nil {
			capabilities[name] = server.Object{}
		}
	})
}

// ignoreRefusals does not read the errors by which the client refuses requests of
// the method: the server waits for an answer. These requests have ids that begin
// with a tag, so that their answers are known.
func ignoreRefusals(method string) apply {
	tag := strings.ReplaceAll(method, "/", "-") + ":"
	return combine(
		onFrame(func(f server.Frame, members map[string]json.RawMessage) {
			var id string
			if f.Method == method && json.Unmarshal(members["id"], &id) == nil {
				members["id"] = wire.Encode(tag + id)
			}
		}, wire.Request),
		onParamsWhen(isNotification(cancelledMethod), func(f server.Frame, params server.Object) {
			if id, ok := params["requestId"].(string); ok && f.Cancels == method {
				params["requestId"] = tag + id
			}
		}),
		onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
			return func(line []byte) error {
				m := wire.Parse(line)
				if !m.IsResponse() || !strings.HasPrefix(m.ID().Raw, `"`+tag) {
					return next(line)
				}
				if m.Kind == wire.Error {
					return nil
				}
				return next(replaceBytes(m, `"`+tag, `"`))
			}
		}))
}

// onClientAnswer changes the answers of the client to what it was requested, before
// the server reads them, in both eras.
func onClientAnswer(edit func(answer server.Object)) apply {
	return combine(rewriteLines(func(m wire.Message) []byte {
		var members map[string]json.RawMessage
		answer := server.Object{}
		if m.Kind != wire.Result || json.Unmarshal(m.Raw, &members) != nil {
			return m.Raw
		}
		if json.Unmarshal(members["result"], &answer) != nil {
			return m.Raw
		}
		edit(answer)
		members["result"] = wire.Encode(answer)
		return wire.Encode(members)
	}), onRequest("", func(r *server.Request) {
		for _, v := range responsesOf(r) {
			if answer, ok := v.(server.Object); ok {
				edit(answer)
			}
		}
	}))
}

// responsesOf returns the inputResponses of a request, nil if they are not an
// object.
func responsesOf(r *server.Request) server.Object {
	o, _ := r.Params["inputResponses"].(server.Object)
	return o
}
