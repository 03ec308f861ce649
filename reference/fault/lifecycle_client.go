package fault

import (
	"context"
	"regexp"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// earlyToolsList is a request that the client sends too early.
const earlyToolsList = `{"jsonrpc":"2.0","id":"early","method":"tools/list"}`

// lifecycleClientFaults are the faults of the client in basic/lifecycle.
func lifecycleClientFaults() []ClientFault {
	return append(lifecycleClientMembers(), lifecycleClientOrder()...)
}

// lifecycleClientMembers are faults of initialize.
func lifecycleClientMembers() []ClientFault {
	const version = `,"version":"` + client.Version + `"`
	capabilities := regexp.MustCompile(`([cC]apabilities":\{)\}`)
	return []ClientFault{
		{
			Name: "client-tools-first", Does: "sends tools/list before initialize",
			CaughtBy: []string{"lifecycle.client.initialize.first"},
			Apply:    clientSendsBefore("initialize", earlyToolsList),
		},
		{
			Name: "client-initialize-no-info", Does: "leaves clientInfo out of initialize",
			Breaks:   []string{"lifecycle-client-initialize-request"},
			CaughtBy: []string{"lifecycle.client.initialize.params"},
			Apply:    clientRewrites("initialize", `,"clientInfo":{"name":"`+client.Name+`"`+version+`}`, ``),
		},
		{
			Name: "client-initialize-capabilities-list", Does: "writes its capabilities as an array",
			Breaks:   []string{"lifecycle-initialize-params-types"},
			CaughtBy: []string{"lifecycle.client.initialize.params"},
			Apply:    clientRewrites("initialize", `"capabilities":{}`, `"capabilities":[]`),
		},
		{
			Name: "client-info-no-version", Does: "leaves its version out of clientInfo",
			CaughtBy: []string{"lifecycle.client.info"},
			Apply:    clientRewrites("", version, ``),
		},
		{
			Name: "client-capabilities-flags", Does: "declares a capability as true",
			CaughtBy: []string{"lifecycle.client.capabilities.types"},
			Apply: clientSends("", func(m client.Message) [][]byte {
				return [][]byte{capabilities.ReplaceAll(m.Raw, []byte(`${1}"sampling":true}`))}
			}),
		},
	}
}

// lifecycleClientOrder are faults in what follows initialize.
func lifecycleClientOrder() []ClientFault {
	return []ClientFault{
		{
			Name: "client-never-initialized", Does: "does not send notifications/initialized",
			CaughtBy: []string{"lifecycle.client.initialized"},
			Apply:    clientSends("notifications/initialized", func(client.Message) [][]byte { return nil }),
		},
		{
			Name: "client-does-not-wait", Does: "sends tools/list before initialize is answered",
			CaughtBy: []string{"lifecycle.client.initialize.awaited"},
			Apply: clientSends("initialize", func(m client.Message) [][]byte {
				return [][]byte{m.Raw, []byte(earlyToolsList)}
			}),
		},
		{
			Name: "client-signals-first", Does: "ends the server by a signal without closing its input",
			CaughtBy: []string{"lifecycle.client.shutdown"},
			Apply: func(o *client.Options) {
				o.Close = func(client.Closer) client.Closer {
					return func(_ context.Context, s *transport.Stream) {
						s.Terminate()
						<-s.Done()
					}
				}
			},
		},
		{
			Name: "client-requests-undeclared", Does: "requests features that the server did not declare",
			CaughtBy: []string{
				"lifecycle.client.capabilities.negotiated", "lifecycle.client.capabilities.negotiated.advised",
			},
			Apply: func(o *client.Options) {
				o.HasCapability = func(func(string) bool) func(string) bool {
					return func(capability string) bool { return capability == "tools" }
				}
			},
		},
	}
}
