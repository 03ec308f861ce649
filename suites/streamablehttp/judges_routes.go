package streamablehttp

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

func streamRoutes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.stream.related",
			Says:  "what comes on the stream of a request is about that request",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-sse-server-messages-related", "progress-on-request-stream"},
			Judge: func(j *check.J) { streamRelated(j) },
		},
		{
			ID:    "streamable-http.stream.related.advised",
			Says:  "what comes on the stream of a request is about that request",
			Level: spec.Should,
			In:    sessions(),
			Rules: []string{"streamable-http-sse-server-messages-related"},
			Judge: func(j *check.J) { streamRelated(j) },
		},
		{
			ID:    "streamable-http.get.unrelated",
			Says:  "what comes on the stream of a GET is about no request that is running",
			Level: spec.Should,
			In:    sessions(),
			Rules: []string{"streamable-http-get-messages-unrelated"},
			// getUnrelated takes a request for running until its answer came: what was on its
			// way then is left open.
			Judge: func(j *check.J) {
				eachJourney(j, func(v journey) {
					listening := slices.ContainsFunc(flowsOf(j), func(f *flow) bool { return f.listens() && f.last().Open(j.FrameOf(v.Entry)) })
					f := flowOf(j, v.on)
					switch {
					case v.athome(j):
						if listening {
							j.Saw()
						}
					case f == nil || !f.listens() || v.Cancelled || v.copied(j):
					case v.About.Answered == 0 || v.About.Answered > v.Index:
						j.Fail(v.Entry, "progress of the %s, which is running, came on the stream of a GET", v.About.Request.Summary())
					}
				})
			},
		},
		{
			ID:    "streamable-http.get.no-responses",
			Says:  "no response comes on the stream of a GET that takes up no stream of a request",
			Level: spec.Must,
			In:    sessions(),
			Rules: []string{"streamable-http-get-no-responses"},
			// getNoResponses looks at streams that a GET opened, and not at those whose first
			// event was not seen.
			Judge: func(j *check.J) {
				var listening []*flow
				for _, f := range flowsOf(j) {
					if f.listens() && f.first().Field("Last-Event-ID") == "" {
						listening = append(listening, f)
					}
				}
				for _, e := range j.Sent() {
					if !e.Message.IsResponse() || e.HTTP == nil {
						continue
					}
					on := j.ExchangeOf(e)
					for _, f := range listening {
						switch {
						case slices.Contains(f.parts, on):
							j.Fail(e, "a %s came on the stream of a GET", e.Message.Summary())
						case f.last().Open(j.FrameOf(e)):
							j.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "streamable-http.message.once",
			Says:  "a message is sent on one of the streams only",
			Level: spec.Must,
			In:    sessions(),
			Rules: []string{"streamable-http-one-stream-per-message", "streamable-http-no-broadcast"},
			// messageOnce takes two alike for one message if the stream of the second was
			// asked for when the first came. What a resumed stream repeats is the same message
			// on the same stream.
			Judge: func(j *check.J) {
				first := map[any]sending{}
				for _, s := range singles(j) {
					on := j.ExchangeOf(s.Entry)
					if on == nil || !on.Streams() {
						continue
					}
					before, known := first[s.what]
					was := j.ExchangeOf(before.Entry)
					switch {
					case !known:
						first[s.what] = s
						if several(j, j.FrameOf(s.Entry)) {
							j.Saw()
						}
					case flowOf(j, was) != flowOf(j, on) && on.Begun.At < j.FrameOf(before.Entry) && on.Field("Last-Event-ID") == "":
						j.Fail(s.Entry, "the %s came on the stream of a %s (exchange %d) and on that of a %s (exchange %d)",
							s.Message.Summary(), was.Begun.HTTP.Method, was.Number, on.Begun.HTTP.Method, on.Number)
					}
				}
			},
		},
		{
			ID:    "subscriptions.closed",
			Says:  "a subscription whose stream the client has closed tells nothing more",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-client-cancel-http"},
			// closedSubscription looks for what names a subscription whose stream the client
			// had closed before the exchange was begun in which it came, or which closed long
			// before; and counts as evidence that changes were told on others since.
			Judge: func(j *check.J) {
				closed := slices.ContainsFunc(j.Exchanges(), func(h *check.Heard) bool {
					posted := h.Posted()
					return h.Left != nil && len(posted) == 1 && posted[0].Method() == "subscriptions/listen"
				})
				if !closed || j.Of != wire.Server {
					return
				}
				eachTagged(j, func(e wire.Entry, on, own *check.Heard) {
					switch {
					case on != own && left(own, j.FrameOf(e)):
						j.Fail(e, "%s names the subscription of exchange %d, whose stream the client had closed, and came in exchange %d", e.Message.Method(), own.Number, on.Number)
					case on == own && e.Message.Method() != transcript.AcknowledgedMethod && afterLeaving(j, j.FrameOf(e)):
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "cancellation.closed",
			Says:  "for a call whose stream the client has closed no further message comes",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"cancellation-http-close-is-signal"},
			// closedCall looks for what is about a request after the client has closed the
			// stream of its answer, which cancels it: its answer, or a report of its progress,
			// on the stream of another. Whether the work has stopped cannot be seen; a request
			// that was sent since and answered shows that there was time for such a message.
			Judge: func(j *check.J) {
				for _, h := range j.Exchanges() {
					posted := h.Posted()
					if h.Left == nil || len(posted) != 1 || posted[0].Kind != wire.Request || posted[0].Method() == "subscriptions/listen" || !once(j, posted[0].ID()) {
						continue
					}
					for _, e := range j.Sent() {
						switch on := j.ExchangeOf(e); {
						case on == nil || j.FrameOf(e) < h.Left.At:
						case on != h && about(e.Message, posted[0]):
							j.Fail(e, "the client had closed the stream of the %s, and the %s came on another", posted[0].Summary(), e.Message.Summary())
						case on.Begun.At > h.Left.At && e.Message.IsResponse():
							j.Saw()
						}
					}
				}
			},
		},
	}
}

// A journey is a progress notification that can only be about one request, and the
// ways that both went.
type journey struct {
	transcript.ProgressReport
	asked   wire.Entry   // the request
	on, own *check.Heard // the exchange it came in, and that of the request
}

// eachJourney leaves out tasks, whose messages may come on any stream
// (basic/utilities/tasks#input-required-status), and tokens of which the same
// stands in another type elsewhere: a server that mixes these up says so there.
func eachJourney(j *check.J, look func(v journey)) {
	p := transcript.ProgressOf(j)
	for _, r := range p.Reports {
		if r.About == nil || r.Shared || r.About.AsTask || r.About.Task != "" || p.Lookalike(r) {
			continue
		}
		v := journey{ProgressReport: r, asked: j.Entries()[r.About.At], on: j.ExchangeOf(r.Entry)}
		if v.own = j.ExchangeOf(v.asked); v.on != nil && v.own != nil {
			look(v)
		}
	}
}

// athome tells whether the notification came on the stream of its request, by
// whichever connection.
func (v journey) athome(j *check.J) bool {
	return v.on == v.own || flowOf(j, v.on) != nil && flowOf(j, v.on) == flowOf(j, v.own)
}

// copied tells whether the same report came on another stream too: that is judged
// apart.
func (v journey) copied(j *check.J) bool {
	return slices.ContainsFunc(transcript.ProgressOf(j).Reports, func(r transcript.ProgressReport) bool {
		return r.Index != v.Index && r.About == v.About && bytes.Equal(r.Message.Raw, v.Message.Raw)
	})
}

// streamRelated knows of progress alone which request it is about, and since
// 2026-07-28 of a change which subscription. A request whose stream the client
// has closed is judged as one that was cancelled, and what comes on that of a
// subscription with those (basic/patterns/subscriptions).
func streamRelated(j *check.J) {
	eachJourney(j, func(v journey) {
		switch posted := v.on.Posted(); {
		case v.athome(j):
			j.Saw()
		case len(posted) == 0, left(v.own, j.FrameOf(v.Entry)), posted[0].Method() == "subscriptions/listen", v.copied(j):
		default:
			j.Fail(v.Entry, "progress of the %s came on the stream of the %s", v.About.Request.Summary(), posted[0].Summary())
		}
	})
	if j.Facts.Stateless {
		tagsRelated(j)
	}
}

func tagsRelated(j *check.J) {
	eachTagged(j, func(e wire.Entry, on, own *check.Heard) {
		switch {
		case on == own:
			j.Saw()
		case !left(own, j.FrameOf(e)):
			j.Fail(e, "%s of the subscription of exchange %d came in exchange %d", e.Message.Method(), own.Number, on.Number)
		}
	})
}

// left tells whether the client had closed an exchange at a frame.
func left(h *check.Heard, at int) bool { return h.Left != nil && h.Left.At < at }

// eachTagged gives the notifications that name a subscription, the exchange that
// each came in, and that of the one request that opened the subscription.
func eachTagged(j *check.J, look func(e wire.Entry, on, own *check.Heard)) {
	opened := map[string][]*check.Heard{}
	for _, h := range j.Exchanges() {
		for _, m := range h.Posted() {
			if m.Method() == "subscriptions/listen" && m.ID().Usable() && len(h.Begun.Message.Duplicates) == 0 {
				opened[m.ID().Key()] = append(opened[m.ID().Key()], h)
			}
		}
	}
	for _, e := range j.Sent() {
		tag := transcript.SubscriptionIDOf(e.Message.Params())
		on := j.ExchangeOf(e)
		if own := opened[wire.ID{Raw: tag.Raw}.Key()]; tag.Exists() && on != nil && len(own) == 1 && transcript.IsChangeNotification(e.Message.Method()) {
			look(e, on, own[0])
		}
	}
}

// A sending is a message at a place where it came.
type sending struct {
	wire.Entry
	what any // equal for the same message: nothing else is like it
}

// singles returns the messages of which there are no two alike: requests, by their
// id, and reports of progress on one request, which must increase.
func singles(j *check.J) (all []sending) {
	type single struct {
		about *transcript.TokenUse // nil for a request
		raw   string
	}
	for _, e := range j.Sent() {
		if e.Message.Kind == wire.Request {
			all = append(all, sending{e, single{nil, string(e.Message.Raw)}})
		}
	}
	for _, r := range transcript.ProgressOf(j).Reports {
		if r.About != nil && !r.Shared {
			all = append(all, sending{r.Entry, single{r.About, string(r.Message.Raw)}})
		}
	}
	return all
}

// several tells whether more than one stream was being read at a frame.
func several(j *check.J, at int) bool {
	n := 0
	for _, h := range j.Exchanges() {
		if h.Open(at) {
			n++
		}
	}
	return n > 1
}

// afterLeaving tells whether the stream of a subscription was closed by the client
// before a frame.
func afterLeaving(j *check.J, at int) bool {
	return slices.ContainsFunc(j.Exchanges(), func(h *check.Heard) bool {
		return h.Left != nil && h.Left.At < at && h.Begun.HTTP.Method == http.MethodPost && len(h.Posted()) == 1 && h.Posted()[0].Method() == "subscriptions/listen"
	})
}

// once tells whether no two requests of the client had an id.
func once(j *check.J, id wire.ID) bool {
	n := 0
	for _, e := range j.Received() {
		if e.Message.Kind == wire.Request && e.Message.ID().Equal(id) {
			n++
		}
	}
	return n == 1
}

// about tells whether a message is the answer to a request, or reports on it.
func about(m, request wire.Message) bool {
	token := request.Params().Get("_meta.progressToken")
	return m.IsResponse() && m.ID().Equal(request.ID()) ||
		m.Method() == "notifications/progress" && token.Exists() && transcript.TokenKey(m.Params().Get("progressToken")) == transcript.TokenKey(token)
}
