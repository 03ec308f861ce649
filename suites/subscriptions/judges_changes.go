package subscriptions

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

const (
	noUpdate     = "the server sent no " + transcript.UpdatedMethod
	allowUpdates = "offer a tool that changes a resource" + check.AndAllow
)

// changeJudges returns the judges of the change notifications of the pages
// server/prompts and server/resources.
func changeJudges() []check.Check {
	undeclared := undeclaredUpdateJudge()
	return slices.Concat(undeclaredListJudges(),
		[]check.Check{undeclared, check.Advised(undeclared, spec.Until(spec.V2025_03_26))}, updateJudges())
}

// undeclaredListJudges returns the judges of list_changed without the capability for it.
func undeclaredListJudges() (out []check.Check) {
	for _, list := range []string{"prompts", "resources"} {
		method, feature := "notifications/"+list+"/list_changed", list+".listChanged"
		c := check.Check{
			ID:    list + ".list-changed.undeclared",
			Says:  "the server sends " + method + " only if it declares " + feature,
			Level: spec.Must,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Needs: list, // another check judges a capability that is not declared at all
			Rules: []string{list + "-list-changed-needs-flag"},
			Idle:  "the server sent no " + method,
			Hint:  "offer a tool that changes the list of " + list + "" + check.AndAllow,
			Judge: func(j *check.J) { transcript.JudgeUndeclared(j, method, feature) },
		}
		out = append(out, c, check.Advised(c, spec.Every&^c.In))
	}
	return out
}

// undeclaredUpdateJudge returns the judge of updates without the capability for them.
func undeclaredUpdateJudge() check.Check {
	return check.Check{
		ID:    "subscriptions.resources.updated.undeclared",
		Says:  "the server sends notifications/resources/updated only if it declares resources.subscribe",
		Level: spec.Must,
		In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
		Rules: []string{"resources-updated-needs-capability"},
		Idle:  noUpdate,
		Hint:  allowUpdates,
		Judge: func(j *check.J) { transcript.JudgeUndeclared(j, transcript.UpdatedMethod, "resources.subscribe") },
	}
}

// updateJudges returns the judges of notifications/resources/updated.
func updateJudges() []check.Check {
	return []check.Check{
		{
			ID:    "subscriptions.resources.updated.uri",
			Says:  "notifications/resources/updated names the resource by a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-updated-params"},
			Idle:  noUpdate,
			Hint:  allowUpdates,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if e.Message.Kind != wire.Notification || e.Message.Method() != transcript.UpdatedMethod {
						return false
					}
					if uri := e.Message.Params().Get("uri"); uri.Type != gjson.String {
						j.Fail(e, "the uri of %s is %s, not a string", transcript.UpdatedMethod, wire.TypeName(uri))
					}
					return true
				})
			},
		},
		{
			ID:    "subscriptions.resources.updated.subscribed",
			Says:  "the server sends notifications/resources/updated only for resources with a subscription",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources.subscribe",
			Rules: []string{"resources-updated-only-if-subscribed", "resources-unsubscribe-stops-updates"},
			Idle:  "the server sent no update of a resource that the client is subscribed to",
			Hint:  allowUpdates,
			// Only resources that were listed or named by the client are judged: any other may
			// be a part of one that it is subscribed to (schema.ts#ResourceUpdatedNotification).
			Judge: func(j *check.J) {
				r := &updateReader{j: j, known: map[string]bool{}, subscriptions: map[string]*subscription{}}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						one := e
						one.Message = m
						uri := m.Params().Get("uri").String()
						switch {
						case e.From != j.Of && m.Method() == "tools/call":
							r.call = e.Index
						case e.From != j.Of && m.Method() == "resources/subscribe":
							r.known[uri], r.subscriptions[uri] = true, &subscription{active: true}
						case e.From == j.Of && m.IsResponse():
							r.readResponse(one)
						case e.From == j.Of && m.Kind == wire.Notification && m.Method() == transcript.UpdatedMethod:
							r.judgeUpdate(one, uri)
						}
					}
				}
			},
		},
	}
}

// A subscription is the state of a subscription by resources/subscribe.
type subscription struct {
	active bool

	// After resources/unsubscribe:
	since      wire.Entry // the answer from which the next round trip counts
	roundTrips int
	updates    int // updates after these round trips, each after another call of a tool
	call       int // the frame of the call before the last of these updates
}

// maxDelayedUpdates is how many updates of a resource, after the client has
// unsubscribed from it, may have been sent before that: servers may notify of a
// change some time after it, and of several at once.
const maxDelayedUpdates = 1

// An updateReader follows the subscriptions of a session.
type updateReader struct {
	j             *check.J
	known         map[string]bool // URIs that the client subscribed to or that were listed
	subscriptions map[string]*subscription
	call          int // the frame of the last call of a tool
}

// readResponse notes which resources are listed. It ends the subscription that a
// result of resources/unsubscribe ends, and counts the round trips after its end.
func (r *updateReader) readResponse(answer wire.Entry) {
	for _, entry := range answer.Message.Result().Get("resources").Array() {
		if listed := entry.Get("uri"); listed.Type == gjson.String {
			r.known[listed.Str] = true
		}
	}
	request, ok := r.j.RequestOf(answer)
	if !ok {
		return
	}
	m := request.Message
	for uri, s := range r.subscriptions {
		switch {
		case !s.active && request.Index > s.since.Index:
			s.roundTrips, s.since = s.roundTrips+1, answer
		case m.Method() == "resources/unsubscribe" && m.Params().Get("uri").String() == uri &&
			answer.Message.Kind == wire.Result:
			s.active, s.since = false, answer
		}
	}
}

// judgeUpdate judges one update.
func (r *updateReader) judgeUpdate(e wire.Entry, uri string) {
	subscribed, delayed := false, false
	for of, s := range r.subscriptions {
		if !strings.HasPrefix(uri, of) {
			continue
		}
		subscribed = subscribed || s.active
		delayed = delayed || !s.active && (s.roundTrips < quietAfter || !r.j.Follows(e, s.since))
	}
	switch ended := r.subscriptions[uri]; {
	case subscribed:
		r.j.Saw()
	case delayed || !r.known[uri]:
	case ended == nil:
		r.j.Fail(e, "%s came for %q, which the client is not subscribed to", transcript.UpdatedMethod,
			wire.Clip(uri, 100))
	default:
		if r.call > ended.call {
			ended.updates, ended.call = ended.updates+1, r.call
		}
		if ended.updates > maxDelayedUpdates {
			r.j.Fail(e, "%s came for %q after the client had unsubscribed from it",
				transcript.UpdatedMethod, wire.Clip(uri, 100))
		}
	}
}
