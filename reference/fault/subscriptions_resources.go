package fault

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const updatedMethod = "notifications/resources/updated"

// notifyUpdated sends a notification of a change of a resource with each answer to
// a call.
func notifyUpdated(uri string) apply {
	return beforeAnswer("tools/call", func(r *server.Request) { r.Notify(updatedMethod, server.Object{"uri": uri}) })
}

// subscriptionNotifications are faults of notifications of changes of lists and of
// resources.
func subscriptionNotifications() []Fault {
	return []Fault{
		{
			Name: "prompts-changed-silently", Does: "sends no notification when the list of prompts changes",
			CaughtBy: []string{"subscriptions.prompts.list-changed.sent"},
			Apply:    withhold(isNotification("notifications/prompts/list_changed")),
		},
		{
			Name: "resources-changed-silently", Does: "sends no notification when the list of resources changes",
			CaughtBy: []string{"subscriptions.resources.list-changed.sent"},
			Apply:    withhold(isNotification("notifications/resources/list_changed")),
		},
		{
			Name: "resource-updated-silently", Does: "sends no notification when a subscribed resource changes",
			CaughtBy: []string{"subscriptions.resources.updated.sent"},
			Apply:    withhold(isNotification(updatedMethod)),
		},
		{
			Name: "update-undeclared",
			Does: "sends notifications of a change of a resource without declaring resources.subscribe",
			CaughtBy: []string{
				"subscriptions.resources.updated.undeclared", "subscriptions.resources.updated.undeclared.advised",
			},
			Apply: combine(
				onLibrary(func(l *server.Features) {
					delete(l.Capabilities["resources"].(server.Object), "subscribe")
				}),
				notifyUpdated("library://books/b1")),
		},
		{
			Name:     "update-unsubscribed",
			Does:     "sends notifications of a change of a resource that the client never subscribed to",
			Breaks:   []string{"resources-updated-only-if-subscribed"},
			CaughtBy: []string{"subscriptions.resources.updated.subscribed"},
			Apply:    notifyUpdated("library://covers/b3"),
		},
		{
			Name: "unsubscribe-forgotten", Does: "sends notifications of changes after resources/unsubscribe",
			Breaks:   []string{"resources-unsubscribe-stops-updates"},
			CaughtBy: []string{"subscriptions.resources.updated.subscribed"},
			Apply:    answerInstead("resources/unsubscribe", succeedWithOnly(server.Object{})),
		},
		{
			Name: "update-without-uri", Does: "leaves the URI out of notifications of a change",
			CaughtBy: []string{"subscriptions.resources.updated.uri"},
			Apply:    onNotification(updatedMethod, remove("uri")),
		},
		{
			Name: "update-uri-array", Does: "writes the URI in notifications of a change as an array",
			CaughtBy: []string{"subscriptions.resources.updated.uri"},
			Apply: onNotification(updatedMethod, func(params server.Object) {
				params["uri"] = []any{params["uri"]}
			}),
		},
	}
}

// subscriptionsToResources are faults of subscriptions to resources.
func subscriptionsToResources() []Fault {
	return []Fault{
		{
			Name: "subscribe-undeclared", Does: "accepts subscriptions without declaring resources.subscribe",
			CaughtBy: []string{"subscriptions.subscribe.undeclared"},
			Apply:    undeclaredFeature("resources", "subscribe"),
		},
		{
			Name: "subscribe-result-not-empty", Does: "answers resources/subscribe with a result that is not empty",
			CaughtBy: []string{"subscriptions.subscribe.result"},
			Apply:    onResult("resources/subscribe", set("subscribed", true)),
		},
		{
			Name:     "subscribe-unknown-method",
			Does:     "declares resources.subscribe and answers resources/subscribe with error -32601",
			CaughtBy: []string{"subscriptions.subscribe.result"},
			Apply:    answerInstead("resources/subscribe", unknownMethod),
		},
		{
			Name: "unsubscribe-result-not-empty", Does: "answers resources/unsubscribe with a result that is not empty",
			CaughtBy: []string{"subscriptions.unsubscribe.result"},
			Apply:    onResult("resources/unsubscribe", set("subscribed", false)),
		},
		{
			Name:     "unsubscribe-unknown-method",
			Does:     "declares resources.subscribe and answers resources/unsubscribe with error -32601",
			CaughtBy: []string{"subscriptions.unsubscribe.result"},
			Apply:    answerInstead("resources/unsubscribe", unknownMethod),
		},
		{
			Name: "subscription-to-unknown-unanswered", Does: "does not answer subscriptions to unknown resources",
			CaughtBy: []string{"subscriptions.subscribe.unknown"},
			Apply: ignoreLines(func(m wire.Message) bool {
				uri := subscribedURI(m)
				return uri != "" && !strings.HasPrefix(uri, "library://")
			}),
		},
	}
}

// subscribedURI returns the URI of the resource that a message subscribes to: by
// resources/subscribe in a session, else by subscriptions/listen.
func subscribedURI(m wire.Message) string {
	switch {
	case m.Method() == "resources/subscribe" && !m.Params().Get("_meta").Exists():
		return m.Params().Get("uri").String()
	case m.Method() == listenMethod:
		return m.Params().Get("notifications.resourceSubscriptions.0").String()
	}
	return ""
}
