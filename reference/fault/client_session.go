package fault

import (
	"bytes"
	"context"
	"regexp"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// clientLifecycle are faults of basic/lifecycle.
func clientLifecycle() []ClientFault {
	return []ClientFault{
		{
			Name: "client-tools-first", Does: "asks for the tools before it initializes",
			CaughtBy: []string{"client.lifecycle.initialize.first"},
			Apply:    clientSendsBefore("initialize", `{"jsonrpc":"2.0","id":"early","method":"tools/list"}`),
		},
		{
			Name: "client-initialize-no-info", Does: "leaves clientInfo out of initialize",
			Breaks:   []string{"lifecycle-client-initialize-request"},
			CaughtBy: []string{"client.lifecycle.initialize.params"},
			Apply:    clientRewrites("initialize", `,"clientInfo":{"name":"`+client.Name+`","version":"`+client.Version+`"}`, ``),
		},
		{
			Name: "client-initialize-capabilities-list", Does: "gives its capabilities as an array",
			Breaks:   []string{"lifecycle-initialize-params-types"},
			CaughtBy: []string{"client.lifecycle.initialize.params"},
			Apply:    clientRewrites("initialize", `"capabilities":{}`, `"capabilities":[]`),
		},
		{
			Name: "client-info-no-version", Does: "gives no version of itself",
			CaughtBy: []string{"client.lifecycle.info"},
			Apply:    clientRewrites("", `,"version":"`+client.Version+`"`, ``),
		},
		{
			Name: "client-capabilities-flags", Does: "declares a capability by true",
			CaughtBy: []string{"client.lifecycle.capabilities.types"},
			Apply: clientSends(func(m client.Message) [][]byte {
				return [][]byte{regexp.MustCompile(`([cC]apabilities":\{)\}`).ReplaceAll(m.Raw, []byte(`${1}"sampling":true}`))}
			}),
		},
		{
			Name: "client-never-initialized", Does: "does not send notifications/initialized",
			CaughtBy: []string{"client.lifecycle.initialized"},
			Apply: clientSends(func(m client.Message) [][]byte {
				if m.Method == "notifications/initialized" {
					return nil
				}
				return [][]byte{m.Raw}
			}),
		},
		{
			Name: "client-impatient", Does: "asks for the tools before initialize is answered",
			CaughtBy: []string{"client.lifecycle.waits"},
			Apply: clientSends(func(m client.Message) [][]byte {
				if m.Method != "initialize" {
					return [][]byte{m.Raw}
				}
				return [][]byte{m.Raw, []byte(`{"jsonrpc":"2.0","id":"early","method":"tools/list"}`)}
			}),
		},
		{
			Name: "client-signals-first", Does: "ends the server by a signal, its input still open",
			CaughtBy: []string{"client.lifecycle.shutdown"},
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
			Name: "client-asks-for-all", Does: "asks for features that the server did not declare",
			CaughtBy: []string{"client.capabilities.negotiated", "client.capabilities.negotiated.advised"},
			Apply: func(o *client.Options) {
				o.Offers = func(func(string) bool) func(string) bool {
					return func(capability string) bool { return capability == "tools" }
				}
			},
		},
	}
}

// clientVersioning are faults of basic/lifecycle#version-negotiation.
func clientVersioning() []ClientFault {
	return []ClientFault{
		{
			Name: "client-offers-unspoken", Does: "offers a version that it does not speak",
			CaughtBy: []string{"client.versioning.offer"},
			Apply: func(o *client.Options) {
				o.Accept = func(next func(string) bool) func(string) bool {
					return func(version string) bool {
						rev, err := spec.ParseRevision(version)
						return next(version) && err == nil && spec.Stateless.Has(rev)
					}
				}
			},
		},
		{
			Name: "client-offers-oldest", Does: "offers the oldest version that it speaks", In: spec.Since(spec.V2025_03_26) & spec.Handshake,
			CaughtBy: []string{"client.versioning.offer.latest"},
			Apply: clientSends(func(m client.Message) [][]byte {
				if m.Method != "initialize" {
					return [][]byte{m.Raw}
				}
				offered := wire.Parse(m.Raw).Params().Get("protocolVersion").Raw
				return [][]byte{bytes.Replace(m.Raw, []byte(offered), []byte(`"`+string(spec.V2024_11_05)+`"`), 1)}
			}),
		},
		{
			Name: "client-takes-any-version", Does: "goes on whatever version the server answers",
			CaughtBy: []string{"client.versioning.unknown.stops"},
			Apply: func(o *client.Options) {
				o.Accept = func(func(string) bool) func(string) bool {
					return func(string) bool { return true }
				}
			},
		},
		{
			Name: "client-lingers", Does: "stays connected to a server whose version it does not know",
			CaughtBy: []string{"client.versioning.unknown.disconnects"},
			Apply: func(o *client.Options) {
				var refused atomic.Bool
				o.Accept = func(next func(string) bool) func(string) bool {
					return func(version string) bool {
						ok := next(version)
						refused.Store(!ok)
						return ok
					}
				}
				o.Close = func(next client.Closer) client.Closer {
					return func(ctx context.Context, s *transport.Stream) {
						if refused.Swap(false) {
							<-ctx.Done()
						}
						next(ctx, s)
					}
				}
			},
		},
	}
}

// clientMeta are faults of basic/index#per-request-protocol-fields.
func clientMeta() []ClientFault {
	const version = `"` + spec.MetaProtocolVersion + `":"` + string(spec.V2026_07_28) + `"`
	const capabilities = `"` + spec.MetaClientCapabilities + `":{}`
	return []ClientFault{
		{
			Name: "client-meta-no-capabilities", Does: "leaves its capabilities out of _meta",
			CaughtBy: []string{"client.meta.required"},
			Apply:    clientRewrites("tools/list", capabilities+`,`, ``),
		},
		{
			Name: "client-meta-version-number", Does: "gives the version in _meta as a number",
			Breaks:   []string{"lifecycle-meta-protocol-version-string"},
			CaughtBy: []string{"client.meta.version"},
			Also:     map[string]string{"client.discover.version.listed": "a number is no version that was listed"},
			Apply:    clientRewrites("tools/list", version, `"`+spec.MetaProtocolVersion+`":20260728`),
		},
		{
			Name: "client-meta-version-spelling", Does: "spells the version in _meta in its own way",
			Breaks:   []string{"versioning-identifier"},
			CaughtBy: []string{"client.meta.version"},
			Also:     map[string]string{"client.discover.version.listed": "spelled so, it was not listed"},
			Apply:    clientRewrites("tools/list", version, `"`+spec.MetaProtocolVersion+`":"2026.07.28"`),
		},
		{
			Name: "client-meta-capabilities-list", Does: "gives its capabilities in _meta as an array",
			CaughtBy: []string{"client.meta.capabilities"},
			Apply:    clientRewrites("", capabilities, `"`+spec.MetaClientCapabilities+`":[]`),
		},
		{
			Name: "client-meta-anonymous", Does: "does not say who it is in _meta",
			CaughtBy: []string{"client.meta.info"},
			Apply:    clientRewrites("", `"`+spec.MetaClientInfo+`":{"name":"`+client.Name+`","version":"`+client.Version+`"},`, ``),
		},
	}
}

// clientDiscover are faults of server/discover and of the probe.
func clientDiscover() []ClientFault {
	return []ClientFault{
		{
			Name: "client-discover-version", Does: "names the version in a parameter of server/discover",
			CaughtBy: []string{"client.discover.params"},
			Apply:    clientRewrites("server/discover", `"params":{`, `"params":{"protocolVersion":"2026-07-28",`),
		},
		{
			Name: "client-unlisted-version", Does: "goes on with a version that was not listed",
			CaughtBy: []string{"client.discover.version.listed"},
			Apply:    clientRewrites("tools/list", `"`+string(spec.V2026_07_28)+`"`, `"2027-01-01"`),
		},
		{
			Name: "client-initialize-after-all", Does: "sends initialize though the probe had a result",
			CaughtBy: []string{"client.discover.result.stays"},
			Apply: clientSends(func(m client.Message) [][]byte {
				if m.Method != "tools/list" || !bytes.Contains(m.Raw, []byte(spec.MetaProtocolVersion)) {
					return [][]byte{m.Raw}
				}
				return [][]byte{[]byte(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`), m.Raw}
			}),
		},
		{
			Name: "client-fallback-always", Does: "falls back to initialize after any error",
			CaughtBy: []string{"client.discover.error.stays"},
			Apply: func(o *client.Options) {
				o.Modern = func(func(wire.Message) bool) func(wire.Message) bool {
					return func(m wire.Message) bool { return m.Kind == wire.Result }
				}
			},
		},
	}
}

// clientFeatures are faults in how the features of a server are used.
func clientFeatures() []ClientFault {
	return []ClientFault{
		{
			Name: "client-ping-params", Does: "puts a parameter into its ping",
			CaughtBy: []string{"client.ping.params"},
			Apply:    clientRewrites("ping", `"method":"ping"`, `"method":"ping","params":{"count":1}`),
		},
		{
			Name: "client-cursor-trimmed", Does: "trims cursors before it gives them back",
			Breaks:   []string{"pagination-cursor-opaque", "pagination-cursor-unmodified", "pagination-cursor-no-format-assumptions"},
			CaughtBy: []string{"client.pagination.cursor"},
			Apply:    clientRewrites("", `"cursor":" `, `"cursor":"`),
		},
		{
			Name: "client-cursor-null", Does: "asks for the first page with the cursor null",
			Breaks:   []string{"pagination-cursor-param-string"},
			CaughtBy: []string{"client.pagination.cursor"},
			Apply: clientSends(func(m client.Message) [][]byte {
				p := wire.Parse(m.Raw)
				switch {
				case m.Method != "tools/list" || p.Params().Get("cursor").Exists():
				case p.Params().Exists():
					return [][]byte{bytes.Replace(m.Raw, []byte(`"params":{`), []byte(`"params":{"cursor":null,`), 1)}
				default:
					return [][]byte{bytes.Replace(m.Raw, []byte(`"tools/list"`), []byte(`"tools/list","params":{"cursor":null}`), 1)}
				}
				return [][]byte{m.Raw}
			}),
		},
		{
			Name: "client-cursor-kept", Does: "starts with a cursor of another session", In: spec.Handshake,
			Breaks:   []string{"pagination-cursor-not-persisted"},
			CaughtBy: []string{"client.pagination.cursor"},
			Apply:    clientRewrites("tools/list", `"method":"tools/list"}`, `"method":"tools/list","params":{"cursor":"page-7"}}`),
		},
		{
			Name: "client-cursor-empty-ends", Does: "takes an empty cursor for the end",
			CaughtBy: []string{"client.pagination.cursor.empty"},
			Apply: func(o *client.Options) {
				o.More = func(next func(gjson.Result) bool) func(gjson.Result) bool {
					return func(cursor gjson.Result) bool { return next(cursor) && cursor.String() != "" }
				}
			},
		},
		{
			Name: "client-arguments-text", Does: "gives the arguments of a tool as text",
			CaughtBy: []string{"client.tools.call.params"},
			Apply:    clientRewrites("tools/call", `"arguments":{"text":"text"}`, `"arguments":"{\"text\":\"text\"}"`),
		},
	}
}
