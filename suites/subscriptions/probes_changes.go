package subscriptions

import (
	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/changes"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

const (
	noSubscription   = "the server accepted no subscription to a listed resource"
	listSubscribable = "list a resource that can be subscribed to"
)

// changeProbes returns the probes of #list-changed-notification on the pages
// server/prompts and server/resources, and of server/resources#subscriptions.
func changeProbes() []check.Check {
	return []check.Check{
		{
			ID:    "subscriptions.prompts.list-changed.sent",
			Says:  "the server sends notifications/prompts/list_changed when the list of prompts changes",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "prompts.listChanged",
			Rules: []string{"prompts-list-changed-notify"},
			Idle:  "the list of prompts did not change",
			Hint:  "offer a tool that changes the list of prompts" + check.AndAllow,
			Probe: func(t *check.T) {
				expect.ChangeSent(t, "prompts")
			},
		},
		{
			ID:    "subscriptions.resources.list-changed.sent",
			Says:  "the server sends notifications/resources/list_changed when the list of resources changes",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources.listChanged",
			Rules: []string{"resources-list-changed-notify"},
			Idle:  "the list of resources did not change",
			Hint:  "offer a tool that changes the list of resources" + check.AndAllow,
			Probe: func(t *check.T) {
				expect.ChangeSent(t, "resources")
			},
		},
		{
			ID:    "subscriptions.resources.updated.sent",
			Says:  "the server sends notifications/resources/updated when a resource with a subscription changes",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "resources.subscribe",
			Rules: []string{"resources-subscribe-notifies"},
			Idle:  "no resource changed that the client is subscribed to",
			Hint:  "offer a tool that changes a resource" + check.AndAllow,
			Probe: func(t *check.T) {
				expect.ChangeSent(t, "")
			},
		},
		{
			ID:    "subscriptions.subscribe.result",
			Says:  "the server answers resources/subscribe with an empty result",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources.subscribe",
			Rules: []string{"resources-subscribe-empty-result"},
			Idle:  noSubscription,
			Hint:  listSubscribable,
			Probe: func(t *check.T) { expectEmptyResult(t, "resources/subscribe", subscribeAnswers(t).subscribe) },
		},
		{
			ID:    "subscriptions.unsubscribe.result",
			Says:  "the server answers resources/unsubscribe with an empty result",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources.subscribe",
			Rules: []string{"resources-unsubscribe-empty-result"},
			Idle:  noSubscription,
			Hint:  listSubscribable,
			Probe: func(t *check.T) { expectEmptyResult(t, "resources/unsubscribe", subscribeAnswers(t).unsubscribe) },
		},
		{
			ID:    "subscriptions.subscribe.undeclared",
			Says:  "a server that does not declare resources.subscribe accepts no subscription",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources",
			Rules: []string{"resources-subscribe-undeclared"},
			Idle:  "the server lists no resource",
			Hint:  "list a resource",
			Probe: func(t *check.T) {
				uris := watch.ListedURIs(t)
				switch {
				case watch.DeclaresUpdates(t):
					t.NotApplicable("the server declares resources.subscribe")
				case len(uris) == 0:
					return
				}
				m := t.Request("resources/subscribe", check.Params{"uri": uris[0]})
				if m.Kind == wire.Result {
					t.Try("resources/unsubscribe", check.Params{"uri": uris[0]})
				}
				match.Expect(t, m).To(match.BeError(),
					"resources/subscribe was sent, and resources.subscribe is not declared")
				t.Saw()
			},
		},
		{
			ID:    "subscriptions.subscribe.unknown",
			Says:  "the server survives a subscription to an unknown resource, as clients may name one that is gone",
			Level: spec.Robust,
			In:    spec.Every,
			Needs: "resources.subscribe",
			Spec:  "server/resources#subscriptions",
			Idle:  "no subscription to an unknown resource was sent",
			Hint:  expect.HintReply,
			// No clause says whether such a subscription is refused: the resource may be created
			// later.
			Probe: func(t *check.T) {
				const uri = "mcpcheck://no/such/resource"
				if t.Facts.Stateless {
					w := &watch.Watch{T: t, AlwaysWaits: true}
					w.Listen(watch.Filter{URIs: []string{uri}}.Params())
					if w.First.Kind == wire.Invalid {
						// subscriptions.acknowledged judges a server that opens no stream.
						changes.RequireStream(t).Stop()
						t.Fail("an acknowledgment or an error", "none",
							"subscriptions/listen for a resource that does not exist was not answered")
					}
					w.Stop()
				} else if m := t.Request("resources/subscribe", check.Params{"uri": uri}); m.Kind == wire.Result {
					t.Try("resources/unsubscribe", check.Params{"uri": uri})
				}
				t.Survives("a subscription to a resource that does not exist")
				t.Saw()
			},
		},
	}
}

// answers holds the answers to requests for a subscription and for its end.
type answers struct{ subscribe, unsubscribe []wire.Entry }

var subscribeAnswersKey = check.NewKey[answers]("answers to resources/subscribe")

// subscribeAnswers subscribes to the first listed resources, one after another, up
// to one that the server accepts, and unsubscribes from that. An error for one of
// them may be right.
func subscribeAnswers(t *check.T) answers {
	const most = 3
	return check.Once(t, subscribeAnswersKey, func() (all answers) {
		uris := watch.ListedURIs(t)
		for _, uri := range uris[:min(most, len(uris))] {
			r := t.Try("resources/subscribe", check.Params{"uri": uri})
			if r.Err != nil {
				break
			}
			all.subscribe = append(all.subscribe, r.Entry)
			if !r.Succeeded() {
				continue
			}
			if r = t.Try("resources/unsubscribe", check.Params{"uri": uri}); r.Err == nil {
				all.unsubscribe = append(all.unsubscribe, r.Entry)
			}
			break
		}
		return all
	})
}

// expectEmptyResult judges answers up to the first result. An error for a resource
// may be right, but not that the method is unknown. A result may have further members
// (schema.ts#Result), but none has a meaning here.
func expectEmptyResult(t *check.T, method string, all []wire.Entry) {
	for _, e := range all {
		t.Mark(e)
		m := e.Message
		if code, _ := m.ErrorCode(); m.Kind == wire.Error && code == spec.MethodNotFound {
			t.Fail("an empty result", m.Summary(), "resources.subscribe is declared, and %s is unknown", method)
		}
		if name := check.MemberBesideMeta(m.Result()); name != "" {
			t.Fail("an empty result", m.Summary(), "the result of %s has the member %q", method, name)
		}
		if m.Kind == wire.Result && m.Result().IsObject() {
			t.Saw()
			return
		}
	}
}
