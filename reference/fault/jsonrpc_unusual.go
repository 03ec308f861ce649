package fault

import (
	"bytes"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// jsonrpcUnusual are faults in how JSON is read that few clients send.
func jsonrpcUnusual() []Fault {
	holds := func(text string) messageMatcher {
		return func(m wire.Message) bool { return bytes.Contains(m.Raw, []byte(text)) }
	}
	return []Fault{
		newFault("long-message-ignored", "ignores messages of more than 64 KiB", "jsonrpc.message.large",
			ignoreLines(func(m wire.Message) bool { return len(m.Raw) > 64<<10 && !holds("[[[[")(m) })),
		newFault("ends-at-number", "ends at a message that is a number", "jsonrpc.message.survived",
			exitOn(func(m wire.Message) bool { return string(m.Raw) == "42" }, "a message is no object")),
		newFault("ends-at-id-true", "ends at a request with the id true", "jsonrpc.id.invalid.survived",
			exitOn(func(m wire.Message) bool { return m.ID().Raw == "true" }, "an id is a boolean")),
		newFault("ends-at-text-params", "ends at a request whose params are a string", "jsonrpc.params.type.survived",
			exitOn(holds(`"params":"mcpcheck"`), "params are a string")),
		newFault("ends-at-nested-arrays", "ends at deeply nested arrays", "jsonrpc.message.nested.survived",
			exitOn(holds("[[[["), "arrays are nested too deeply")),
		newFault("ends-at-invalid-utf8", "ends at bytes that are no UTF-8", "jsonrpc.utf8.survived",
			exitOn(holds("\xff\xfe"), "a message is no UTF-8")),
		newFault("params-absent-unanswered", "does not answer prompts/get without params",
			"jsonrpc.params.absent.survived",
			ignoreLines(func(m wire.Message) bool {
				return isMessage(wire.Request, "prompts/get")(m) && !m.Params().Exists()
			})),
		newFault("extra-param-refused", "refuses tools/list with a param that it does not know", "jsonrpc.params.extra",
			answerWhen(func(r *server.Request) bool { return r.Method == "tools/list" && r.Params["mcpcheck"] != nil },
				failWith(spec.InvalidParams, "A param is unknown"))),
		newFault("inherited-method-served", "answers the method constructor with a result", "jsonrpc.method.inherited",
			answerInstead("constructor", succeedWith(nil))),
		newFault("empty-method-unanswered", "does not answer a request whose method is empty", "jsonrpc.method.empty",
			ignoreLines(holds(`"method":""`))),
	}
}
