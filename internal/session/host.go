package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Host provides the client features of a session: it declares capabilities and
// answers the requests of the server. It serves both eras: requests of the server,
// and the input requests of an input_required result. The nil Host declares nothing
// and answers only ping.
type Host struct {
	// Capabilities returns the capabilities of the client at a revision.
	Capabilities func(rev spec.Revision) Params
	// Answer answers one request of the server. A goroutine of the session calls it.
	Answer func(a HostRequest) HostReply
}

// HostRequest is a request of the server to the host: roots/list,
// sampling/createMessage, elicitation/create or any other method.
type HostRequest struct {
	Rev    spec.Revision
	Method string
	Params gjson.Result
	Key    string // of the entry in an input_required result; "" for a request
}

// HostReply is the answer of a host: a result or an error. The zero HostReply is no
// answer. An input response cannot be an error.
type HostReply struct {
	Result  Params // of a success; nil for none
	Code    int    // of an error; 0 for none
	Message string // of an error
}

// MethodNotFoundReply returns the answer of a client to a method that it does not
// support.
func MethodNotFoundReply() HostReply {
	return HostReply{Code: spec.MethodNotFound, Message: "mcpcheck declared no capability for this method"}
}

// FullHost returns a host that declares every capability whose requests it can
// answer, and answers them as a user who accepts everything.
func FullHost() *Host { return &Host{Capabilities: allCapabilities, Answer: acceptAll} }

// HostWithoutSubcapabilities returns a host that declares the capabilities of
// FullHost without their sub-capabilities, and answers in the same way.
func HostWithoutSubcapabilities() *Host {
	return &Host{Capabilities: func(rev spec.Revision) Params {
		c := Params{}
		for name := range allCapabilities(rev) {
			c[name] = Params{}
		}
		return c
	}, Answer: acceptAll}
}

// allCapabilities returns the capabilities of a client at a revision, except tasks.
func allCapabilities(rev spec.Revision) Params {
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

// acceptAll answers as a user who accepts everything.
func acceptAll(a HostRequest) HostReply {
	switch a.Method {
	case "roots/list":
		return HostReply{Result: RootsResult()}
	case "sampling/createMessage":
		return HostReply{Result: samplingAnswer(a)}
	case "elicitation/create":
		if a.Rev.Facts().Elicitation {
			return HostReply{Result: elicitResult(a.Params)}
		}
	}
	return MethodNotFoundReply()
}

// RootsResult returns the result of roots/list. The folder does not exist: the check
// of a server must not give the server access to a folder of this machine.
func RootsResult() Params {
	return Params{"roots": []any{Params{"uri": "file:///mcpcheck/workspace", "name": "workspace"}}}
}

// SamplingResult returns a result of sampling/createMessage with a text
// (client/sampling#creating-messages).
func SamplingResult(text string) Params {
	return Params{
		"role": "assistant", "content": Params{"type": "text", "text": text},
		"model": "mcpcheck-model", "stopReason": "endTurn",
	}
}

// samplingAnswer returns a text; if the request offers tools and has no tool result
// yet, it uses a tool instead (client/sampling#tool-use).
func samplingAnswer(a HostRequest) Params {
	tools := a.Params.Get("tools").Array()
	noTools := len(tools) == 0 || a.Params.Get("toolChoice.mode").String() == "none"
	if noTools || hasToolResult(a.Params.Get("messages")) {
		return SamplingResult("This is what the model of mcpcheck says.")
	}
	return ToolUseResult(a.Params, "mcpcheck-use-1")
}

// ToolUseResult returns a result of sampling/createMessage that uses the first tool
// of the request under an id (client/sampling#sampling-with-tools).
func ToolUseResult(params gjson.Result, id string) Params {
	tool := params.Get("tools.0")
	input, err := schema.SampleArguments([]byte(tool.Get("inputSchema").Raw))
	if err != nil {
		return SamplingResult("The model of mcpcheck could not use the tool.")
	}
	use := Params{"type": "tool_use", "id": id, "name": tool.Get("name").String(), "input": json.RawMessage(input)}
	return Params{
		"role": "assistant", "content": []any{use},
		"model": "mcpcheck-model", "stopReason": "toolUse",
	}
}

// hasToolResult reports whether the messages of a sampling request have a tool
// result.
func hasToolResult(messages gjson.Result) bool {
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

// elicitResult accepts an elicitation: a form with content that fits the requested
// schema, a URL without content (client/elicitation#response-actions). It declines
// if no content fits the schema.
func elicitResult(params gjson.Result) Params {
	if params.Get("mode").String() == "url" {
		return Params{"action": "accept"}
	}
	content, err := schema.SampleArguments([]byte(params.Get("requestedSchema").Raw))
	if err != nil {
		return Params{"action": "decline"}
	}
	return Params{"action": "accept", "content": json.RawMessage(content)}
}

// capabilities returns the capabilities of the client at a revision.
func (h *Host) capabilities(rev spec.Revision) Params {
	if h == nil {
		return Params{}
	}
	return h.Capabilities(rev)
}

// answer answers a request of the server. Every client answers ping.
func (h *Host) answer(a HostRequest) HostReply {
	switch {
	case a.Method == "ping":
		return HostReply{Result: Params{}}
	case h == nil:
		return MethodNotFoundReply()
	}
	return h.Answer(a)
}

// OverrideHost makes f answer further requests of the server in place of the host;
// nil makes the host answer them again.
func (s *Session) OverrideHost(f func(HostRequest) HostReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.override = f
}

// A pendingRequest is a request of the server, with the override at the time when it
// came.
type pendingRequest struct {
	wire.Entry
	override func(HostRequest) HostReply
}

func (c *Conn) currentOverride() func(HostRequest) HostReply {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.override
}

func (s *Session) hostAnswer(a HostRequest, override func(HostRequest) HostReply) HostReply {
	if override != nil && a.Method != "ping" {
		return override(a)
	}
	return s.host.answer(a)
}

// answerRequests answers the requests of the server until the connection ends.
func (s *Session) answerRequests() {
	for e := range s.requests {
		id := e.Message.ID()
		if s.Rev.Facts().Stateless || !id.IsValid() {
			continue // a stateless revision has no such requests; a check reports them
		}
		request := HostRequest{Rev: s.Rev, Method: e.Message.Method(), Params: e.Message.Params()}
		if raw := EncodeResponse(id, s.hostAnswer(request, e.override)); raw != nil {
			// A server that does not read gets no answer.
			_, _ = s.Send(context.Background(), raw)
		}
	}
}

// EncodeResponse returns the bytes of a response to a request of the server; nil for
// the zero HostReply.
func EncodeResponse(id wire.ID, r HostReply) []byte {
	switch {
	case r.Result != nil:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id.Raw, wire.Encode(r.Result))
	case r.Code != 0:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`,
			id.Raw, r.Code, wire.Encode(r.Message))
	}
	return nil
}
