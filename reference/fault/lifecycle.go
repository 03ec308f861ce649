package fault

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// lifecycle are the faults of basic/lifecycle, of capabilities and identity.
func lifecycle() []Fault {
	return slices.Concat(handshakeFaults(), capabilityFaults(), metaFaults())
}

// handshakeFaults are those of the opening and the end of a session.
func handshakeFaults() []Fault {
	return []Fault{
		{
			Name: "initialize-refused", Does: "answers initialize with an internal error",
			CaughtBy: []string{"lifecycle.initialize.answered"},
			Apply: instead("initialize", func(*server.Request) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InternalError, Message: "The desk is closed"}
			}),
		},
		{
			Name: "initialize-without-server-info", Does: "does not say who it is",
			CaughtBy: []string{"lifecycle.initialize.result"},
			Apply:    onResult("initialize", func(o server.Object) { delete(o, "serverInfo") }),
		},
		{
			Name: "initialize-without-capabilities", Does: "names no capabilities in its answer to initialize",
			CaughtBy: []string{"lifecycle.initialize.result"},
			Apply:    onResult("initialize", func(o server.Object) { delete(o, "capabilities") }),
		},
		{
			Name: "instructions-list", Does: "gives its instructions to clients of the handshake as an array",
			Breaks:   []string{"lifecycle-initialize-result-types"},
			CaughtBy: []string{"lifecycle.initialize.result"},
			Apply:    onResult("initialize", func(o server.Object) { o["instructions"] = []any{o["instructions"]} }),
		},
		{
			Name: "notifies-before-initialize", Does: "tells of a changed list before it answers initialize",
			CaughtBy: []string{"lifecycle.opening.first"},
			Apply: beforeAnswer("initialize", func(_ context.Context, r *server.Request) {
				r.Notify("notifications/tools/list_changed", nil)
			}),
		},
		{
			Name: "asks-before-initialize", Does: "asks for the roots before it answers initialize",
			CaughtBy: []string{"lifecycle.opening.first"},
			Apply: onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
				asked := 0
				return func(line []byte) error {
					if wire.Parse(line).Method() == "initialize" {
						asked++
						out(raw(`{"jsonrpc":"2.0","id":"early-%d","method":"roots/list"}`, asked))
					}
					return next(line)
				}
			}),
		},
		{
			Name: "initialize-params-optional", Does: "accepts an initialize that does not say who the client is",
			CaughtBy: []string{"lifecycle.initialize.params"},
			Apply: onRequest("initialize", func(r *server.Request) {
				if r.Params["clientInfo"] == nil {
					r.Params["clientInfo"] = server.Object{"name": "somebody", "version": "0"}
				}
			}),
		},
		{
			Name: "initialize-params-code", Does: "refuses an initialize without its parameters as an internal error",
			CaughtBy: []string{"lifecycle.initialize.params"},
			Apply: onError("initialize", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				e.Code = spec.InternalError
				return nil, e
			}),
		},
		{
			Name: "asks-before-initialized", Does: "asks a client that declares sampling for a sample before notifications/initialized",
			CaughtBy: []string{"lifecycle.initialized.awaited"},
			Apply: afterLine(wire.Request, "initialize", func(m wire.Message, out server.FrameSink) {
				if m.Params().Get("capabilities.sampling").Exists() {
					out(raw(`{"jsonrpc":"2.0","id":"early","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`))
				}
			}),
		},
		{
			Name: "stays-after-eof", Does: "lives on after its input ended",
			CaughtBy: []string{"lifecycle.exit-on-eof"},
			Apply: func(o *server.Options) {
				o.Input = func(ctx context.Context, r io.Reader) io.Reader { return endless{ctx, r} }
			},
		},
	}
}

// capabilityFaults are those of what either side declares.
func capabilityFaults() []Fault {
	return []Fault{
		{
			Name: "server-version-number", Does: "gives its own version as a number",
			CaughtBy: []string{"lifecycle.server-info.fields"},
			Apply:    func(o *server.Options) { o.Library = func(l *server.Library) { l.Info["version"] = 1 } },
		},
		{
			Name: "capability-true", Does: "declares logging as true",
			CaughtBy: []string{"lifecycle.capabilities.types"},
			Apply:    declares("logging", true),
		},
		{
			Name: "capability-flag-string", Does: `declares prompts.listChanged as "yes"`,
			CaughtBy: []string{"lifecycle.capabilities.types"},
			Apply: openingEdited(func(capabilities server.Object) {
				capabilities["prompts"] = server.Object{"listChanged": "yes"}
			}),
		},
		{
			Name: "declared-but-unknown", Does: "declares prompts, and does not know prompts/list",
			CaughtBy: []string{"lifecycle.capabilities.served"},
			Apply:    instead("prompts/list", unknownMethod),
		},
		{
			Name: "asks-undeclared", Does: "asks for the roots of a client that declares none",
			Breaks:   []string{"lifecycle-only-negotiated-capabilities"},
			CaughtBy: []string{"lifecycle.capabilities.undeclared", "lifecycle.capabilities.undeclared.advised"},
			Apply: afterLine(wire.Notification, "notifications/initialized", func(_ wire.Message, out server.FrameSink) {
				out(raw(`{"jsonrpc":"2.0","id":"nosy","method":"roots/list"}`))
			}),
		},
		{
			Name: "missing-capability-code", Does: "answers -32602 where the client lacks a capability",
			CaughtBy: []string{"lifecycle.capabilities.required"},
			Apply: onError("tools/call", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				if e.Code == spec.MissingClientCapability {
					e.Code = spec.InvalidParams
				}
				return nil, e
			}),
		},
		{
			Name: "missing-capability-names", Does: "lists the capabilities that a client lacks as an array of names",
			CaughtBy: []string{"lifecycle.capabilities.required.data"},
			Apply: onError("", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				if e.Code == spec.MissingClientCapability {
					e.Data = server.Object{"requiredCapabilities": []any{"elicitation"}}
				}
				return nil, e
			}),
		},
		{
			Name: "capabilities-inherited", Does: "asks a request without capabilities for what an earlier one had declared",
			Breaks:   []string{"lifecycle-undeclared-capability-not-relied", "lifecycle-stateless-capabilities-not-inherited"},
			CaughtBy: []string{"lifecycle.input.declared"},
			Apply: remembering(func(now, kept server.Object) {
				if c, ok := now[spec.MetaClientCapabilities].(server.Object); ok && len(c) == 0 && kept[spec.MetaClientCapabilities] != nil {
					now[spec.MetaClientCapabilities] = kept[spec.MetaClientCapabilities]
				}
			}),
		},
	}
}

// metaFaults are those of the fields by which a stateless request describes
// itself.
func metaFaults() []Fault {
	return []Fault{
		{
			Name: "no-identity", Does: "does not say who it is in the _meta of results",
			CaughtBy: []string{"lifecycle.server-info.present"},
			Apply: onResult("", func(o server.Object) {
				if m, ok := o["_meta"].(server.Object); ok {
					delete(m, spec.MetaServerInfo)
				}
			}),
		},
		{
			Name: "identity-decides", Does: "hides its prompts from clients that go by another name",
			CaughtBy: []string{"lifecycle.identity.ignored"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					info, named := metaOf(r)[spec.MetaClientInfo].(server.Object)
					if o, ok := v.(server.Object); ok && named && r.Method == "server/discover" && info["name"] != "mcpcheck" {
						delete(o["capabilities"].(server.Object), "prompts")
					}
					return v, problem
				}
			}),
		},
		{
			Name: "meta-remembered", Does: "takes the client capabilities that a request lacks from the one before",
			CaughtBy: []string{"lifecycle.meta.capabilities"},
			Apply: remembering(func(now, kept server.Object) {
				if now[spec.MetaClientCapabilities] == nil && kept[spec.MetaClientCapabilities] != nil {
					now[spec.MetaClientCapabilities] = kept[spec.MetaClientCapabilities]
				}
			}),
		},
		{
			Name: "meta-version-assumed", Does: "takes a request without version for one of the only revision that it speaks",
			CaughtBy: []string{"lifecycle.meta.version"},
			Apply: all(
				func(o *server.Options) { o.Revisions = spec.Stateless },
				onRequest("server/discover", func(r *server.Request) {
					if metaOf(r)[spec.MetaProtocolVersion] == nil {
						r.Params["_meta"] = server.Object{spec.MetaProtocolVersion: string(spec.V2026_07_28), spec.MetaClientCapabilities: server.Object{}}
					}
				}),
			),
		},
		{
			Name: "client-info-required", Does: "refuses requests that do not say who the client is",
			CaughtBy: []string{"lifecycle.meta.optional"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.Modern && metaOf(r)[spec.MetaClientInfo] == nil {
						return nil, &server.Error{Code: spec.InvalidParams, Message: "Who are you?"}
					}
					return next(ctx, r)
				}
			}),
		},
	}
}

// declares has the server declare a capability with that value.
func declares(capability string, value any) apply {
	return func(o *server.Options) {
		o.Library = func(l *server.Library) { l.Capabilities[capability] = value }
	}
}

func unknownMethod(r *server.Request) (any, *server.Error) {
	return nil, &server.Error{Code: spec.MethodNotFound, Message: "Method not found: " + r.Method}
}

// metaOf returns the _meta of a request, nil if it has none.
func metaOf(r *server.Request) server.Object {
	o, _ := r.Params["_meta"].(server.Object)
	return o
}

// remembering changes the _meta of each request that has one, given what was
// last seen under each key on the connection.
func remembering(edit func(now, kept server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		var mu sync.Mutex
		kept := server.Object{}
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if now := metaOf(r); now != nil && r.Modern {
				mu.Lock()
				edit(now, kept)
				maps.Copy(kept, now)
				mu.Unlock()
			}
			return next(ctx, r)
		}
	})
}

// endless does not tell its reader of the end of the input until the server
// is stopped.
type endless struct {
	ctx context.Context
	r   io.Reader
}

func (e endless) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	if n == 0 && err != nil {
		<-e.ctx.Done()
	}
	return n, err
}

// banner writes text before anything else.
func banner(text string) apply {
	return func(o *server.Options) {
		o.Bytes = func(w io.Writer) io.Writer {
			io.WriteString(w, text)
			return w
		}
	}
}
