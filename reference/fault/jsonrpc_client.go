package fault

import (
	"bytes"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// jsonrpcClientFaults are the faults of the client in basic/index#messages.
func jsonrpcClientFaults() []ClientFault {
	return slices.Concat(clientRequests(), clientMessages(), clientResponses(), clientErrors())
}

// clientRequests are faults in the shape of requests and notifications.
func clientRequests() []ClientFault {
	return []ClientFault{
		{
			Name: "client-method-number", Does: "sends a notification whose method is a number",
			CaughtBy: []string{"jsonrpc.client.method.string"},
			Apply:    clientSendsBefore("tools/list", `{"jsonrpc":"2.0","method":7}`),
		},
		{
			Name: "client-method-reserved", Does: "sends a notification whose method starts with rpc.",
			CaughtBy: []string{"jsonrpc.client.method.reserved"},
			Apply:    clientSendsBefore("tools/list", `{"jsonrpc":"2.0","method":"rpc.log"}`),
		},
		{
			Name: "client-params-array", Does: "sends a notification whose params are an array",
			CaughtBy: []string{"jsonrpc.client.params.object"},
			Apply: clientSendsBefore("tools/list",
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":["none"]}`),
		},
		{
			Name: "client-id-null", Does: "sends tools/list once more under the id null",
			Breaks:   []string{"jsonrpc-request-id-not-null"},
			CaughtBy: []string{"jsonrpc.client.request.id"},
			Apply:    clientListsToolsUnder("null"),
		},
		{
			Name: "client-id-fraction", Does: "sends tools/list once more under an id with a fraction",
			Breaks:   []string{"jsonrpc-request-id-required"},
			CaughtBy: []string{"jsonrpc.client.request.id"},
			Apply:    clientListsToolsUnder("1.5"),
		},
		{
			Name: "client-id-constant", Does: "gives every request the same id",
			CaughtBy: []string{"jsonrpc.client.request.id.unique"},
			Apply: func(o *client.Options) {
				o.NextID = func(func() wire.ID) func() wire.ID {
					return func() wire.ID { return wire.StringID("request") }
				}
			},
		},
		{
			Name: "client-notification-id", Does: "gives a notification an id",
			CaughtBy: []string{"jsonrpc.client.notification.no-id"},
			Apply: clientSendsBefore("tools/call",
				`{"jsonrpc":"2.0","id":"n","method":"notifications/cancelled","params":{"requestId":"none"}}`),
		},
		{
			Name: "client-server-request", Does: "sends sampling/createMessage, a request of servers",
			CaughtBy: []string{"jsonrpc.client.methods.requests"},
			Apply: clientSendsBefore("ping",
				`{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`),
		},
		{
			Name:     "client-server-notification",
			Does:     "sends notifications/resources/updated, a notification of servers",
			CaughtBy: []string{"jsonrpc.client.methods.notifications"},
			Apply: clientSendsBefore("tools/list",
				`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":`+
					`{"uri":"mcpcheck://notes/first"}}`),
		},
	}
}

// clientListsToolsUnder sends each tools/list first under another id.
func clientListsToolsUnder(id string) clientApply {
	return clientSends("tools/list", func(m client.Message) [][]byte {
		own := []byte(`"id":` + wire.Parse(m.Raw).ID().Raw)
		return [][]byte{bytes.Replace(m.Raw, own, []byte(`"id":`+id), 1), m.Raw}
	})
}

// clientMessages are faults in what a message is.
func clientMessages() []ClientFault {
	return []ClientFault{
		{
			Name: "client-no-jsonrpc", Does: "leaves jsonrpc out of tools/list",
			CaughtBy: []string{"jsonrpc.client.version"},
			Apply:    clientRewrites("tools/list", `"jsonrpc":"2.0",`, ``),
		},
		{
			Name: "client-text-as-message", Does: "sends a JSON string as a message",
			CaughtBy: []string{"jsonrpc.client.message.shape"},
			Apply:    clientSendsBefore("tools/list", `"hello"`),
		},
		{
			Name: "client-batch", Does: "sends tools/list in an array",
			CaughtBy: []string{"jsonrpc.client.batch.none", "jsonrpc.client.batch.none.advised"},
			Apply:    clientSendsInArray("tools/list"),
		},
		{
			Name: "client-initialize-batch", Does: "sends initialize in an array",
			CaughtBy: []string{"jsonrpc.client.batch.initialize"},
			Apply:    clientSpeaking(spec.Only(spec.V2025_03_26), clientSendsInArray("initialize")),
		},
		{
			Name: "client-latin-1", Does: "sends text in Latin-1",
			CaughtBy: []string{"jsonrpc.client.utf8"},
			Apply: clientSpeaking(spec.Since(spec.V2025_03_26), clientSendsBefore("tools/list",
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":`+
					`{"requestId":"none","reason":"genug geh`+"\xf6"+`rt"}}`)),
		},
	}
}

// unknownToClients is the method that no client has, as the scripted servers
// request it.
const unknownToClients = "mcpcheck/no-such-method"

// clientLeavesUnanswered does not answer the server's requests of the method.
func clientLeavesUnanswered(method string) clientApply {
	return clientAnswers(method, func(wire.Message, []byte) []byte { return nil })
}

// clientResponses are faults in how the server's requests are answered, in the
// revisions whose servers send any.
func clientResponses() []ClientFault {
	return []ClientFault{
		{
			Name: "client-ping-text", Does: "answers a ping with a string as result",
			CaughtBy: []string{"jsonrpc.client.result.object"},
			Apply:    clientAnswers("ping", responseWith(`"result":"pong"`)),
		},
		{
			Name: "client-unknown-unanswered", Does: "does not answer requests of unknown methods",
			CaughtBy: []string{"jsonrpc.client.request.answered"},
			Apply:    clientLeavesUnanswered(unknownToClients),
		},
		{
			Name: "client-unknown-accepted", Does: "answers requests of unknown methods with an empty result",
			CaughtBy: []string{"jsonrpc.client.method.unknown"},
			Apply:    clientAnswers(unknownToClients, responseWith(`"result":{}`)),
		},
		{
			Name: "client-unknown-code", Does: "refuses requests of unknown methods with error -32600",
			CaughtBy: []string{"jsonrpc.client.method.unknown.code"},
			Apply: clientAnswers(unknownToClients,
				responseWith(`"error":{"code":-32600,"message":"No such method"}`)),
		},
		{
			Name: "client-notification-answered", Does: "answers notifications with an error",
			CaughtBy: []string{"jsonrpc.client.notification.silent"},
			Apply: func(o *client.Options) {
				o.HandleNotification = func(client.NotificationHandler) client.NotificationHandler {
					return func(wire.Message) []byte {
						return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`)
					}
				}
			},
		},
		{
			Name: "client-response-foreign", Does: "sends a response to a request that the server did not send",
			Breaks:   []string{"jsonrpc-response-id-match"},
			CaughtBy: []string{"jsonrpc.client.response.id"},
			Apply: clientAnswers("ping", func(_ wire.Message, own []byte) []byte {
				return append(append(own, '\n'), `{"jsonrpc":"2.0","id":"never-asked","result":{}}`...)
			}),
		},
		{
			Name: "client-response-id-text", Does: "answers a numeric id under its text as well",
			Breaks:   []string{"jsonrpc-response-id-type-preserved"},
			CaughtBy: []string{"jsonrpc.client.response.id"},
			Apply: clientAnswers(unknownToClients, func(m wire.Message, own []byte) []byte {
				id := m.ID().Raw
				return append(append(own, '\n'), bytes.Replace(own, []byte(`"id":`+id), []byte(`"id":"`+id+`"`), 1)...)
			}),
		},
		{
			Name: "client-response-twice", Does: "answers pings twice",
			CaughtBy: []string{"jsonrpc.client.response.once"},
			Apply: clientAnswers("ping", func(_ wire.Message, own []byte) []byte {
				return slices.Concat(own, []byte("\n"), own)
			}),
		},
		{
			Name: "client-response-empty", Does: "sends a response without result and error before the right one",
			CaughtBy: []string{"jsonrpc.client.response.member"},
			Apply: clientAnswers("ping", func(m wire.Message, own []byte) []byte {
				return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`+m.ID().Raw+"}\n"), own)
			}),
		},
		{
			Name: "client-response-both", Does: "puts a result that is null beside the error",
			CaughtBy: []string{"jsonrpc.client.response.not-both"},
			Apply: clientAnswers(unknownToClients,
				responseWith(`"result":null,"error":{"code":-32601,"message":"Method not found"}`)),
		},
	}
}

// clientErrors are faults in the errors that answer requests of unknown methods.
func clientErrors() []ClientFault {
	return []ClientFault{
		{
			Name: "client-error-no-message", Does: "leaves the message out of errors",
			CaughtBy: []string{"jsonrpc.client.error.members"},
			Apply:    clientAnswers(unknownToClients, responseWith(`"error":{"code":-32601}`)),
		},
		{
			Name: "client-error-code-text", Does: "writes the code of an error as a string",
			CaughtBy: []string{"jsonrpc.client.error.code.integer"},
			Apply: clientAnswers(unknownToClients,
				responseWith(`"error":{"code":"-32601","message":"Method not found"}`)),
		},
		{
			Name: "client-error-message-number", Does: "writes the message of an error as a number",
			CaughtBy: []string{"jsonrpc.client.error.message.string"},
			Apply:    clientAnswers(unknownToClients, responseWith(`"error":{"code":-32601,"message":404}`)),
		},
		{
			Name: "client-error-stack", Does: "puts a stack trace into the message of an error",
			CaughtBy: []string{"jsonrpc.client.error.message.concise"},
			Apply: clientAnswers(unknownToClients,
				responseWith(`"error":{"code":-32601,"message":"Method not found\n  at dispatch\n  at read"}`)),
		},
		{
			Name: "client-error-no-id", Does: "leaves the id out of errors",
			CaughtBy: []string{"jsonrpc.client.error.id"},
			Also:     map[string]string{"jsonrpc.client.request.answered": "an error without an id answers no request"},
			Apply: clientAnswers(unknownToClients, func(wire.Message, []byte) []byte {
				return []byte(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}`)
			}),
		},
		{
			Name: "client-error-code-reserved", Does: "refuses unknown methods with a code that JSON-RPC reserves",
			CaughtBy: []string{"jsonrpc.client.code.reserved"},
			Also:     map[string]string{"jsonrpc.client.method.unknown.code": "it is not the required code"},
			Apply: clientAnswers(unknownToClients,
				responseWith(`"error":{"code":-32150,"message":"No such method"}`)),
		},
	}
}
