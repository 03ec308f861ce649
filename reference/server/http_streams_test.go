package server

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// methodsOf are the methods of messages, and "" for responses.
func methodsOf(ms []gjson.Result) (out []string) {
	for _, m := range ms {
		out = append(out, m.Get("method").String())
	}
	return out
}

const progress = "notifications/progress"

func TestWhatComesBeforeAnAnswerMakesItAStream(t *testing.T) {
	for name, o := range map[string]Options{"JSON preferred": {}, "streams preferred": {HTTP: HTTP{PreferSSE: true}}} {
		eachRevision(t, sessions, func(t *testing.T, rev spec.Revision) {
			s := listening(t, o).session(rev, "{}")
			plain := s.want(s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 200)
			if (plain.events != nil) != o.HTTP.PreferSSE || plain.message().Get("result").Raw != "{}" {
				t.Errorf("%s: ping is answered with %s", name, plain.body)
			}
			r := s.want(s.post(toolCall("a", "stocktake", `{"duration_ms":0,"steps":2}`)), 200)
			if got := methodsOf(r.messages()); !slices.Equal(got, []string{progress, progress, ""}) {
				t.Errorf("%s: the call is answered with %q", name, r.events)
			}
			seen := map[string]bool{}
			for _, e := range slices.Concat(r.events, plain.events) {
				if e.id == "" || seen[e.id] || e.name != "" {
					t.Errorf("%s: one of its events is %+v", name, e)
				}
				seen[e.id] = true
			}
			if primed := r.events[0].data == "" && r.events[0].id != ""; primed != pollingRevisions.Has(rev) {
				t.Errorf("%s: it begins with %+v", name, r.events[0])
			}
			for header, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Mcp-Session-Id": ""} {
				if got := r.header.Get(header); got != want {
					t.Errorf("%s: %s is %q", name, header, got)
				}
			}
		})
	}
}

func TestInitializeCanBeAnsweredByAStream(t *testing.T) {
	b := listening(t, Options{HTTP: HTTP{PreferSSE: true}})
	for _, rev := range sessions.Revisions() {
		r := b.send("POST", pathMCP, fmt.Sprintf(initializing, rev, "{}"))
		if primed := r.events[0].data == ""; primed != pollingRevisions.Has(rev) || r.header.Get("Mcp-Session-Id") == "" {
			t.Errorf("%s: %v %+v", rev, r.header, r.events)
		}
	}
	r := b.send("POST", pathMCP, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	if r.header.Get("Mcp-Session-Id") != "" || !r.message().Get("error").Exists() {
		t.Errorf("a refused initialize is answered with %v %+v", r.header, r.events)
	}
}

// A client that falls behind by more than is kept is cut off: it never sees a
// stream with a gap.
func TestAStreamHasNoGaps(t *testing.T) {
	for _, resumable := range []bool{true, false} {
		s := newStream()
		s.resumable = resumable
		for range 3 * maxKeptEvents { // while nobody reads
			s.append(Frame{})
		}
		if n := len(s.Events()); n != maxKeptEvents || s.isEnded() {
			t.Errorf("%d events are kept", n)
		}
		reader := s.connect(0)
		s.state(reader, s.first)
		for range maxKeptEvents {
			s.append(Frame{})
		}
		if s.isEnded() {
			t.Error("a client was cut off that had read all but what is kept")
		}
		s.append(Frame{})
		if s.append(Frame{}); !s.isEnded() {
			t.Error("a client is left behind")
		}
	}
}

func TestTheServerAsksOnTheStreamOfTheCall(t *testing.T) {
	eachRevision(t, sessions, func(t *testing.T, rev spec.Revision) {
		s := listening(t, Options{}).session(rev, `{"sampling":{}}`)
		standing := s.listen()
		l := s.open("POST", pathMCP, toolCall("a", "suggest_reading", `{"mood":"calm"}`), s.headers...)
		ask := l.message()
		if ask.Get("method").String() != "sampling/createMessage" {
			t.Fatalf("the stream carries %s", ask)
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"role":"assistant","content":{"type":"text","text":"On Borrowing"},"model":"m"}}`, ask.Get("id").Raw)
		s.want(s.post(answer), 202)
		if m := l.message(); !strings.Contains(m.Raw, "On Borrowing") || m.Get("id").String() != "a" {
			t.Errorf("the call is answered with %s", m)
		}
		if more := l.rest(); len(more) > 0 {
			t.Errorf("behind the answer comes %v", more)
		}
		s.send("DELETE", pathMCP, "", s.headers...)
		for _, e := range standing.rest() {
			if e.data != "" {
				t.Errorf("the GET stream carried %s", e.data)
			}
		}
	})
}

func TestABatchIsAnsweredByOneArray(t *testing.T) {
	eachRevision(t, batching(), func(t *testing.T, rev spec.Revision) {
		s := listening(t, Options{}).session(rev, "{}")
		r := s.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"x/y"}]`)
		if all := r.message().Array(); len(all) != 2 || all[1].Get("error.code").Int() != spec.MethodNotFound {
			t.Errorf("got %s", r.body)
		}
		r = s.post("[" + toolCall("a", "stocktake", `{"duration_ms":20,"steps":1}`) + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
		if ms := r.messages(); len(ms) != 2 || ms[0].Get("method").String() != progress || len(ms[1].Array()) != 2 {
			t.Errorf("got %v", r.events)
		}
	})
}

func TestEachMessageIsOnOneStream(t *testing.T) {
	eachRevision(t, sessions, func(t *testing.T, rev spec.Revision) {
		s := listening(t, Options{}).session(rev, "{}")
		room := func(open bool) {
			r := s.post(toolCall("a", "set_reading_room", fmt.Sprintf(`{"open":%v}`, open)))
			if ms := r.messages(); ms != nil {
				t.Errorf("the call is answered by a stream of %v", ms)
			}
		}
		room(true) // while nobody listens: it waits
		first, second := s.listen(), (*live)(nil)
		if m := first.message(); m.Get("method").String() != "notifications/tools/list_changed" {
			t.Errorf("the first stream carries %s", m)
		}
		second = s.listen()
		web, _ := s.server.handler.findSession(s.id), 0
		eventually(t, "both are connected", func() bool {
			web.mu.Lock()
			defer web.mu.Unlock()
			return len(web.getStreams) == 2
		})
		room(false)
		for range 3 {
			second.message()
		}
		s.send("DELETE", pathMCP, "", s.headers...)
		carried := slices.Concat(first.rest(), second.rest())
		carried = slices.DeleteFunc(carried, func(e event) bool { return e.data == "" })
		if len(carried) != 2 { // two of the three that had waited
			t.Errorf("besides the streams carried %v", carried)
		}
	})
}

func TestAStreamIsResumedWithWhatWasMissedOfIt(t *testing.T) {
	eachRevision(t, sessions, func(t *testing.T, rev spec.Revision) {
		b := listening(t, Options{})
		s, other := b.session(rev, "{}"), b.session(rev, "{}")
		slow := func(id string) *live {
			return s.open("POST", pathMCP, toolCall(id, "stocktake", `{"duration_ms":300,"steps":6}`), s.headers...)
		}
		first := func(l *live) event {
			for {
				if e, _ := l.next(); e.data != "" {
					return e
				}
			}
		}
		left, kept := slow("left"), slow("kept")
		at := first(left)
		left.cancel() // which cancels nothing
		if m := kept.message(); m.Get("params.progressToken").String() != "kept" {
			t.Errorf("the stream of the one call carries %s", m)
		}
		resumed := s.listen("Last-Event-ID: " + at.id)
		var got []gjson.Result
		for _, e := range resumed.rest() {
			if got = append(got, gjson.Parse(e.data)); e.data == at.data {
				t.Errorf("%s comes again", e.data)
			}
		}
		if last := got[len(got)-1]; len(got) != 6 || last.Get("id").String() != "left" || !last.Get("result").Exists() {
			t.Errorf("%d messages came after the resumption: %v", len(got), got)
		}
		for _, m := range got[:len(got)-1] {
			if m.Get("params.progressToken").String() != "left" {
				t.Errorf("the stream was resumed with %s", m)
			}
		}
		// Again from the same place, after its end; and a client of another
		// session sees nothing of it.
		if again := s.listen("Last-Event-ID: " + at.id).rest(); len(again) != len(got) {
			t.Errorf("a second resumption gives %v", again)
		}
		foreign := other.listen("Last-Event-ID: " + at.id)
		other.send("DELETE", pathMCP, "", other.headers...)
		for _, e := range foreign.rest() {
			if e.data != "" {
				t.Errorf("another session is told %s", e.data)
			}
		}
	})
}

func TestAGETStreamIsResumedToo(t *testing.T) {
	s := listening(t, Options{}).session(spec.V2025_11_25, "{}")
	l := s.listen()
	s.post(toolCall("a", "set_reading_room", `{"open":true}`))
	var at event
	for at.data == "" {
		at, _ = l.next()
	}
	l.cancel()
	web := s.server.handler.findSession(s.id)
	eventually(t, "the client has left", func() bool {
		web.mu.Lock()
		defer web.mu.Unlock()
		return len(web.getStreams) == 0
	})
	s.post(toolCall("b", "set_reading_room", `{"open":false}`))
	again := s.listen("Last-Event-ID: " + at.id)
	var got []string
	for range 5 {
		got = append(got, again.message().Get("method").String())
	}
	if want := "notifications/prompts/list_changed"; got[0] != want || got[3] != want {
		t.Errorf("it goes on with %q", got)
	}
}

func TestAClientIsToldToPoll(t *testing.T) {
	t.Parallel()
	for _, rev := range sessions.Revisions() {
		s := listening(t, Options{HTTP: HTTP{Hold: 20 * time.Millisecond, Retry: 30 * time.Millisecond}}).session(rev, "{}")
		l := s.open("POST", pathMCP, toolCall("a", "stocktake", `{"duration_ms":150,"steps":2}`), s.headers...)
		events := l.rest()
		last := events[len(events)-1]
		if !pollingRevisions.Has(rev) {
			if gjson.Get(last.data, "id").String() != "a" {
				t.Errorf("%s: the stream ended with %+v", rev, last)
			}
			continue
		}
		if last.retry != "30" || last.data != "" {
			t.Errorf("%s: the connection was closed after %+v", rev, last)
		}
		at := events[0].id
		for polls := 0; ; polls++ {
			more := s.listen("Last-Event-ID: " + at).rest()
			last = more[len(more)-1]
			for _, e := range more {
				if e.id != "" {
					at = e.id
				}
			}
			if gjson.Get(last.data, "id").String() == "a" {
				break
			}
			if polls == 50 {
				t.Fatal("there is no end to it")
			}
		}
	}
}

func TestTheContractsReconnection(t *testing.T) {
	s := listening(t, Options{Official: true}).session(spec.V2025_11_25, "{}")
	l := s.open("POST", pathMCP, toolCall("a", "test_reconnection", `{}`), s.headers...)
	events := l.rest()
	if len(events) != 2 || events[0].id == "" || events[0].data != "" || events[1].retry != "100" {
		t.Fatalf("the stream was %+v", events)
	}
	if m := s.listen("Last-Event-ID: " + events[0].id).message(); !m.Get("result").Exists() {
		t.Errorf("it goes on with %s", m)
	}
}

func TestACancelledCallEndsItsStream(t *testing.T) {
	for _, steps := range []int{1, 50} { // without and with a stream begun
		s := listening(t, Options{}).session(spec.V2025_11_25, "{}")
		done := make(chan reply, 1)
		go func() {
			done <- s.post(toolCall("a", "stocktake", fmt.Sprintf(`{"duration_ms":5000,"steps":%d}`, steps)))
		}()
		web := s.server.handler.findSession(s.id)
		eventually(t, "the call is in flight", func() bool {
			web.conn.mu.Lock()
			defer web.conn.mu.Unlock()
			return len(web.conn.inflight) == 1
		})
		s.want(s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`), 202)
		r := <-done
		if strings.Contains(r.body, "result") || r.status != 200 || r.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("it is answered with %d %s", r.status, r.body)
		}
	}
}

// Two sessions with the same ids in flight get their own answers.
func TestSessionsDoNotMix(t *testing.T) {
	b := listening(t, Options{})
	one, two := b.session(spec.V2025_06_18, "{}"), b.session(spec.V2025_11_25, `{"elicitation":{}}`)
	var both sync.WaitGroup
	for _, s := range []*session{one, two} {
		both.Go(func() {
			for id := range 20 {
				r := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id))
				// Icons came with the revision of the second one.
				icons := strings.Contains(r.body, `"icons"`)
				if r.message().Get("id").Int() != int64(id) || icons != (s == two) {
					t.Errorf("request %d at %s is answered with %s", id, s.rev, r.body)
				}
			}
		})
	}
	both.Wait()
	one.post(toolCall("a", "borrow_book", `{"book":"b7","reader":"mara"}`))
	if r := two.post(toolCall("a", "borrow_book", `{"book":"b7","reader":"oren"}`)); strings.Contains(r.body, "mara") {
		t.Errorf("one session is told of the other: %s", r.body)
	}
}
