package server

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// An Ask is input that a tool, prompt or resource needs from the client: a
// request of its own in the handshake revisions (requests.go), an entry of an
// input_required result in the stateless ones (mrtr.go).
type Ask struct {
	Key    string // names the answer
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params Object // nil for none
	// Open: nothing is kept with the client between the rounds, so that its
	// answer is taken without state.
	Open bool
}

// Input is what came of the asks. At most one of its fields is set; none if
// nothing was asked.
type inputResult struct {
	answers map[string]Object // all of them, by key
	interim Object            // the result that asks the client to come again
	missing string            // why the client could not be asked
}

// capability is the client capability that a method needs.
func (a Ask) capability() string {
	switch a.Method {
	case "roots/list":
		return "roots"
	case "sampling/createMessage":
		return "sampling"
	}
	return "elicitation"
}

// allowed tells whether the client declared what the ask needs. A client with
// an empty elicitation capability shows forms; one that names modes shows the
// ones it names (client/elicitation#capabilities).
func (a Ask) isSupportedBy(p Peer) bool {
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

// visits tells whether the ask is an elicitation in URL mode.
func (a Ask) isURLMode() bool { return a.Params["mode"] == "url" }

// offersTools tells whether the ask lets the client's model use tools
// (client/sampling#tools-in-sampling).
func (a Ask) offersTools() bool {
	_, ok := a.Params["tools"]
	return ok
}

// requirement is what a client lacks that is not allowed the ask.
func (a Ask) requiredSettings() Object {
	switch {
	case a.isURLMode():
		return Object{"url": Object{}}
	case a.offersTools():
		return Object{"tools": Object{}}
	}
	return Object{}
}

// shaped returns the params at a revision.
func (a Ask) paramsAt(v spec.Revision) Object {
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

// obtain gets the answers in the way of the request's era. Once all are there,
// more tells what else is needed; nil for nothing.
func (r *Request) obtainInput(ctx context.Context, asks []Ask, more func(answers map[string]Object) []Ask) (inputResult, *Error) {
	if more == nil {
		more = func(map[string]Object) []Ask { return nil }
	}
	switch {
	case r.answers != nil:
		return inputResult{answers: r.answers}, nil
	case r.task != nil && r.task.extended:
		return r.inputByTask(ctx, asks, more), nil
	case r.Modern:
		return r.inputByResult(asks, more)
	}
	return r.inputByRequests(ctx, asks, more), nil
}

// usable tells why an answer of the client is not one to its ask, or "".
func (a Ask) checkAnswer(answer Object) string {
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

// checkSample checks a CreateMessageResult (client/sampling). A client may
// answer with one block or an array of them from 2025-11-25 on.
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

func sampleText(o Object) string {
	blocks, ok := o["content"].([]any)
	if !ok {
		blocks = []any{o["content"]}
	}
	for _, b := range blocks {
		if block, ok := b.(Object); ok && block["type"] == "text" && isString(block["text"]) {
			return stringOf(block["text"])
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
