package fault

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// lifecycleFaults are the faults of basic/lifecycle, of capabilities and identity.
func lifecycleFaults() []Fault {
	return slices.Concat(lifecycleHandshake(), lifecycleCapabilities(), lifecycleUndeclared(),
		overHTTP(lifecycleHTTP()...))
}

// lifecycleHandshake are faults of the opening and the end of a session.
func lifecycleHandshake() []Fault {
	return []Fault{
		newFault("exits-on-client-without-capabilities", "exits on initialize of a client without capabilities",
			"lifecycle.initialize.survived", exitOn(func(m wire.Message) bool {
				return m.Method() == "initialize" && len(m.Params().Get("capabilities").Map()) == 0
			}, "the client has no capabilities")),
		newFault("exits-on-initialized", "exits on notifications/initialized", "lifecycle.initialized.survived",
			exitOn(isMessage(wire.Notification, "notifications/initialized"), "it exits on notifications/initialized")),
		{
			Name: "initialize-refused", Does: "answers initialize with an internal error",
			CaughtBy: []string{"lifecycle.initialize.answered"},
			Apply:    answerInstead("initialize", failWith(spec.InternalError, "Internal error")),
		},
		{
			Name: "initialize-without-server-info", Does: "leaves serverInfo out of the answer to initialize",
			CaughtBy: []string{"lifecycle.initialize.result"},
			Apply:    onResult("initialize", remove("serverInfo")),
		},
		{
			Name: "initialize-without-capabilities", Does: "leaves capabilities out of the answer to initialize",
			CaughtBy: []string{"lifecycle.initialize.result"},
			Apply:    onResult("initialize", remove("capabilities")),
		},
		{
			Name: "instructions-list", Does: "writes the instructions in the answer to initialize as an array",
			Breaks:   []string{"lifecycle-initialize-result-types"},
			CaughtBy: []string{"lifecycle.initialize.result"},
			Apply:    onResult("initialize", func(o server.Object) { o["instructions"] = []any{o["instructions"]} }),
		},
		{
			Name:     "notifies-before-initialize",
			Does:     "sends a list_changed notification before the answer to initialize",
			CaughtBy: []string{"lifecycle.opening.first"},
			Apply: beforeAnswer("initialize", func(r *server.Request) {
				r.Notify("notifications/tools/list_changed", nil)
			}),
		},
		{
			Name: "requests-before-initialize", Does: "sends roots/list before the answer to initialize",
			CaughtBy: []string{"lifecycle.opening.first"},
			Apply: onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
				sent := 0
				return func(line []byte) error {
					if wire.Parse(line).Method() == "initialize" {
						sent++
						out(frameOf(`{"jsonrpc":"2.0","id":"early-%d","method":"roots/list"}`, sent))
					}
					return next(line)
				}
			}),
		},
		{
			Name: "serves-before-initialize", Does: "lists nothing before initialize instead of refusing the request",
			CaughtBy: []string{"lifecycle.initialize.first"},
			Apply: errorToResult("tools/list", hasMessage("The session is not initialized"),
				succeedWithOnly(server.Object{"tools": []any{}})),
		},
		newFault("initialize-extra-refused", "refuses an initialize with a param that it does not know",
			"lifecycle.initialize.extra", answerWhen(func(r *server.Request) bool {
				return r.Method == "initialize" && r.Params["mcpcheck"] != nil
			}, failWith(spec.InvalidParams, "A param is unknown"))),
		{
			Name: "initialize-params-optional", Does: "accepts an initialize without clientInfo",
			CaughtBy: []string{"lifecycle.initialize.params"},
			Apply: onRequestWhen(lacksParam("initialize", "clientInfo"), func(r *server.Request) {
				r.Params["clientInfo"] = server.Object{"name": "unknown", "version": "0"}
			}),
		},
		{
			Name: "initialize-params-code", Does: "refuses an initialize without its parameters with error -32603",
			CaughtBy: []string{"lifecycle.initialize.params"},
			Apply:    recode("initialize", anyError, spec.InternalError),
		},
		{
			Name:     "requests-before-initialized",
			Does:     "sends sampling/createMessage to clients that declare it before notifications/initialized",
			CaughtBy: []string{"lifecycle.initialized.awaited"},
			Apply: afterLine(isMessage(wire.Request, "initialize"), func(m wire.Message, out server.FrameSink) {
				if m.Params().Get("capabilities.sampling").Exists() {
					const params = `{"messages":[],"maxTokens":1}`
					out(frameOf(`{"jsonrpc":"2.0","id":"early","method":"sampling/createMessage","params":%s}`, params))
				}
			}),
		},
		{
			Name: "stays-after-eof", Does: "does not exit when its input ends",
			CaughtBy: []string{"lifecycle.exit-on-eof", "lifecycle.shutdown.exit"},
			Apply: func(o *server.Options) {
				o.Input = func(ctx context.Context, r io.Reader) io.Reader { return endlessReader{ctx, r} }
			},
		},
	}
}

// An endlessReader does not report the end of the input until the server is
// stopped.
type endlessReader struct {
	ctx context.Context
	r   io.Reader
}

func (e endlessReader) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	if n == 0 && err != nil {
		<-e.ctx.Done()
	}
	return n, err
}

// lifecycleCapabilities are faults of what the server declares.
func lifecycleCapabilities() []Fault {
	return []Fault{
		{
			Name: "declares-sampling", Does: "declares sampling, a capability of clients",
			CaughtBy: []string{"lifecycle.capabilities.client-only"},
			Apply:    onDeclared(set("sampling", server.Object{})),
		},
		{
			Name: "server-version-number", Does: "writes its own version as a number",
			CaughtBy: []string{"lifecycle.server-info.fields"},
			Apply:    onLibrary(func(l *server.Features) { l.Info["version"] = 1 }),
		},
		{
			Name: "server-info-missing", Does: "leaves its identity out of the _meta of results",
			CaughtBy: []string{"lifecycle.server-info.present"},
			Apply: onResult("", func(o server.Object) {
				if meta, ok := o["_meta"].(server.Object); ok {
					delete(meta, spec.MetaServerInfo)
				}
			}),
		},
		{
			Name: "capability-true", Does: "declares logging as true",
			CaughtBy: []string{"lifecycle.capabilities.types"},
			Apply:    withCapability("logging", true),
		},
		{
			Name: "capability-flag-string", Does: `declares prompts.listChanged as "yes"`,
			CaughtBy: []string{"lifecycle.capabilities.types"},
			Apply:    onDeclared(set("prompts", server.Object{"listChanged": "yes"})),
		},
		{
			Name: "declared-but-unknown", Does: "declares prompts and answers prompts/list with error -32601",
			CaughtBy: []string{"lifecycle.capabilities.served"},
			Apply:    answerInstead("prompts/list", unknownMethod),
		},
		{
			Name: "missing-capability-names", Does: "lists the capabilities that a client lacks as an array of names",
			CaughtBy: []string{"lifecycle.capabilities.required.data"},
			Apply: onError("", hasCode(spec.MissingClientCapability), func(e *server.Error) {
				e.Data = server.Object{"requiredCapabilities": []any{"elicitation"}}
			}),
		},
	}
}

// withCapability declares a capability with the value.
func withCapability(name string, value any) apply {
	return onLibrary(func(l *server.Features) { l.Capabilities[name] = value })
}

// withoutCapability neither declares a capability nor offers what it stands for.
func withoutCapability(name string) apply {
	return onLibrary(func(l *server.Features) { delete(l.Capabilities, name) })
}

// withoutListChanged declares the capabilities of lists without notifications.
func withoutListChanged(o *server.Options) {
	combine(withCapability("prompts", server.Object{}), withCapability("resources", server.Object{}),
		withCapability("tools", server.Object{}))(o)
}

// onDeclared changes the declared capabilities, and nothing of what is offered.
func onDeclared(edit func(capabilities server.Object)) apply {
	declared := func(o server.Object) { edit(o["capabilities"].(server.Object)) }
	return combine(onResult("initialize", declared), onResult("server/discover", declared))
}

// undeclared leaves a capability out of what is declared, and offers what it
// stands for.
func undeclared(capability string) apply { return onDeclared(remove(capability)) }

// undeclaredFeature leaves a feature of a capability out of what is declared.
func undeclaredFeature(capability, feature string) apply {
	return onDeclared(func(capabilities server.Object) { delete(capabilities[capability].(server.Object), feature) })
}

// requestsUndeclared are the checks of requests for input that the client does not
// declare. There are two, as the level of the rule changed between revisions.
var requestsUndeclared = []string{"lifecycle.capabilities.undeclared", "lifecycle.capabilities.undeclared.advised"}

// lifecycleUndeclared are requests for input that the client does not declare.
func lifecycleUndeclared() []Fault {
	return []Fault{
		{
			Name:     "roots-requested-undeclared",
			Does:     "sends roots/list after notifications/initialized to a client that does not declare roots",
			Breaks:   []string{"lifecycle-only-negotiated-capabilities"},
			CaughtBy: requestsUndeclared,
			Apply: afterLine(isMessage(wire.Notification, "notifications/initialized"),
				func(_ wire.Message, out server.FrameSink) {
					out(frameOf(`{"jsonrpc":"2.0","id":"undeclared","method":"roots/list"}`))
				}),
		},
		{
			Name: "roots-without-capability", Does: "requests roots of clients that do not declare roots",
			Breaks:   []string{"roots-server-checks-capability"},
			CaughtBy: []string{"lifecycle.capabilities.undeclared.advised"},
			Apply:    assumeCapability("roots"),
		},
		{
			Name: "sampling-without-capability", Does: "requests sampling of clients that do not declare sampling",
			Breaks:   []string{"sampling-requires-client-capability"},
			CaughtBy: requestsUndeclared,
			Apply:    assumeCapability("sampling"),
		},
		{
			Name:     "sampling-without-request-capability",
			Does:     "requests sampling where the request does not declare sampling",
			Breaks:   []string{"sampling-requires-client-capability", "mrtr-undeclared-capability-forbidden"},
			CaughtBy: []string{"lifecycle.input.declared"},
			Apply:    assumeCapability("sampling"),
		},
		{
			Name: "elicitation-without-capability", Does: "elicits from clients that do not declare elicitation",
			Breaks:   []string{"elicitation-requires-client-capability"},
			CaughtBy: []string{"lifecycle.capabilities.undeclared"},
			Apply:    assumeCapability("elicitation"),
		},
		{
			Name:     "elicitation-without-request-capability",
			Does:     "elicits where the request does not declare elicitation",
			Breaks:   []string{"elicitation-requires-client-capability", "mrtr-undeclared-capability-forbidden"},
			CaughtBy: []string{"lifecycle.input.declared"},
			Apply:    assumeCapability("elicitation"),
		},
		{
			Name: "capabilities-inherited",
			Does: "requests what an earlier request declared of a request that declares nothing",
			Breaks: []string{
				"lifecycle-undeclared-capability-not-relied", "lifecycle-stateless-capabilities-not-inherited",
			},
			CaughtBy: []string{"lifecycle.input.declared"},
			Apply: onMetaAfter(func(now, before server.Object) {
				declared, ok := now[spec.MetaClientCapabilities].(server.Object)
				if earlier := before[spec.MetaClientCapabilities]; ok && len(declared) == 0 && earlier != nil {
					now[spec.MetaClientCapabilities] = earlier
				}
			}),
		},
	}
}

// lifecycleHTTP are faults of the lifecycle over streamable HTTP.
func lifecycleHTTP() []Fault {
	withoutParams := posts(func(m wire.Message) bool { return m.Method() == "initialize" && !m.Params().Exists() })
	withoutClientInfo := posts(func(m wire.Message) bool {
		return m.Method() == "initialize" && m.Params().Exists() && !m.Params().Get("clientInfo").Exists()
	})
	return []Fault{
		{
			Name: "http-initialize-without-params-accepted", Does: "accepts initialize without params with status 202",
			CaughtBy: []string{"lifecycle.initialize.params"},
			Apply:    respond(withoutParams, http.StatusAccepted, "", ""),
		},
		{
			Name:     "http-initialize-without-client-info-fails",
			Does:     "answers initialize without clientInfo with status 500",
			CaughtBy: []string{"lifecycle.initialize.params"},
			Apply:    respond(withoutClientInfo, http.StatusInternalServerError, "", ""),
		},
	}
}
