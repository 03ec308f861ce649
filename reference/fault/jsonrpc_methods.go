package fault

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// jsonrpcMethods send messages of the other side, or of a later revision.
func jsonrpcMethods() []Fault {
	return []Fault{
		{
			Name: "initialized-sent", Does: "sends notifications/initialized, a notification of clients",
			CaughtBy: []string{"jsonrpc.methods.notifications"},
			Apply:    notifyBeforeTools("notifications/initialized", nil),
		},
		{
			Name: "tools-list-sent", Does: "sends tools/list, a request of clients",
			CaughtBy: []string{"jsonrpc.methods.requests"},
			Apply: afterLine(isMessage(wire.Request, "tools/list"), func(m wire.Message, out server.FrameSink) {
				out(frameOf(`{"jsonrpc":"2.0","id":"server-%x","method":"tools/list"}`, m.ID().Raw))
			}),
		},
		{
			Name:     "notification-before-its-revision",
			Does:     "sends notifications/elicitation/complete in revisions without that notification",
			In:       spec.Until(spec.V2025_06_18),
			CaughtBy: []string{"jsonrpc.methods.revision", "jsonrpc.methods.revision.advised"},
			Apply:    notifyBeforeTools("notifications/elicitation/complete", server.Object{"elicitationId": "e1"}),
		},
		{
			Name:     "elicitation-before-its-revision",
			Does:     "sends elicitation/create in revisions without elicitation, whose clients cannot declare it",
			In:       spec.Until(spec.V2025_03_26),
			CaughtBy: []string{"jsonrpc.methods.revision.advised"},
			Apply: afterLine(isMessage(wire.Request, "tools/list"), func(m wire.Message, out server.FrameSink) {
				out(frameOf(`{"jsonrpc":"2.0","id":"elicit-%x","method":"elicitation/create","params":`+
					`{"message":"Which shelf?","requestedSchema":{"type":"object","properties":{}}}}`, m.ID().Raw))
			}),
		},
	}
}

// notifyBeforeTools sends a notification before each answer to tools/list.
func notifyBeforeTools(method string, params server.Object) apply {
	return beforeAnswer("tools/list", func(r *server.Request) { r.Notify(method, params) })
}

// jsonrpcFailures report failures by error codes that the protocol does not define.
func jsonrpcFailures() []Fault {
	return []Fault{
		{
			Name: "completion-fails-with-1", Does: "answers completions of an argument with error 1",
			CaughtBy: []string{"jsonrpc.failure.completion"},
			Apply: answerWhen(isCompletion(func(ref, argument server.Object) bool {
				return ref["name"] == "overdue_notice" && argument["name"] == "reader"
			}), failWith(1, "The readers cannot be listed")),
		},
		{
			Name: "prompt-fails-with-500", Does: "answers for a listed prompt with error 500",
			CaughtBy: []string{"jsonrpc.failure.prompts-get"},
			Apply:    answerWhen(isPromptGet("daily_quiz"), failWith(500, "There is no quiz today")),
		},
		{
			Name: "listed-unreadable-code", Does: "answers the read of a listed resource with error 0",
			CaughtBy: []string{"jsonrpc.failure.resources-read"},
			Also:     map[string]string{"resources.listed.readable": "a resource with such an error cannot be read"},
			Apply:    answerWhen(isRead("library://shelves"), failWith(0, "The resource cannot be read")),
		},
	}
}
