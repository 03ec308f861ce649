package asking

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// The methods by which a server requests something from its client.
const (
	ListRoots     = "roots/list"
	CreateMessage = "sampling/createMessage"
	Elicit        = "elicitation/create"
)

// A Trigger is a request of ours that makes the server request something from its
// client.
type Trigger struct {
	Name     string // of the tool, prompt or resource
	Method   string
	Params   check.Params
	requests []check.InputRequest // those seen first
}

// String names the request in messages.
func (a Trigger) String() string { return fmt.Sprintf("%s of %q", a.Method, a.Name) }

// Requests reports whether the request made the server request a method.
func (a Trigger) Requests(method string) bool { return len(a.RequestsOf(method)) > 0 }

// RequestsOf returns the requests of one method that the request brought about.
func (a Trigger) RequestsOf(method string) []check.InputRequest {
	return slices.DeleteFunc(slices.Clone(a.requests), func(r check.InputRequest) bool { return r.Method != method })
}

// Bounds of the requests that are repeated to find out which of them are triggers, and
// of the triggers.
const maxTried, MaxTriggers = 40, 12

var usesKey = check.NewKey[[]Use]("uses of triggers")

// Uses uses what the server offers, once for this revision, and returns the requests
// with their answers.
func Uses(t *check.T) []Use {
	return check.Once(t, usesKey, func() []Use {
		var out []Use
		if t.Declares("tools") {
			out = usesIn(toolcalls.Calls(t).Frames)
		}
		return append(out, usesIn(usage.UseOffer(t).Frames)...)
	})
}

var TriggersKey = check.NewKey[[]Trigger]("triggers")

// Triggers returns the requests that make the server request something from its client.
// They are determined once for this revision.
func Triggers(t *check.T) []Trigger {
	return check.Once(t, TriggersKey, func() []Trigger {
		if t.Facts.Stateless {
			return triggersOfRounds(t)
		}
		return triggersOfRequests(t)
	})
}

// A Use is a request of ours with its answer.
type Use struct {
	Trigger
	took           time.Duration
	answer         wire.Message
	requestsDuring []check.InputRequest // requests of the server that may belong to it
}

// usesIn returns the first use of each tool, prompt and resource in the frames of a
// session.
func usesIn(frames []wire.Entry) []Use {
	type open struct {
		Use
		sent int
	}
	var out []Use
	waiting := map[string]open{}             // by id
	asked := map[string]check.InputRequest{} // requests of the server, by id
	var answered []check.InputRequest
	known := map[string]bool{}
	for _, e := range frames {
		for _, m := range e.Message.Elements() {
			key := m.ID().Key()
			switch {
			case e.From == wire.Server && m.Kind == wire.Request:
				for _, ask := range check.InputRequests(wire.Entry{Index: e.Index, Frame: e.Frame, Message: m}) {
					asked[key] = ask
				}
			case e.From == wire.Client && m.IsResponse():
				if ask, ok := asked[key]; ok {
					answered = append(answered, ask)
				}
			case e.From == wire.Server && m.IsResponse():
				x, ok := waiting[key]
				if !ok {
					continue
				}
				delete(waiting, key)
				x.took, x.answer = e.At-x.took, m
				// A request of the server that belongs to it comes after it and is answered first.
				x.requestsDuring = slices.DeleteFunc(slices.Clone(answered), func(ask check.InputRequest) bool {
					return ask.Frame.Index < x.sent
				})
				out = append(out, x.Use)
			case e.From == wire.Client && m.Kind == wire.Request:
				name := m.Params().Get("name")
				if m.Method() == "resources/read" {
					name = m.Params().Get("uri")
				}
				// Requests that belong to a task come after the answer to the call.
				use := transcript.MayRequestInput(m.Method()) && !m.Params().Get("task").Exists()
				if what := m.Method() + " " + name.String(); use && name.Type == gjson.String && !known[what] {
					known[what] = true
					waiting[key] = open{
						Use{Trigger: Trigger{name.Str, m.Method(), repeatableParams(m), nil}, took: e.At}, e.Index,
					}
				}
			}
		}
	}
	return out
}

// repeatableParams returns the params with which a request can be sent again.
func repeatableParams(m wire.Message) check.Params {
	params := check.Params{}
	m.Params().ForEach(func(key, v gjson.Result) bool {
		switch key.String() {
		case "_meta", "inputResponses", "requestState":
		default:
			params[key.String()] = json.RawMessage(v.Raw)
		}
		return true
	})
	return params
}

// triggersOfRounds returns the requests whose results request input.
func triggersOfRounds(t *check.T) []Trigger {
	var out []Trigger
	for _, x := range Uses(t) {
		answer := wire.Entry{Frame: wire.Frame{From: wire.Server}, Message: x.answer}
		if x.requests = check.InputRequests(answer); len(x.requests) > 0 && len(out) < MaxTriggers {
			out = append(out, x.Trigger)
		}
	}
	return out
}

// triggersOfRequests repeats, one by one, requests during which the server requested
// something. While several requests were open, it was not known which of them the
// server's request belonged to. It begins with the requests that were answered first,
// and ends when every request of the server is explained.
func triggersOfRequests(t *check.T) []Trigger {
	all := slices.DeleteFunc(slices.Clone(Uses(t)), func(x Use) bool { return len(x.requestsDuring) == 0 })
	slices.SortStableFunc(all, func(a, b Use) int { return cmp.Compare(a.took, b.took) })
	unexplained := map[string]bool{}
	var roots []Use // those during which roots were requested
	for _, x := range all {
		for _, ask := range x.requestsDuring {
			if ask.Method != ListRoots { // which a server may cache
				unexplained[requestKind(ask)] = true
			}
		}
		if slices.ContainsFunc(x.requestsDuring, func(ask check.InputRequest) bool { return ask.Method == ListRoots }) {
			roots = append(roots, x)
		}
	}
	var out []Trigger
	for i, x := range all {
		if len(unexplained) == 0 || i == maxTried {
			break
		}
		from := t.Len()
		if _, err := t.Client().Invoke(x.Method, x.Params).Get(); err != nil {
			continue
		}
		if x.requests = t.Client().Requests(from); len(x.requests) > 0 && len(out) < MaxTriggers {
			out = append(out, x.Trigger)
		}
		for _, ask := range x.requests {
			delete(unexplained, requestKind(ask))
		}
	}
	if len(roots) == 0 && RequestedRoots(t) {
		roots = slices.Clone(Uses(t)) // the server received them before
		slices.SortStableFunc(roots, func(a, b Use) int { return cmp.Compare(a.took, b.took) })
	}
	if !slices.ContainsFunc(out, func(a Trigger) bool { return a.Requests(ListRoots) }) {
		out = append(out, findRootsTrigger(t, roots)...)
	}
	return out
}

// RequestedRoots reports whether the server requested roots in this session.
func RequestedRoots(t *check.T) bool {
	return slices.ContainsFunc(t.Client().Requests(0), func(a check.InputRequest) bool { return a.Method == ListRoots })
}

// findRootsTrigger returns a request that uses roots: one that makes the server request
// them each time or, if the server caches them, one that makes it request them or waits
// while the list that the server requested after a change is not answered.
func findRootsTrigger(t *check.T, candidates []Use) []Trigger {
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(x Use) bool {
		return x.took > t.Timeout()/3 // a wait would not be noticed
	})
	candidates = candidates[:min(len(candidates), maxTried)]
	at := t.Len()
	AnnounceRootsChange(t, ListRoots)
	t.Try(t.Facts.BarrierMethod, nil)
	ways := []func(*check.T, Use) bool{requestsRootsEachTime, waitsForRoots}
	if asked := t.Client().Requests(at); len(asked) > 0 {
		slices.Reverse(ways) // the server seems to cache them
	}
	for _, uses := range ways {
		for _, x := range candidates {
			if uses(t, x) {
				x.requests = []check.InputRequest{{Method: ListRoots}}
				return []Trigger{x.Trigger}
			}
		}
	}
	return nil
}

// requestsRootsEachTime reports whether a request makes the server request roots that
// did not change.
func requestsRootsEachTime(t *check.T, x Use) bool {
	from := t.Len()
	_, err := t.Client().Invoke(x.Method, x.Params).Get()
	return err == nil && slices.ContainsFunc(t.Client().Requests(from), func(a check.InputRequest) bool {
		return a.Method == ListRoots
	})
}

// delayFactor is how many times longer than before a request takes that waits for
// roots.
const delayFactor = 5

// waitsForRoots reports whether a request waits for roots, or makes the server request
// them, while a request for roots is not answered. One request may follow from the
// change of the roots; a second belongs to the request. A request that takes
// delayFactor times as long as before waits.
func waitsForRoots(t *check.T, x Use) bool {
	at := t.Len()
	AnswerWith(t, ListRoots, func(check.HostRequest) check.HostReply { return check.HostReply{} })
	AnnounceRootsChange(t, ListRoots)
	running, err := t.TryStart(x.Method, x.Params)
	if err != nil {
		return false
	}
	asked, answered := 0, false
	t.Await(at, func(m wire.Message) bool {
		if m.Method() == ListRoots {
			asked++
		}
		answered = answered || m.IsResponse() && m.ID().Equal(running.ID)
		return answered || asked > 1
	}, min(t.Timeout()/5, delayFactor*x.took+t.Timeout()/100))
	t.Client().Answer(nil)
	AnswerAndWait(t, running)
	return !answered
}

// AnswerAndWait answers what the server still waits for, and then waits for the answer
// to a request of ours. ok is false if none came.
func AnswerAndWait(t *check.T, running *check.Call) (ok bool) {
	AnswerPending(t)
	_, err := t.TryAnswer(running, t.Timeout()).Get()
	return err == nil
}

// AnswerPending answers, as a host that agrees to everything, every request of the
// server that was neither answered nor cancelled.
func AnswerPending(t *check.T) {
	done := map[string]bool{}
	var asks []check.InputRequest
	for e := range t.Frames(0) {
		switch m := e.Message; {
		case e.From == wire.Server && (m.Kind == wire.Request || m.Kind == wire.Batch):
			for _, part := range m.Elements() {
				e.Message = part
				asks = append(asks, check.InputRequests(e)...)
			}
		case e.From == wire.Client && m.IsResponse():
			done[m.ID().Key()] = true
		case e.From == wire.Server && m.Method() == "notifications/cancelled":
			done[wire.ID{Raw: m.Params().Get("requestId").Raw}.Key()] = true
		}
	}
	for _, ask := range asks {
		if !done[ask.Frame.Message.ID().Key()] {
			reply := session.FullHost().Answer(check.HostRequest{Rev: t.Rev, Method: ask.Method, Params: ask.Params})
			t.Send(string(session.EncodeResponse(ask.Frame.Message.ID(), reply)))
		}
	}
}

// requestKind returns a text that differs for requests of the server that probably
// belong to different requests of ours.
func requestKind(ask check.InputRequest) string {
	return fmt.Sprintf("%s %s %s %t", ask.Method, ask.Params.Get("mode"), ask.Params.Get("requestedSchema").Raw,
		ask.Params.Get("tools").Exists())
}

// TriggersFor returns the requests that make the server request a method. If there are
// none it ends the body.
func TriggersFor(t *check.T, method string) []Trigger {
	out := slices.DeleteFunc(slices.Clone(Triggers(t)), func(a Trigger) bool { return !a.Requests(method) })
	if len(out) == 0 {
		EndWithoutTrigger(t, method)
	}
	return out
}

// EndWithoutTrigger ends the body because no request made the server request something.
func EndWithoutTrigger(t *check.T, what string) {
	hint := ""
	if t.Declares("tools") {
		hint = check.AllowHint(toolcalls.Calls(t).NotAllowed)
	}
	t.NotObserved("no prompt, no resource and no tool that may be called made the server request "+what, hint)
}

// AnnounceRootsChange announces a change of the roots if the method requests them, so
// that a server that caches them requests them again.
func AnnounceRootsChange(t *check.T, method string) {
	if method == ListRoots && !t.Facts.Stateless {
		t.Notify("notifications/roots/list_changed", nil)
	}
}

// AnswerWith answers every request of a method by reply, and all others as a host that
// agrees to everything.
func AnswerWith(t *check.T, method string, reply func(check.HostRequest) check.HostReply) {
	willing := session.FullHost()
	t.Client().Answer(func(a check.HostRequest) check.HostReply {
		if a.Method == method {
			return reply(a)
		}
		return willing.Answer(a)
	})
}

// StartRound sends the request again. ok is false if it no longer requests input.
func (a Trigger) StartRound(t *check.T) (r Round, ok bool) {
	e, err := t.Try(a.Method, a.Params).Get()
	if err != nil || !session.IsInputRequired(e.Message) {
		return Round{}, false
	}
	retry, ok := t.Client().Retry(a.Params, e.Message.Result())
	return Round{a, e.Message.Result(), retry}, ok
}

// Variants returns the same tool call with other arguments; nothing for a request that
// is no tool call.
func (a Trigger) Variants(t *check.T) []Trigger {
	var out []Trigger
	for _, tool := range offer.Tools(t) {
		if a.Method != "tools/call" || tool.Get("name").String() != a.Name {
			continue
		}
		for _, args := range offer.Arguments(t, tool, 3) {
			params := offer.CallParams(tool, args)
			if string(check.MustJSON(params)) != string(check.MustJSON(a.Params)) {
				out = append(out, Trigger{a.Name, a.Method, params, a.requests})
			}
		}
	}
	return out
}
