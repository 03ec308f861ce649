package server

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// An InputRequest is input that a tool, prompt or resource needs from the client: a request
// of the server in the handshake revisions (client_requests.go), an entry of an
// input_required result in the stateless ones (input_required.go).
type InputRequest struct {
	Key    string // names the answer
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params Object // nil for none
	// WithoutState makes the server keep no requestState with the client between the
	// rounds: the answer is accepted without it.
	WithoutState bool
}

// A moreInputRequests function returns the input that is needed in addition once
// the given answers are there; none if they suffice.
type moreInputRequests = func(answers map[string]Object) []InputRequest

// An inputResult is the outcome of asking for input. At most one of its fields is
// set; none if nothing was asked.
type inputResult struct {
	answers map[string]Object // all of them, by key
	interim any               // the result that asks the client to retry, or nil
	failure string            // why the input could not be obtained
}

// obtainInput obtains the answers in the way of the request's era. Once all are
// there, more returns the input that is needed in addition; a nil more needs none.
func (r *Request) obtainInput(
	ctx context.Context, requests []InputRequest, more moreInputRequests,
) (inputResult, *Error) {
	if more == nil {
		more = func(map[string]Object) []InputRequest { return nil }
	}
	switch {
	case r.answers != nil:
		return inputResult{answers: r.answers}, nil
	case r.task != nil && r.task.extended:
		return r.inputByTask(ctx, requests, more), nil
	case r.Stateless:
		return r.inputByResult(requests, more)
	}
	return r.inputByRequests(ctx, requests, more), nil
}

// obtainInputOrFail is obtainInput for requests that have no other way to report a
// failure than an error.
func (r *Request) obtainInputOrFail(ctx context.Context, requests []InputRequest) (inputResult, *Error) {
	in, problem := r.obtainInput(ctx, requests, nil)
	if in.failure != "" {
		problem = newError(spec.InternalError, "%s", in.failure)
	}
	return in, problem
}

// capability returns the client capability that the method needs.
func (a InputRequest) capability() string {
	switch a.Method {
	case "roots/list":
		return "roots"
	case "sampling/createMessage":
		return "sampling"
	}
	return "elicitation"
}

// isSupportedBy reports whether the client declared what the input request needs.
// A client with an empty elicitation capability supports forms; one that names
// modes supports those (client/elicitation#capabilities).
func (a InputRequest) isSupportedBy(p Peer) bool {
	if !p.Declares(a.capability()) {
		return false
	}
	switch a.capability() {
	case "sampling":
		_, tools := p.Capabilities["sampling"].(Object)["tools"]
		return tools || !a.offersTools()
	case "roots":
		return true
	}
	modes := p.Capabilities["elicitation"].(Object)
	_, form := modes["form"]
	_, url := modes["url"]
	if a.isURLMode() {
		return url
	}
	return form || !url
}

// isURLMode reports whether the input request is an elicitation in URL mode.
func (a InputRequest) isURLMode() bool { return a.Params["mode"] == "url" }

// offersTools reports whether the input request lets the client's model use tools
// (client/sampling#tools-in-sampling).
func (a InputRequest) offersTools() bool {
	_, ok := a.Params["tools"]
	return ok
}

// requiredSettings returns the settings of the capability that the input request needs.
func (a InputRequest) requiredSettings() Object {
	switch {
	case a.isURLMode():
		return Object{"url": Object{}}
	case a.offersTools():
		return Object{"tools": Object{}}
	}
	return Object{}
}

// paramsAt returns the params at a revision.
func (a InputRequest) paramsAt(v spec.Revision) Object {
	if a.Params == nil || a.Method != "elicitation/create" {
		return a.Params
	}
	o := membersAt(v, "ElicitRequest", a.Params)
	if a.isURLMode() {
		return o
	}
	s := membersAt(v, "", o["requestedSchema"].(Object))
	properties := Object{}
	for name, p := range s["properties"].(Object) {
		properties[name] = membersAt(v, "PrimitiveSchema", p.(Object))
	}
	s["properties"], o["requestedSchema"] = properties, s
	return o
}

// checkAnswer returns why an answer of the client is invalid, or "".
func (a InputRequest) checkAnswer(answer Object) string {
	switch a.Method {
	case "roots/list":
		return checkRoots(answer)
	case "sampling/createMessage":
		return checkSample(answer, a.offersTools())
	}
	if a.isURLMode() {
		return checkAction(answer)
	}
	return checkElicited(a.Params["requestedSchema"].(Object), answer)
}

// checkRoots checks a ListRootsResult (client/roots).
func checkRoots(o Object) string {
	roots, ok := o["roots"].([]any)
	if !ok {
		return "has no array roots"
	}
	for _, v := range roots {
		if root, ok := v.(Object); !ok || !isString(root["uri"]) {
			return "holds a root without uri"
		}
	}
	return ""
}

// checkSample checks a CreateMessageResult (client/sampling). From 2025-11-25 on a
// client may answer with one block or an array of them.
func checkSample(o Object, tools bool) string {
	switch {
	case tools && len(toolUses(o)) > 0:
		return checkToolUses(toolUses(o))
	case o["role"] != "user" && o["role"] != "assistant":
		return "has no role"
	case !isString(o["model"]):
		return "names no model"
	case sampleText(o) == "":
		return "holds no text"
	}
	return ""
}

// contentBlocks returns the content of a sampled message, which is one block or an
// array of them.
func contentBlocks(message Object) []Object {
	blocks, ok := message["content"].([]any)
	if !ok {
		blocks = []any{message["content"]}
	}
	var out []Object
	for _, b := range blocks {
		if block, ok := b.(Object); ok {
			out = append(out, block)
		}
	}
	return out
}

// sampleText returns the first text of a sampled message, or "".
func sampleText(message Object) string {
	for _, block := range contentBlocks(message) {
		if block["type"] == "text" && isString(block["text"]) {
			return stringOf(block["text"])
		}
	}
	return ""
}

// toolUses returns the uses of tools in a sampled message.
func toolUses(message Object) []Object {
	var out []Object
	for _, block := range contentBlocks(message) {
		if block["type"] == "tool_use" {
			out = append(out, block)
		}
	}
	return out
}

// checkToolUses checks the blocks by which a model uses tools
// (schema.ts#ToolUseContent).
func checkToolUses(uses []Object) string {
	for _, use := range uses {
		if !isString(use["id"]) || !isString(use["name"]) || !isObject(use["input"]) {
			return "holds a use of a tool without id, name or input"
		}
	}
	return ""
}

// checkAction checks an ElicitResult that needs no content
// (client/elicitation#response-actions).
func checkAction(o Object) string {
	switch o["action"] {
	case "accept", "decline", "cancel":
		return ""
	}
	return "has no action"
}

// checkElicited checks the ElicitResult of a form.
func checkElicited(requested, o Object) string {
	if why := checkAction(o); why != "" || o["action"] != "accept" {
		return why
	}
	content, ok := o["content"].(Object)
	if !ok {
		return "has no content"
	}
	s, err := compile(requested)
	if err != nil {
		return "was asked for by a bad schema"
	}
	if s.Validate(content) != nil {
		return "does not fit the requested schema"
	}
	return ""
}
