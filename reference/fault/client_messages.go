package fault

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// Clients returns the faults of the client, page by page.
func Clients() []ClientFault {
	return slices.Concat(
		clientEnvelope(),
		clientAnswers(),
		clientLifecycle(),
		clientVersioning(),
		clientMeta(),
		clientDiscover(),
		clientFeatures(),
	)
}

// aCancellation is a notification that a client may send at any time.
const aCancellation = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`

// clientEnvelope are faults in the shape of requests and notifications, most of
// them in one more message than the honest client sends.
func clientEnvelope() []ClientFault {
	return []ClientFault{
		{
			Name: "client-no-jsonrpc", Does: "leaves jsonrpc out of tools/list",
			CaughtBy: []string{"client.jsonrpc.version"},
			Apply:    clientRewrites("tools/list", `"jsonrpc":"2.0",`, ``),
		},
		{
			Name: "client-text-as-message", Does: "sends a JSON string as a message",
			CaughtBy: []string{"client.jsonrpc.message.shape"},
			Apply:    clientSendsBefore("tools/list", `"hello"`),
		},
		{
			Name: "client-method-number", Does: "sends a notification whose method is a number",
			CaughtBy: []string{"client.jsonrpc.method.string"},
			Apply:    clientSendsBefore("tools/list", `{"jsonrpc":"2.0","method":7}`),
		},
		{
			Name: "client-method-reserved", Does: "sends a notification whose method starts with rpc.",
			CaughtBy: []string{"client.jsonrpc.method.reserved"},
			Apply:    clientSendsBefore("tools/list", `{"jsonrpc":"2.0","method":"rpc.log"}`),
		},
		{
			Name: "client-params-array", Does: "sends a notification whose params are an array",
			CaughtBy: []string{"client.jsonrpc.params.object"},
			Apply:    clientSendsBefore("tools/list", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":["none"]}`),
		},
		{
			Name: "client-id-null", Does: "sends tools/list once more under the id null",
			Breaks:   []string{"jsonrpc-request-id-not-null"},
			CaughtBy: []string{"client.jsonrpc.request.id"},
			Apply:    clientSends(listAgain("null")),
		},
		{
			Name: "client-id-fraction", Does: "sends tools/list once more under an id with a fraction",
			Breaks:   []string{"jsonrpc-request-id-required"},
			CaughtBy: []string{"client.jsonrpc.request.id"},
			Apply:    clientSends(listAgain("1.5")),
		},
		{
			Name: "client-id-constant", Does: "gives every request the same id",
			CaughtBy: []string{"client.jsonrpc.request.id.unique"},
			Apply: func(o *client.Options) {
				o.NextID = func(func() wire.ID) func() wire.ID {
					return func() wire.ID { return wire.StringID("request") }
				}
			},
		},
		{
			Name: "client-notification-id", Does: "gives a notification an id",
			CaughtBy: []string{"client.jsonrpc.notification.no-id"},
			Apply:    clientSendsBefore("tools/call", `{"jsonrpc":"2.0","id":"n","method":"notifications/cancelled","params":{"requestId":"none"}}`),
		},
		{
			Name: "client-batch", Does: "sends tools/list in an array",
			CaughtBy: []string{"client.jsonrpc.batch.none", "client.jsonrpc.batch.none.advised"},
			Apply: clientSends(func(m client.Message) [][]byte {
				if m.Method != "tools/list" {
					return [][]byte{m.Raw}
				}
				return [][]byte{slices.Concat([]byte("["), m.Raw, []byte("]"))}
			}),
		},
		{
			Name: "client-initialize-batch", Does: "sends initialize in an array",
			CaughtBy: []string{"client.batching.initialize"},
			Apply: clientSpeaking(spec.Only(spec.V2025_03_26), clientSends(func(m client.Message) [][]byte {
				if m.Method != "initialize" {
					return [][]byte{m.Raw}
				}
				return [][]byte{slices.Concat([]byte("["), m.Raw, []byte("]"))}
			})),
		},
		{
			Name: "client-latin-1", Does: "sends text in another encoding than UTF-8",
			CaughtBy: []string{"client.jsonrpc.utf8"},
			Apply:    clientSpeaking(spec.Since(spec.V2025_03_26), clientSendsBefore("tools/list", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"none\",\"reason\":\"genug geh\xf6rt\"}}")),
		},
		{
			Name: "client-logs-to-stdin", Does: "writes a line of log to the server",
			Breaks:   []string{"stdio-stdin-only-mcp"},
			CaughtBy: []string{"client.stdio.stdin.pure"},
			Apply:    clientSendsBefore("tools/list", "listing tools"),
		},
		{
			Name: "client-pretty-json", Does: "writes a message over several lines",
			Breaks:   []string{"stdio-no-embedded-newlines"},
			CaughtBy: []string{"client.stdio.stdin.pure"},
			Apply:    clientSendsBefore("tools/list", indented(aCancellation)),
		},
		{
			Name: "client-server-request", Does: "asks for a sampling, as only servers do",
			CaughtBy: []string{"client.methods.requests"},
			Apply:    clientSendsBefore("ping", `{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`),
		},
		{
			Name: "client-server-notification", Does: "tells of a changed resource, as only servers do",
			CaughtBy: []string{"client.methods.notifications"},
			Apply:    clientSendsBefore("tools/list", `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mcpcheck://notes/first"}}`),
		},
	}
}

// listAgain sends each tools/list first under another id.
func listAgain(id string) func(m client.Message) [][]byte {
	return func(m client.Message) [][]byte {
		if m.Method != "tools/list" {
			return [][]byte{m.Raw}
		}
		own := []byte(`"id":` + wire.Parse(m.Raw).ID().Raw)
		return [][]byte{bytes.Replace(m.Raw, own, []byte(`"id":`+id), 1), m.Raw}
	}
}

func indented(message string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(message), "", "  "); err != nil {
		panic(err) // our own text
	}
	return b.String()
}

// unknownToClients is the method that no client has, as the scripted servers ask for it.
const unknownToClients = "mcpcheck/no-such-method"

// clientAnswers are faults in how the server's requests are answered, in the
// revisions whose servers send any.
func clientAnswers() []ClientFault {
	return []ClientFault{
		{
			Name: "client-ping-unanswered", Does: "does not answer pings",
			CaughtBy: []string{"client.ping.answered"},
			Apply:    clientAnswersBy("ping", func(wire.Message, []byte) []byte { return nil }),
		},
		{
			Name: "client-ping-result", Does: "answers a ping with a result that is not empty",
			CaughtBy: []string{"client.ping.answered"},
			Apply:    clientAnswersBy("ping", members(`"result":{"pong":true}`)),
		},
		{
			Name: "client-ping-text", Does: "answers a ping with a text",
			CaughtBy: []string{"client.jsonrpc.result.object"},
			Apply:    clientAnswersBy("ping", members(`"result":"pong"`)),
		},
		{
			Name: "client-unknown-unanswered", Does: "does not answer requests for methods it does not know",
			CaughtBy: []string{"client.jsonrpc.request.answered"},
			Apply:    clientAnswersBy(unknownToClients, func(wire.Message, []byte) []byte { return nil }),
		},
		{
			Name: "client-unknown-accepted", Does: "answers every request with an empty result",
			CaughtBy: []string{"client.jsonrpc.method.unknown"},
			Apply:    clientAnswersBy(unknownToClients, members(`"result":{}`)),
		},
		{
			Name: "client-notification-answered", Does: "answers notifications with an error",
			CaughtBy: []string{"client.jsonrpc.notification.silent"},
			Apply: func(o *client.Options) {
				o.Heard = func(client.Listener) client.Listener {
					return func(wire.Message) []byte {
						return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`)
					}
				}
			},
		},
		{
			Name: "client-response-foreign", Does: "answers a request that nobody sent",
			Breaks:   []string{"jsonrpc-response-id-match"},
			CaughtBy: []string{"client.jsonrpc.response.id"},
			Apply: clientAnswersBy("ping", func(_ wire.Message, honest []byte) []byte {
				return append(append(honest, '\n'), `{"jsonrpc":"2.0","id":"never-asked","result":{}}`...)
			}),
		},
		{
			Name: "client-response-id-text", Does: "answers a number under the text of it as well",
			Breaks:   []string{"jsonrpc-response-id-type-preserved"},
			CaughtBy: []string{"client.jsonrpc.response.id"},
			Apply: clientAnswersBy(unknownToClients, func(m wire.Message, honest []byte) []byte {
				return append(append(honest, '\n'), bytes.Replace(honest, []byte(`"id":`+m.ID().Raw), []byte(`"id":"`+m.ID().Raw+`"`), 1)...)
			}),
		},
		{
			Name: "client-response-twice", Does: "answers pings twice",
			CaughtBy: []string{"client.jsonrpc.response.once"},
			Apply: clientAnswersBy("ping", func(_ wire.Message, honest []byte) []byte {
				return slices.Concat(honest, []byte("\n"), honest)
			}),
		},
		{
			Name: "client-response-empty", Does: "sends a response without result and error first",
			CaughtBy: []string{"client.jsonrpc.response.member"},
			Apply: clientAnswersBy("ping", func(m wire.Message, honest []byte) []byte {
				return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`+m.ID().Raw+"}\n"), honest)
			}),
		},
		{
			Name: "client-response-both", Does: "puts a result that is null beside the error",
			CaughtBy: []string{"client.jsonrpc.response.not-both"},
			Apply:    clientAnswersBy(unknownToClients, members(`"result":null,"error":{"code":-32601,"message":"Method not found"}`)),
		},
		{
			Name: "client-error-no-message", Does: "leaves the message out of errors",
			CaughtBy: []string{"client.jsonrpc.error.members"},
			Apply:    clientAnswersBy(unknownToClients, members(`"error":{"code":-32601}`)),
		},
		{
			Name: "client-error-code-text", Does: "gives the code of an error as text",
			CaughtBy: []string{"client.jsonrpc.error.code.integer"},
			Also:     map[string]string{"client.jsonrpc.method.unknown": "a text is not the code that is asked for"},
			Apply:    clientAnswersBy(unknownToClients, members(`"error":{"code":"-32601","message":"Method not found"}`)),
		},
		{
			Name: "client-error-message-number", Does: "gives the message of an error as a number",
			CaughtBy: []string{"client.jsonrpc.error.message.string"},
			Apply:    clientAnswersBy(unknownToClients, members(`"error":{"code":-32601,"message":404}`)),
		},
		{
			Name: "client-error-stack", Does: "puts a stack trace into the message of an error",
			CaughtBy: []string{"client.jsonrpc.error.message.concise"},
			Apply:    clientAnswersBy(unknownToClients, members(`"error":{"code":-32601,"message":"Method not found\n  at dispatch\n  at read"}`)),
		},
		{
			Name: "client-error-no-id", Does: "leaves the id out of errors",
			CaughtBy: []string{"client.jsonrpc.error.id"},
			Also:     map[string]string{"client.jsonrpc.request.answered": "an error that names no request answers none"},
			Apply: clientAnswersBy(unknownToClients, func(wire.Message, []byte) []byte {
				return []byte(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}`)
			}),
		},
		{
			Name: "client-error-code-reserved", Does: "refuses unknown methods with a code that JSON-RPC reserves",
			CaughtBy: []string{"client.jsonrpc.code.reserved"},
			Also:     map[string]string{"client.jsonrpc.method.unknown": "it is not the code that is asked for"},
			Apply:    clientAnswersBy(unknownToClients, members(`"error":{"code":-32150,"message":"No such method"}`)),
		},
		{
			Name: "client-modern-answers", Does: "answers requests of a server that may send none",
			CaughtBy: []string{"client.stdio.response.none"},
			Apply: func(o *client.Options) {
				o.Answer = func(next client.Answerer) client.Answerer {
					return func(m wire.Message) []byte {
						if honest := next(m); honest != nil {
							return honest
						}
						return members(`"result":{}`)(m, nil)
					}
				}
			},
		},
	}
}
