package fault

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// versioningFaults are the faults of basic/lifecycle#version-negotiation and of
// basic/versioning.
func versioningFaults() []Fault {
	return slices.Concat(versionNegotiation(), statelessNegotiation(), versionsPerRequest(),
		versionsUnknown(), overHTTP(versionsHTTP()...))
}

// onOfferedVersion changes the version in the answer to initialize, given the
// requested and the offered one.
func onOfferedVersion(offer func(requested, offered string) string) apply {
	return onResultWhen(isMethod("initialize"), func(r *server.Request, result server.Object) {
		result["protocolVersion"] = offer(asText(r.Params["protocolVersion"]), asText(result["protocolVersion"]))
	})
}

// isPublished reports whether a version is that of a published revision.
func isPublished(version string) bool { return spec.Every.Has(spec.Revision(version)) }

// versionNegotiation are faults of initialize.
func versionNegotiation() []Fault {
	newest := spec.Handshake.Newest()
	return []Fault{
		{
			Name: "echoes-unknown-version", Does: "agrees to any version that initialize names",
			CaughtBy: []string{"versioning.counter-offer"},
			Apply:    onOfferedVersion(func(requested, _ string) string { return requested }),
		},
		{
			Name: "refuses-unknown-version", Does: "refuses an unknown version without offering another",
			CaughtBy: []string{"versioning.counter-offer"},
			Apply: answerWhen(func(r *server.Request) bool {
				version, ok := r.Params["protocolVersion"].(string)
				return ok && r.Method == "initialize" && !isPublished(version)
			}, failWith(spec.InvalidParams, "Unknown protocol version")),
		},
		{
			Name:     "offers-what-it-does-not-speak",
			Does:     "offers its newest version and does not agree to it when a client requests it",
			In:       spec.Handshake & spec.Until(spec.V2025_06_18),
			CaughtBy: []string{"versioning.counter-offer"},
			Apply: onOfferedVersion(func(requested, offered string) string {
				if requested == string(newest) {
					return string(spec.V2025_06_18)
				}
				return offered
			}),
		},
		{
			Name: "offers-oldest", Does: "offers the oldest version that it speaks in place of an unknown one",
			In:       spec.Handshake & spec.Since(spec.V2025_03_26),
			CaughtBy: []string{"versioning.counter-offer.latest"},
			Apply: onOfferedVersion(func(requested, offered string) string {
				if !isPublished(requested) {
					return string(spec.V2024_11_05)
				}
				return offered
			}),
		},
		{
			Name: "version-with-v", Does: "writes a v before the versions that it offers",
			CaughtBy: []string{"versioning.identifier", "versioning.identifier.advised"},
			Apply: combine(
				onOfferedVersion(func(requested, _ string) string {
					if isPublished(requested) {
						return requested
					}
					return "v" + string(newest)
				}),
				onError("", hasCode(spec.UnsupportedVersion), func(e *server.Error) {
					if data, ok := e.Data.(server.Object); ok {
						data["supported"] = []any{"v" + string(spec.V2026_07_28)}
					}
				}),
			),
		},
	}
}

// statelessNegotiation are faults of a server of the stateless revision in how it
// answers initialize.
func statelessNegotiation() []Fault {
	return []Fault{
		{
			Name:     "initialize-refused-without-versions",
			Does:     "speaks only the stateless revision and refuses initialize without naming versions",
			Breaks:   []string{"versioning-modern-only-names-versions"},
			CaughtBy: []string{"versioning.initialize.refused"},
			Apply:    combine(statelessOnly, answerInstead("initialize", unknownMethod)),
		},
		{
			Name: "initialize-ignored", Does: "speaks only the stateless revision and does not answer initialize",
			Breaks:   []string{"versioning-modern-only-rejects-initialize"},
			CaughtBy: []string{"versioning.initialize.refused"},
			Apply:    combine(statelessOnly, ignoreLines(isMessage(wire.Request, "initialize"))),
		},
		{
			Name: "initialize-names-stateless", Does: "agrees to the stateless revision in initialize",
			CaughtBy: []string{"versioning.initialize.served"},
			Apply:    onOfferedVersion(func(_, _ string) string { return string(spec.V2026_07_28) }),
		},
		{
			Name: "initialize-without-effect", Does: "answers initialize and still requires _meta in each request",
			CaughtBy: []string{"versioning.initialize.served"},
			Apply: answerWhen(func(r *server.Request) bool { return !r.Stateless && r.Method != "initialize" },
				failWith(spec.InvalidParams, "The request has no _meta")),
		},
	}
}

// versionsPerRequest are faults of the versions that stateless requests name.
func versionsPerRequest() []Fault {
	onUnsupported := func(edit func(e *server.Error)) apply {
		return onError("", hasCode(spec.UnsupportedVersion), edit)
	}
	return []Fault{
		{
			Name: "serves-any-version", Does: "serves requests of any version as those of its own",
			CaughtBy: []string{"versioning.unsupported.error"},
			Apply: onRequest("", func(r *server.Request) {
				if v, ok := metaOf(r)[spec.MetaProtocolVersion].(string); ok && !isPublished(v) {
					metaOf(r)[spec.MetaProtocolVersion] = string(spec.V2026_07_28)
				}
			}),
		},
		{
			Name: "unsupported-version-code", Does: "refuses an unsupported version with error -32602",
			Breaks:   []string{"versioning-unsupported-version-error"},
			CaughtBy: []string{"versioning.unsupported.error"},
			Apply:    onUnsupported(func(e *server.Error) { e.Code = spec.InvalidParams }),
		},
		{
			Name:     "unsupported-version-without-data",
			Does:     "refuses an unsupported version without naming supported ones",
			CaughtBy: []string{"versioning.unsupported.data"},
			Apply:    onUnsupported(func(e *server.Error) { e.Data = nil }),
		},
		{
			Name: "unsupported-version-mistaken", Does: "names a version as requested that was not requested",
			CaughtBy: []string{"versioning.unsupported.data"},
			Apply:    onUnsupported(func(e *server.Error) { e.Data.(server.Object)["requested"] = "2025-11-25" }),
		},
		{
			Name:     "stops-after-unsupported-version",
			Does:     "fails all requests of a connection after an unsupported version",
			CaughtBy: []string{"versioning.per-request"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				var stopped atomic.Bool
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if stopped.Load() {
						return nil, &server.Error{
							Code: spec.InternalError, Message: "The connection had an unsupported version",
						}
					}
					v, problem := next(ctx, r)
					if problem != nil && problem.Code == spec.UnsupportedVersion {
						stopped.Store(true)
					}
					return v, problem
				}
			}),
		},
	}
}

// versionsUnknown are faults of what a revision does not have, and of extensions.
func versionsUnknown() []Fault {
	return []Fault{
		{
			Name: "ping-kept", Does: "answers ping in the stateless revision",
			CaughtBy: []string{"versioning.removed"},
			Apply:    answerInstead("ping", succeedWith(nil)),
		},
		{
			Name: "extension-without-prefix", Does: "declares an extension whose identifier has no prefix",
			CaughtBy: []string{"versioning.extensions.names"},
			Apply:    withCapability("extensions", server.Object{"reading-room": server.Object{}}),
		},
		{
			Name: "extension-settings-true", Does: "declares an extension as true",
			CaughtBy: []string{"versioning.extensions.settings"},
			Apply:    withCapability("extensions", server.Object{"example.library/reading-room": true}),
		},
	}
}

// versionsHTTP are faults of versions over streamable HTTP.
func versionsHTTP() []Fault {
	return []Fault{
		{
			Name:     "http-initialize-refused-as-success",
			Does:     "speaks only the stateless revision and refuses initialize with status 200",
			Breaks:   []string{"versioning-modern-only-rejects-initialize"},
			CaughtBy: []string{"versioning.initialize.refused"},
			Apply: combine(statelessOnly,
				replaceStatus(posts(isMessage(wire.Request, "initialize")), http.StatusBadRequest, http.StatusOK)),
		},
	}
}

// versioningClientFaults are the faults of the client in
// basic/lifecycle#version-negotiation.
func versioningClientFaults() []ClientFault {
	return []ClientFault{
		{
			Name: "client-offers-unspoken", Does: "offers a version that it does not speak",
			CaughtBy: []string{"versioning.client.offer"},
			Apply: func(o *client.Options) {
				o.AcceptVersion = func(next func(string) bool) func(string) bool {
					return func(version string) bool {
						rev, err := spec.ParseRevision(version)
						return next(version) && err == nil && spec.Stateless.Has(rev)
					}
				}
			},
		},
		{
			Name: "client-offers-oldest",
			Does: "offers the oldest version that it speaks", In: spec.Since(spec.V2025_03_26) & spec.Handshake,
			CaughtBy: []string{"versioning.client.offer.latest"},
			Apply: clientSends("initialize", func(m client.Message) [][]byte {
				offered := wire.Parse(m.Raw).Params().Get("protocolVersion").Raw
				return [][]byte{bytes.Replace(m.Raw, []byte(offered), []byte(`"`+string(spec.V2024_11_05)+`"`), 1)}
			}),
		},
		{
			Name: "client-takes-any-version", Does: "continues with any version that the server answers",
			CaughtBy: []string{"versioning.client.unknown.stops"},
			Apply: func(o *client.Options) {
				o.AcceptVersion = func(func(string) bool) func(string) bool {
					return func(string) bool { return true }
				}
			},
		},
		{
			Name: "client-stays-connected", Does: "stays connected to a server whose version it does not know",
			CaughtBy: []string{"versioning.client.unknown.disconnects"},
			Apply:    clientStaysConnected,
		},
	}
}

// clientStaysConnected does not close a connection whose version was refused.
func clientStaysConnected(o *client.Options) {
	var refused atomic.Bool
	o.AcceptVersion = func(next func(string) bool) func(string) bool {
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
}
