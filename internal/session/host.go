package session

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Host is the client's side of a session: what it declares, and how it
// answers what a server asks of it. One host serves both eras, requests of the
// server and the entries of an input_required result. The nil Host declares
// nothing and answers as a client without any feature.
type Host struct {
	// Declares returns the capabilities of the client at a revision.
	Declares func(rev spec.Revision) Params
	// Answer answers one thing that a server asks for; it is called on a
	// goroutine of the session's.
	Answer func(a Asked) Reply
}

// Asked is one thing that a server asked for: roots/list,
// sampling/createMessage, elicitation/create or any other method.
type Asked struct {
	Rev    spec.Revision
	Method string
	Params gjson.Result
	Key    string // of the entry, in an input_required result
}

// A Reply is how a host answers. The zero Reply says nothing at all: the
// answer is owed, or left out of the inputResponses.
type Reply struct {
	Result  Params // of a success
	Code    int    // of an error, for which an input_required round has no form
	Message string
}

// NoSuchMethod is how a client answers a method that it does not offer.
func NoSuchMethod() Reply {
	return Reply{Code: spec.MethodNotFound, Message: "mcpcheck declared no capability for this method"}
}

// Willing is a host that declares every capability whose requests it can
// answer, and answers them as a user would who agrees to everything.
func Willing() *Host { return &Host{Declares: everything, Answer: agree} }

// Sparing is a host that declares the same capabilities without what they may
// hold in detail, and answers as a willing one.
func Sparing() *Host {
	return &Host{Declares: func(rev spec.Revision) Params {
		c := Params{}
		for name := range everything(rev) {
			c[name] = Params{}
		}
		return c
	}, Answer: agree}
}

// everything is all that a client can declare and we can answer; tasks of a
// client are left out.
func everything(rev spec.Revision) Params {
	f := rev.Facts()
	c := Params{"roots": Params{}, "sampling": Params{}}
	if !f.Stateless {
		c["roots"] = Params{"listChanged": true}
	}
	if f.SamplingTools {
		c["sampling"] = Params{"context": Params{}, "tools": Params{}}
	}
	switch {
	case f.ElicitationModes:
		c["elicitation"] = Params{"form": Params{}, "url": Params{}}
	case f.Elicitation:
		c["elicitation"] = Params{}
	}
	return c
}

// agree gives the answer of a user who agrees.
func agree(a Asked) Reply {
	switch a.Method {
	case "roots/list":
		return Reply{Result: Roots()}
	case "sampling/createMessage":
		return Reply{Result: sample(a)}
	case "elicitation/create":
		if a.Rev.Facts().Elicitation {
			return Reply{Result: elicited(a.Params)}
		}
	}
	return NoSuchMethod()
}

// Roots is the answer to roots/list. The folder need not exist: nothing on the
// machine is opened to the server by running it under us.
func Roots() Params {
	return Params{"roots": []any{Params{"uri": "file:///mcpcheck/workspace", "name": "workspace"}}}
}

// Sampled is a message of the client's model (client/sampling#creating-messages).
func Sampled(text string) Params {
	return Params{"role": "assistant", "content": Params{"type": "text", "text": text}, "model": "mcpcheck-model", "stopReason": "endTurn"}
}

// sample answers with a text, and uses a tool first where tools are offered
// and none was used yet (client/sampling#tool-use).
func sample(a Asked) Params {
	tools := a.Params.Get("tools").Array()
	if len(tools) == 0 || a.Params.Get("toolChoice.mode").String() == "none" || usedTool(a.Params.Get("messages")) {
		return Sampled("This is what the model of mcpcheck says.")
	}
	return UsedTool(a.Params, "mcpcheck-use-1")
}

// UsedTool is a message of the model that uses the first tool that a request
// for sampling offers, under an id (client/sampling#sampling-with-tools).
func UsedTool(params gjson.Result, id string) Params {
	tool := params.Get("tools.0")
	input, err := schema.Arguments(rand.New(rand.NewPCG(1, 1)), []byte(tool.Get("inputSchema").Raw))
	if err != nil {
		return Sampled("The model of mcpcheck could not use the tool.")
	}
	return Params{
		"role":    "assistant",
		"content": []any{Params{"type": "tool_use", "id": id, "name": tool.Get("name").String(), "input": json.RawMessage(input)}},
		"model":   "mcpcheck-model", "stopReason": "toolUse",
	}
}

func usedTool(messages gjson.Result) bool {
	for _, m := range messages.Array() {
		blocks := m.Get("content")
		if blocks.Get("type").String() == "tool_result" {
			return true
		}
		for _, b := range blocks.Array() {
			if b.Get("type").String() == "tool_result" {
				return true
			}
		}
	}
	return false
}

// elicited accepts: a form with content that fits what was requested, a page
// without any (client/elicitation#response-actions). Where no content can be
// made the user declines.
func elicited(params gjson.Result) Params {
	if params.Get("mode").String() == "url" {
		return Params{"action": "accept"}
	}
	content, err := schema.Arguments(rand.New(rand.NewPCG(1, 1)), []byte(params.Get("requestedSchema").Raw))
	if err != nil {
		return Params{"action": "decline"}
	}
	return Params{"action": "accept", "content": json.RawMessage(content)}
}

// declares returns the capabilities of the client at a revision.
func (h *Host) declares(rev spec.Revision) Params {
	if h == nil {
		return Params{}
	}
	return h.Declares(rev)
}

// answer answers a method; ping is answered by every client.
func (h *Host) answer(a Asked) Reply {
	switch {
	case a.Method == "ping":
		return Reply{Result: Params{}}
	case h == nil:
		return NoSuchMethod()
	}
	return h.Answer(a)
}

// Answering lets f answer what the server asks for from now on, in place of the
// host; nil gives the word back to the host.
func (s *Session) Answering(f func(Asked) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead = f
}

// A question is a request of the server, with who answers such at the time that
// it came.
type question struct {
	wire.Entry
	instead func(Asked) Reply
}

func (c *Conn) answering() func(Asked) Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.instead
}

func (s *Session) answerTo(a Asked, instead func(Asked) Reply) Reply {
	if instead != nil && a.Method != "ping" {
		return instead(a)
	}
	return s.host.answer(a)
}

// respond answers the requests of the server.
func (s *Session) respond() {
	for e := range s.asks {
		id := e.Message.ID()
		if s.Rev.Facts().Stateless || !id.Usable() {
			continue // a server that sends requests in the stateless era is judged, not answered
		}
		reply := s.answerTo(Asked{Rev: s.Rev, Method: e.Message.Method(), Params: e.Message.Params()}, e.instead)
		if raw := Response(id, reply); raw != nil {
			// A peer that does not read loses the answer; what it does then is judged.
			_, _ = s.Send(context.Background(), raw)
		}
	}
}

// Response returns the bytes of a response to a request of the server; nil for
// the zero Reply.
func Response(id wire.ID, r Reply) []byte {
	switch {
	case r.Result != nil:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id.Raw, encode(r.Result))
	case r.Code != 0:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id.Raw, r.Code, encode(r.Message))
	}
	return nil
}
