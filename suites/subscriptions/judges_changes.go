package subscriptions

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// changesTold are the judges of the notifications of change on the pages
// server/prompts and server/resources.
func changesTold() []check.Check {
	var out []check.Check
	for _, list := range []string{"prompts", "resources"} {
		c := check.Check{
			ID:    list + ".list-changed.undeclared",
			Says:  "notifications/" + list + "/list_changed is sent only where " + list + ".listChanged is declared",
			Level: spec.Must,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Needs: list, // that a whole capability is not declared is judged apart
			Rules: []string{list + "-list-changed-needs-flag"},
			Judge: func(j *check.J) {
				transcript.JudgeUndeclared(j, "notifications/"+list+"/list_changed", list+".listChanged")
			},
		}
		out = append(out, c, advised(c, spec.Every&^c.In))
	}
	undeclared := check.Check{
		ID:    "resources.updated.undeclared",
		Says:  "notifications/resources/updated is sent only where resources.subscribe is declared",
		Level: spec.Must,
		In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
		Rules: []string{"resources-updated-needs-capability"},
		Judge: func(j *check.J) { transcript.JudgeUndeclared(j, transcript.UpdatedMethod, "resources.subscribe") },
	}
	return append(out,
		undeclared,
		advised(undeclared, spec.Until(spec.V2025_03_26)),
		check.Check{
			ID:    "resources.updated.uri",
			Says:  "notifications/resources/updated names the resource by a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-updated-params"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if e.Message.Kind != wire.Notification || e.Message.Method() != transcript.UpdatedMethod {
						continue
					}
					if uri := e.Message.Params().Get("uri"); uri.Type != gjson.String {
						j.Fail(e, "the uri of %s is %s, not a string", transcript.UpdatedMethod, wire.TypeName(uri))
						continue
					}
					j.Saw()
				}
			},
		},
		check.Check{
			ID:    "resources.updated.subscribed",
			Says:  "notifications/resources/updated is sent for resources that the client is subscribed to, and for no others",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "resources.subscribe",
			Rules: []string{"resources-updated-only-if-subscribed", "resources-unsubscribe-stops-updates"},
			// updatedSubscribed takes notice only of resources that were listed or named by
			// the client: any other may be a part of one that it is subscribed to
			// (schema.ts#ResourceUpdatedNotification). What was on its way when a
			// subscription ended may still come.
			Judge: func(j *check.J) {
				known, subscribed, call := map[string]bool{}, map[string]*subscription{}, 0
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						one := e
						one.Message = m
						uri := m.Params().Get("uri").String()
						switch {
						case e.From != j.Of && m.Method() == "tools/call":
							call = e.Index
						case e.From != j.Of && m.Method() == "resources/subscribe":
							known[uri], subscribed[uri] = true, &subscription{on: true}
						case e.From == j.Of && m.IsResponse():
							roundTrip(j, one, subscribed)
							for _, entry := range m.Result().Get("resources").Array() {
								if listed := entry.Get("uri"); listed.Type == gjson.String {
									known[listed.Str] = true
								}
							}
						case e.From == j.Of && m.Kind == wire.Notification && m.Method() == transcript.UpdatedMethod:
							judgeUpdate(j, one, uri, known[uri], call, subscribed)
						}
					}
				}
			},
		},
	)
}

// advised is the twin of a check for the revisions in which its rule is a
// SHOULD.
func advised(c check.Check, in spec.Set) check.Check {
	c.ID, c.Level, c.In = c.ID+".advised", spec.Should, in
	return c
}

// stragglers is how many updates of a resource, after the client has
// unsubscribed from it, cannot have been on their way: servers may tell of a
// change some time after it, and of several at once.
const stragglers = 2

// A subscription is one of the client's to a resource, by resources/subscribe.
type subscription struct {
	on    bool
	since wire.Entry // the answer from which the next round trip counts
	past  int        // round trips since then
	late  int        // updates since these, each of them after another call of a tool
	call  int        // the frame of the call that the last of them came after
}

// roundTrip counts an answer to what was sent after a subscription had ended;
// the answer to resources/unsubscribe, if it is a result, ends one.
func roundTrip(j *check.J, answer wire.Entry, subscribed map[string]*subscription) {
	request, ok := j.RequestOf(answer)
	if !ok {
		return
	}
	for uri, w := range subscribed {
		m := request.Message
		switch {
		case !w.on && request.Index > w.since.Index:
			w.past, w.since = w.past+1, answer
		case m.Method() == "resources/unsubscribe" && m.Params().Get("uri").String() == uri && answer.Message.Kind == wire.Result:
			w.on, w.since = false, answer
		}
	}
}

// judgeUpdate looks at one update; call is the frame of the last call of a tool.
func judgeUpdate(j *check.J, e wire.Entry, uri string, known bool, call int, subscribed map[string]*subscription) {
	watching, late := false, false
	for on, w := range subscribed {
		if strings.HasPrefix(uri, on) {
			watching = watching || w.on
			late = late || !w.on && (w.past < quietAfter || !j.Follows(e, w.since))
		}
	}
	once := subscribed[uri]
	switch {
	case watching:
		j.Saw()
	case late || !known:
	case once != nil:
		if call > once.call {
			once.late, once.call = once.late+1, call
		}
		if once.late < stragglers {
			return
		}
		j.Fail(e, "%s came for %q, after the client had unsubscribed from it", transcript.UpdatedMethod, wire.Clip(uri, 100))
	default:
		j.Fail(e, "%s came for %q, which the client is not subscribed to", transcript.UpdatedMethod, wire.Clip(uri, 100))
	}
}
