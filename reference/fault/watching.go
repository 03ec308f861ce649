package fault

import (
	"context"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const updated = "notifications/resources/updated"

// watching are the faults of the notifications of change on the pages
// server/prompts and server/resources, and of subscriptions to resources.
func watching() []Fault {
	return []Fault{
		{
			Name: "prompts-changed-silently", Does: "does not tell of changes of the list of prompts",
			CaughtBy: []string{"prompts.list-changed.sent"},
			Apply:    withoutFrames("notifications/prompts/list_changed"),
		},
		{
			Name: "resources-changed-silently", Does: "does not tell of changes of the list of resources",
			CaughtBy: []string{"resources.list-changed.sent"},
			Apply:    withoutFrames("notifications/resources/list_changed"),
		},
		{
			Name: "resource-updated-silently", Does: "does not tell of changes of resources that are watched",
			CaughtBy: []string{"resources.updated.sent"},
			Apply:    withoutFrames(updated),
		},
		{
			Name: "prompts-change-undeclared", Does: "tells of changes of prompts without declaring prompts.listChanged",
			CaughtBy: []string{"prompts.list-changed.undeclared", "prompts.list-changed.undeclared.advised"},
			Apply:    all(undeclaredFeature("prompts", "listChanged"), unacknowledged("promptsListChanged")),
		},
		{
			Name: "resources-change-undeclared", Does: "tells of changes of resources without declaring resources.listChanged",
			CaughtBy: []string{"resources.list-changed.undeclared", "resources.list-changed.undeclared.advised"},
			Apply:    all(undeclaredFeature("resources", "listChanged"), unacknowledged("resourcesListChanged")),
		},
		{
			Name: "tools-change-undeclared", Does: "tells of changes of tools without declaring tools.listChanged",
			CaughtBy: []string{"tools.list-changed.undeclared", "tools.list-changed.undeclared.advised"},
			Apply:    all(undeclaredFeature("tools", "listChanged"), unacknowledged("toolsListChanged")),
		},
		{
			Name: "subscribe-undeclared", Does: "takes subscriptions without declaring resources.subscribe",
			CaughtBy: []string{"resources.subscribe.undeclared"},
			Apply:    undeclaredFeature("resources", "subscribe"),
		},
		{
			Name: "update-undeclared", Does: "tells of a resource without declaring resources.subscribe",
			CaughtBy: []string{"resources.updated.undeclared", "resources.updated.undeclared.advised"},
			Apply: all(func(o *server.Options) {
				o.Library = func(l *server.Library) { delete(l.Capabilities["resources"].(server.Object), "subscribe") }
			}, beforeAnswer("tools/call", func(_ context.Context, r *server.Request) {
				r.Notify(updated, server.Object{"uri": "library://books/b1"})
			})),
		},
		{
			Name: "update-unsubscribed", Does: "tells of a resource that the client has never subscribed to",
			Breaks:   []string{"resources-updated-only-if-subscribed"},
			CaughtBy: []string{"resources.updated.subscribed"},
			Apply: beforeAnswer("tools/call", func(_ context.Context, r *server.Request) {
				r.Notify(updated, server.Object{"uri": "library://covers/b3"})
			}),
		},
		{
			Name: "unsubscribe-forgotten", Does: "goes on telling of resources from which the client has unsubscribed",
			Breaks:   []string{"resources-unsubscribe-stops-updates"},
			CaughtBy: []string{"resources.updated.subscribed"},
			Apply: instead("resources/unsubscribe", func(*server.Request) (any, *server.Error) {
				return server.Object{}, nil
			}),
		},
		{
			Name: "update-without-uri", Does: "tells that a resource changed, and not which",
			CaughtBy: []string{"resources.updated.uri"},
			Apply:    onParams(updated, func(params server.Object) { delete(params, "uri") }),
		},
		{
			Name: "update-uri-array", Does: "names the resource that changed in an array",
			CaughtBy: []string{"resources.updated.uri"},
			Apply:    onParams(updated, func(params server.Object) { params["uri"] = []any{params["uri"]} }),
		},
		{
			Name: "subscribe-result-chatty", Does: "answers resources/subscribe with the resource",
			CaughtBy: []string{"resources.subscribe.result"},
			Apply:    onResult("resources/subscribe", func(o server.Object) { o["subscribed"] = true }),
		},
		{
			Name: "subscribe-unknown-method", Does: "declares resources.subscribe and knows no resources/subscribe",
			CaughtBy: []string{"resources.subscribe.result"},
			Apply:    instead("resources/subscribe", unknownMethod),
		},
		{
			Name: "unsubscribe-result-chatty", Does: "answers resources/unsubscribe with the resource",
			CaughtBy: []string{"resources.unsubscribe.result"},
			Apply:    onResult("resources/unsubscribe", func(o server.Object) { o["subscribed"] = false }),
		},
		{
			Name: "unsubscribe-unknown-method", Does: "knows resources/subscribe and no resources/unsubscribe",
			CaughtBy: []string{"resources.unsubscribe.result"},
			Apply:    instead("resources/unsubscribe", unknownMethod),
		},
		{
			Name: "subscription-to-nothing-swallowed", Does: "does not answer subscriptions to resources that it has not",
			CaughtBy: []string{"resources.subscribe.unknown"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					uri := ""
					switch m := wire.Parse(line); {
					case m.Method() == "resources/subscribe" && !m.Params().Get("_meta").Exists(): // a session has that method
						uri = m.Params().Get("uri").String()
					case m.Method() == listen:
						uri = m.Params().Get("notifications.resourceSubscriptions.0").String()
					}
					if uri != "" && !strings.HasPrefix(uri, "library://") {
						return nil
					}
					return next(line)
				}
			}),
		},
	}
}

// undeclaredFeature leaves a feature of a capability out of what is declared.
func undeclaredFeature(capability, feature string) apply {
	return openingEdited(func(capabilities server.Object) { delete(capabilities[capability].(server.Object), feature) })
}

// unacknowledged leaves a member out of the filter that is acknowledged.
func unacknowledged(member string) apply {
	return onParams(acknowledged, func(params server.Object) {
		delete(params["notifications"].(server.Object), member)
	})
}
