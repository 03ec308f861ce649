package streams

import (
	"bytes"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// listenMethod is the request that opens a subscription.
const listenMethod = "subscriptions/listen"

// A progressRoute is a progress notification that can be about only one request, the
// exchange that it came in and the exchange of the request.
type progressRoute struct {
	transcript.ProgressReport
	exchange, own *wire.Exchange
}

// progressRoutes leaves out tasks, whose messages may come on any stream
// (basic/utilities/tasks#input-required-status), and tokens that equal another one
// but for their type: another check judges a server that confuses these.
func progressRoutes(j *check.J) []progressRoute {
	var all []progressRoute
	p := transcript.ProgressOf(j)
	for _, r := range p.Reports {
		if r.Use == nil || r.IsAmbiguous || r.Use.AsTask || r.Use.Task != "" || p.MayMeanOtherType(r) {
			continue
		}
		route := progressRoute{r, j.ExchangeOf(r.Entry), j.ExchangeOf(j.Entry(r.Use.At))}
		if route.exchange != nil && route.own != nil {
			all = append(all, route)
		}
	}
	return all
}

// isOwn reports whether the notification came on the stream of its request, on
// whichever connection.
func (r progressRoute) isOwn(j *check.J) bool {
	s := streamOf(j, r.exchange)
	return r.exchange == r.own || s != nil && s == streamOf(j, r.own)
}

// isRepeated reports whether the same notification came on another stream too, which
// streamable-http.message.once judges.
func (r progressRoute) isRepeated(j *check.J) bool {
	return slices.ContainsFunc(transcript.ProgressOf(j).Reports, func(other transcript.ProgressReport) bool {
		return other.Index != r.Index && other.Use == r.Use && bytes.Equal(other.Message.Raw, r.Message.Raw)
	})
}

// A subscriptionRoute is a notification that names a subscription, the exchange that
// it came in and the exchange of the subscription.
type subscriptionRoute struct {
	wire.Entry
	exchange, own *wire.Exchange
}

// subscriptionRoutes leaves out subscriptions whose id several requests have.
func subscriptionRoutes(j *check.J) []subscriptionRoute {
	opened := map[string][]*wire.Exchange{} // by id
	for _, x := range j.Exchanges() {
		for _, m := range x.PostedMessages() {
			if m.Method() == listenMethod && m.ID().IsValid() && len(x.Request.Message.DuplicateKeys) == 0 {
				opened[m.ID().Key()] = append(opened[m.ID().Key()], x)
			}
		}
	}
	var all []subscriptionRoute
	for _, e := range j.Sent() {
		id := transcript.SubscriptionIDOf(e.Message.Params())
		own := opened[wire.ID{Raw: id.Raw}.Key()]
		exchange := j.ExchangeOf(e)
		if id.Exists() && exchange != nil && len(own) == 1 && transcript.IsChangeNotification(e.Message.Method()) {
			all = append(all, subscriptionRoute{e, exchange, own[0]})
		}
	}
	return all
}

// hasClosedSubscription reports whether the client closed the stream of a
// subscription before a frame.
func hasClosedSubscription(j *check.J, frame int) bool {
	return slices.ContainsFunc(j.Exchanges(), func(x *wire.Exchange) bool {
		posted := x.PostedMessages()
		return x.IsClosedBefore(frame) && len(posted) == 1 && posted[0].Method() == listenMethod
	})
}

// closedRequest returns the request of an exchange that the client closed, if no other
// request has its id. A subscription is none: streamable-http.subscriptions.closed judges these.
func closedRequest(j *check.J, x *wire.Exchange) (request wire.Message, ok bool) {
	posted := x.PostedMessages()
	if x.ClosedByClient == nil || len(posted) != 1 || posted[0].Kind != wire.Request ||
		posted[0].Method() == listenMethod {
		return request, false
	}
	same := transcript.Filter(j.Received(), func(e wire.Entry) bool {
		return e.Message.Kind == wire.Request && e.Message.ID().Equal(posted[0].ID())
	})
	return posted[0], len(same) == 1
}

// isAbout reports whether a message is the answer to a request or progress of it.
func isAbout(m, request wire.Message) bool {
	if m.IsResponse() {
		return m.ID().Equal(request.ID())
	}
	token := request.Params().Get("_meta.progressToken")
	return m.Method() == "notifications/progress" && token.Exists() &&
		transcript.TokenKey(m.Params().Get("progressToken")) == transcript.TokenKey(token)
}

// A uniqueMessage is a message that no other message equals.
type uniqueMessage struct {
	wire.Entry
	key uniqueKey
}

// A uniqueKey is equal for copies of one message.
type uniqueKey struct {
	about *transcript.TokenUse // of progress; nil for a request
	raw   string
}

// uniqueMessages returns the messages that the server sends only once: requests, by
// their ids, and progress of one request, which must increase.
func uniqueMessages(j *check.J) []uniqueMessage {
	var all []uniqueMessage
	for _, e := range j.Sent() {
		if e.Message.Kind == wire.Request {
			all = append(all, uniqueMessage{e, uniqueKey{nil, string(e.Message.Raw)}})
		}
	}
	for _, r := range transcript.ProgressOf(j).Reports {
		if r.Use != nil && !r.IsAmbiguous {
			all = append(all, uniqueMessage{r.Entry, uniqueKey{r.Use, string(r.Message.Raw)}})
		}
	}
	return all
}

// openStreams returns how many streams the client was reading at a frame.
func openStreams(j *check.J, frame int) int {
	n := 0
	for _, x := range j.Exchanges() {
		if x.IsOpenAt(frame) {
			n++
		}
	}
	return n
}

// hasOpenGet reports whether the client was reading the stream of a GET at a frame.
func hasOpenGet(j *check.J, frame int) bool {
	return slices.ContainsFunc(streamsOf(j), func(s *stream) bool {
		return s.isOpenedByGet() && s.last().IsOpenAt(frame)
	})
}
