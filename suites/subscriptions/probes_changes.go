package subscriptions

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/changes"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// changeNotifications are the probes of #list-changed-notification on the pages
// server/prompts and server/resources, and of server/resources#subscriptions.
func changeNotifications() []check.Check {
	return []check.Check{
		{
			ID:    "prompts.list-changed.sent",
			Says:  "where the list of prompts changes, notifications/prompts/list_changed is sent",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "prompts.listChanged",
			Rules: []string{"prompts-list-changed-notify"},
			Probe: func(t *check.T) { expect.ChangeSent(t, "prompts") },
		},
		{
			ID:    "resources.list-changed.sent",
			Says:  "where the list of resources changes, notifications/resources/list_changed is sent",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources.listChanged",
			Rules: []string{"resources-list-changed-notify"},
			Probe: func(t *check.T) { expect.ChangeSent(t, "resources") },
		},
		{
			ID:    "resources.updated.sent",
			Says:  "where a resource changes that the client watches, notifications/resources/updated is sent",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources.subscribe",
			Rules: []string{"resources-subscribe-notifies"},
			Probe: func(t *check.T) { expect.ChangeSent(t, "") },
		},
		{
			ID:    "resources.subscribe.result",
			Says:  "resources/subscribe is answered with an empty result",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources.subscribe",
			Rules: []string{"resources-subscribe-empty-result"},
			Probe: func(t *check.T) { emptyResult(t, "resources/subscribe", subscriptionsMade(t).subscribe) },
		},
		{
			ID:    "resources.unsubscribe.result",
			Says:  "resources/unsubscribe is answered with an empty result",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources.subscribe",
			Rules: []string{"resources-unsubscribe-empty-result"},
			Probe: func(t *check.T) { emptyResult(t, "resources/unsubscribe", subscriptionsMade(t).unsubscribe) },
		},
		{
			ID:    "resources.subscribe.undeclared",
			Says:  "a server that does not declare resources.subscribe takes no subscriptions",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources",
			Rules: []string{"resources-subscribe-undeclared"},
			Probe: func(t *check.T) {
				uris := watch.ListedURIs(t)
				switch {
				case watch.DeclaresUpdates(t):
					t.NotApplicable("the server declares resources.subscribe")
				case len(uris) == 0:
					t.NotObserved("the server lists no resource", "")
				}
				m := t.Request("resources/subscribe", check.Params{"uri": uris[0]})
				if m.Kind == wire.Result {
					t.Try("resources/unsubscribe", check.Params{"uri": uris[0]})
					t.Fail("an error", m.Summary(), "resources.subscribe is not declared, and a subscription was accepted")
				}
			},
		},
		{
			ID:    "resources.subscribe.unknown",
			Says:  "a subscription to a resource that does not exist is answered, and the server goes on",
			Level: spec.Robust,
			In:    spec.Every,
			Needs: "resources.subscribe",
			Spec:  "server/resources#subscriptions",
			// subscribeUnknown: no clause says whether such a subscription is refused; the
			// resource may come to be.
			Probe: func(t *check.T) {
				const uri = "mcpcheck://no/such/resource"
				if t.Facts.Stateless {
					w := &watch.Watch{T: t, Patient: true}
					w.Listen(watch.Filter{Uris: []string{uri}}.Params())
					if w.Got.Kind == wire.Invalid {
						changes.Subscribed(t).Stop() // that streams are opened at all is judged apart
						t.Fail("an acknowledgment or an error", "none", "subscriptions/listen for a resource that does not exist was not answered")
					}
					w.Stop()
				} else if m := t.Request("resources/subscribe", check.Params{"uri": uri}); m.Kind == wire.Result {
					t.Try("resources/unsubscribe", check.Params{"uri": uri})
				}
				t.Survives("a subscription to a resource that does not exist")
			},
		},
	}
}

// subscribing is the answers to a subscription and to its end.
type subscribing struct{ subscribe, unsubscribe []wire.Entry }

var resourcesSubscribeKey = check.NewKey[subscribing]("resources/subscribe")

// subscriptionsMade subscribes to the first resources that are listed, each
// only for the moment, up to one that is accepted: an error for one of them
// may be right.
func subscriptionsMade(t *check.T) subscribing {
	const most = 3
	return check.Once(t, resourcesSubscribeKey, func() (m subscribing) {
		uris := watch.ListedURIs(t)
		for _, uri := range uris[:min(most, len(uris))] {
			e, err := t.Try("resources/subscribe", check.Params{"uri": uri}).Get()
			if err != nil {
				break
			}
			m.subscribe = append(m.subscribe, e)
			if e.Message.Kind != wire.Result {
				continue
			}
			if e, err = t.Try("resources/unsubscribe", check.Params{"uri": uri}).Get(); err == nil {
				m.unsubscribe = append(m.unsubscribe, e)
			}
			break
		}
		return m
	})
}

// emptyResult takes an error for a resource as it is, unless it says that there
// is no such method. Further members of a result are allowed (schema.ts#Result),
// but these have nothing to say.
func emptyResult(t *check.T, method string, answers []wire.Entry) {
	for _, e := range answers {
		t.Mark(e)
		m := e.Message
		code, _ := m.Code()
		extra := ""
		m.Result().ForEach(func(key, _ gjson.Result) bool {
			if key.String() != "_meta" {
				extra = key.String()
			}
			return extra == ""
		})
		switch {
		case m.Kind == wire.Error && code == spec.MethodNotFound:
			t.Fail("an empty result", m.Summary(), "resources.subscribe is declared, and %s was answered with %s", method, m.Summary())
		case extra != "":
			t.Fail("an empty result", m.Summary(), "the result of %s has the member %q", method, wire.Clip(extra, 80))
		case m.Kind == wire.Result && m.Result().IsObject():
			return
		}
	}
	t.NotObserved(fmt.Sprintf("no result of %s came for a listed resource", method), "list a resource that can be subscribed to")
}
