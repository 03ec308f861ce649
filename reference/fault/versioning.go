package fault

import (
	"context"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// versioning are the faults of basic/lifecycle#version-negotiation and of
// basic/versioning.
func versioning() []Fault {
	return append(negotiationFaults(), perRequestFaults()...)
}

// onInitialize changes the version in the answer to initialize, given the one
// that was asked for.
func onInitialize(answer func(asked, offered string) string) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && r.Method == "initialize" {
				asked, _ := r.Params["protocolVersion"].(string)
				offered, _ := o["protocolVersion"].(string)
				o["protocolVersion"] = answer(asked, offered)
			}
			return v, problem
		}
	})
}

func published(version string) bool { return spec.Every.Has(spec.Revision(version)) }

// negotiationFaults are those of initialize.
func negotiationFaults() []Fault {
	newest := spec.Handshake.Newest()
	return []Fault{
		{
			Name: "echoes-unknown-version", Does: "agrees to whatever version initialize names",
			CaughtBy: []string{"versioning.counter-offer"},
			Apply:    onInitialize(func(asked, _ string) string { return asked }),
		},
		{
			Name: "refuses-unknown-version", Does: "refuses an unknown version without an offer",
			CaughtBy: []string{"versioning.counter-offer"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if v, ok := r.Params["protocolVersion"].(string); ok && r.Method == "initialize" && !published(v) {
						return nil, &server.Error{Code: spec.InvalidParams, Message: "Unknown protocol version"}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "offers-what-it-does-not-speak", Does: "offers its newest version, and does not agree to it when asked", In: spec.Handshake & spec.Until(spec.V2025_06_18),
			CaughtBy: []string{"versioning.counter-offer"},
			Apply: onInitialize(func(asked, offered string) string {
				if asked == string(newest) {
					return string(spec.V2025_06_18)
				}
				return offered
			}),
		},
		{
			Name: "offers-oldest", Does: "offers the oldest version that it speaks instead of an unknown one", In: spec.Handshake & spec.Since(spec.V2025_03_26),
			CaughtBy: []string{"versioning.counter-offer.latest"},
			Apply: onInitialize(func(asked, offered string) string {
				if !published(asked) {
					return string(spec.V2024_11_05)
				}
				return offered
			}),
		},
		{
			Name: "version-with-v", Does: "writes a v before the versions that it offers",
			CaughtBy: []string{"versioning.identifier", "versioning.identifier.advised"},
			Apply: all(
				onInitialize(func(asked, _ string) string {
					if published(asked) {
						return asked
					}
					return "v" + string(newest)
				}),
				onError("", func(_ *server.Request, e *server.Error) (any, *server.Error) {
					if o, ok := e.Data.(server.Object); ok && e.Code == spec.UnsupportedVersion {
						o["supported"] = []any{"v" + string(spec.V2026_07_28)}
					}
					return nil, e
				}),
			),
		},
	}
}

// perRequestFaults are those of the versions and extensions that stateless
// requests and results name.
func perRequestFaults() []Fault {
	return []Fault{
		{
			Name: "serves-any-version", Does: "serves requests of any version as its own",
			CaughtBy: []string{"versioning.unsupported.error"},
			Apply: onRequest("", func(r *server.Request) {
				if v, ok := metaOf(r)[spec.MetaProtocolVersion].(string); ok && !published(v) {
					metaOf(r)[spec.MetaProtocolVersion] = string(spec.V2026_07_28)
				}
			}),
		},
		{
			Name: "unsupported-version-code", Does: "refuses an unsupported version with -32602",
			Breaks:   []string{"versioning-unsupported-version-error"},
			CaughtBy: []string{"versioning.unsupported.error"},
			Apply:    onUnsupported(func(e *server.Error) { e.Code = spec.InvalidParams }),
		},
		{
			Name: "unsupported-version-bare", Does: "refuses an unsupported version without naming others",
			CaughtBy: []string{"versioning.unsupported.data"},
			Apply:    onUnsupported(func(e *server.Error) { e.Data = nil }),
		},
		{
			Name: "unsupported-version-mistaken", Does: "names another version than the requested one as such",
			CaughtBy: []string{"versioning.unsupported.data"},
			Apply:    onUnsupported(func(e *server.Error) { e.Data.(server.Object)["requested"] = "2025-11-25" }),
		},
		{
			Name: "thrown-by-version", Does: "serves nothing more on a connection after an unsupported version",
			CaughtBy: []string{"versioning.per-request"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				var thrown atomic.Bool
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if thrown.Load() {
						return nil, &server.Error{Code: spec.InternalError, Message: "The desk does not talk to you"}
					}
					v, problem := next(ctx, r)
					if problem != nil && problem.Code == spec.UnsupportedVersion {
						thrown.Store(true)
					}
					return v, problem
				}
			}),
		},
		{
			Name: "initialize-refused-tersely", Does: "knows no handshake, and says nothing more when it refuses one",
			Breaks:   []string{"versioning-modern-only-names-versions"},
			CaughtBy: []string{"versioning.initialize.refused"},
			Apply: all(
				func(o *server.Options) { o.Revisions = spec.Stateless },
				instead("initialize", unknownMethod),
			),
		},
		{
			Name: "initialize-ignored", Does: "knows no handshake, and does not answer one",
			Breaks:   []string{"versioning-modern-only-rejects-initialize"},
			CaughtBy: []string{"versioning.initialize.refused"},
			Apply: all(
				func(o *server.Options) { o.Revisions = spec.Stateless },
				onLine(wire.Request, "initialize", func(wire.Message, server.FrameSink) {}),
			),
		},
		{
			Name: "initialize-names-stateless", Does: "agrees to the stateless revision in initialize",
			CaughtBy: []string{"versioning.initialize.served"},
			Apply:    onInitialize(func(_, _ string) string { return string(spec.V2026_07_28) }),
		},
		{
			Name: "initialize-without-effect", Does: "answers initialize, and still wants each request to describe itself",
			CaughtBy: []string{"versioning.initialize.served"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if !r.Modern && r.Method != "initialize" {
						return nil, &server.Error{Code: spec.InvalidParams, Message: "The request has no _meta"}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "ping-kept", Does: "serves ping to stateless requests",
			CaughtBy: []string{"versioning.removed"},
			Apply:    instead("ping", func(*server.Request) (any, *server.Error) { return complete(nil), nil }),
		},
		{
			Name: "extension-without-prefix", Does: "declares an extension whose identifier has no prefix",
			CaughtBy: []string{"versioning.extensions.names"},
			Apply:    declares("extensions", server.Object{"reading-room": server.Object{}}),
		},
		{
			Name: "extension-settings-true", Does: "declares an extension as true",
			CaughtBy: []string{"versioning.extensions.settings"},
			Apply:    declares("extensions", server.Object{"example.library/reading-room": true}),
		},
	}
}

// onUnsupported changes the error for an unsupported version.
func onUnsupported(edit func(e *server.Error)) apply {
	return onError("", func(_ *server.Request, e *server.Error) (any, *server.Error) {
		if e.Code == spec.UnsupportedVersion {
			edit(e)
		}
		return nil, e
	})
}
