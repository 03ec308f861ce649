package streams

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// A change is a change notification and where it came.
type change struct {
	raw      string
	exchange int  // the number of its exchange
	isPost   bool // the exchange of a request of the session
}

// isChange reports whether a message is a change notification.
func isChange(m wire.Message) bool {
	_, ok := watch.NoticeOf(m)
	return ok
}

// changesOf makes the calls that change something and returns the change
// notifications that come in the session. If a second stream is open it waits for one
// there, for a short time: the server need not send any there.
func changesOf(t *check.T, c *toolcalls.Outcome, second *check.PendingExchange) []change {
	from := c.RepeatChanges(t)
	if from < 0 {
		return nil
	}
	if second == nil {
		t.Await(from, isChange, t.Timeout()/4)
	} else if _, ok := t.HTTP().AwaitMessage(second, t.Timeout()/4, isChange); ok {
		t.Await(from, isChange, t.Timeout()/20)
	}
	// The last of several notifications may come before the answer to this.
	t.Try(t.Facts.BarrierMethod, nil)
	var out []change
	posts := map[int]bool{}
	for e := range t.Frames(from) {
		if e.HTTP == nil {
			continue
		}
		if e.From == wire.Client {
			posts[e.HTTP.Exchange] = true
			continue
		}
		for _, m := range e.Message.Elements() {
			if isChange(m) {
				out = append(out, change{string(m.Raw), e.HTTP.Exchange, posts[e.HTTP.Exchange]})
			}
		}
	}
	return out
}

// changesIn returns the change notifications in a response.
func changesIn(x *check.PendingExchange) []change {
	var out []change
	for _, m := range x.Snapshot().Messages() {
		if isChange(m) {
			out = append(out, change{raw: string(m.Raw)})
		}
	}
	return out
}

// openSecond is what helps where a second stream was not opened.
const openSecond = "let a client open a second stream by GET"

// openSecondStream opens another stream of the session. Without one the check is not
// observed.
func openSecondStream(t *check.T) *check.PendingExchange {
	x, err := t.HTTP().TryRequest(http.MethodGet, posting.AcceptStream())
	if err != nil {
		t.NotObserved("a second stream was not opened: "+err.Error(), openSecond)
	}
	if !x.IsEventStream() {
		defer x.Close()
		t.NotObserved("a second stream was not opened: a GET was answered with "+check.Describe(x), openSecond)
	}
	return x
}

// requireSameStream ends the body if a notification came on a stream of the session
// that was not open before. A server may keep one stream at a time and end the older
// one: the session resumes it, and a message on its way to it then comes there.
func requireSameStream(t *check.T, before, now []change) {
	for _, c := range now {
		isKnown := func(b change) bool { return b.exchange == c.exchange }
		if !c.isPost && !slices.ContainsFunc(before, isKnown) {
			t.NotObserved("the stream of the session ended beside a second one and was resumed",
				"keep the stream of a GET open while a second one is open")
		}
	}
}

// countRaw returns how many of the notifications have these bytes.
func countRaw(all []change, raw string) int {
	n := 0
	for _, c := range all {
		if c.raw == raw {
			n++
		}
	}
	return n
}
