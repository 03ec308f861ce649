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

const progressMethod = "notifications/progress"

func TestMessagesBeforeAnswerMakeStream(t *testing.T) {
	for name, o := range map[string]Options{
		"JSON preferred": {}, "streams preferred": {HTTP: HTTP{PreferSSE: true}},
	} {
		eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
			s := startHTTP(t, o).openSession(rev, "{}")
			plain := s.wantStatus(s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 200)
			if (plain.events != nil) != o.HTTP.PreferSSE || plain.lastMessage().Get("result").Raw != "{}" {
				t.Errorf("%s: ping is answered with %s", name, plain.body)
			}
			r := s.wantStatus(s.post(toolCallLine("a", "stocktake", `{"duration_ms":0,"steps":2}`)), 200)
			if got := methodsOf(r.messages()); !slices.Equal(got, []string{progressMethod, progressMethod, ""}) {
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
			for header, want := range map[string]string{
				"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Mcp-Session-Id": "",
			} {
				if got := r.header.Get(header); got != want {
					t.Errorf("%s: %s is %q", name, header, got)
				}
			}
		})
	}
}

func TestAnswersInitializeByStream(t *testing.T) {
	b := startHTTP(t, Options{HTTP: HTTP{PreferSSE: true}})
	for _, rev := range sessionRevisions.Revisions() {
		r := b.send("POST", pathMCP, fmt.Sprintf(initializeFormat, rev, "{}"))
		if primed := r.events[0].data == ""; primed != pollingRevisions.Has(rev) || r.header.Get("Mcp-Session-Id") == "" {
			t.Errorf("%s: %v %+v", rev, r.header, r.events)
		}
	}
	r := b.send("POST", pathMCP, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	if r.header.Get("Mcp-Session-Id") != "" || !r.lastMessage().Get("error").Exists() {
		t.Errorf("a refused initialize is answered with %v %+v", r.header, r.events)
	}
}

// A client that falls behind by more than is kept is cut off: it never sees a
// stream with a gap.
func TestStreamEndsInsteadOfDroppingUnreadEvents(t *testing.T) {
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

func TestSendsRequestOnStreamOfCall(t *testing.T) {
	eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
		s := startHTTP(t, Options{}).openSession(rev, `{"sampling":{}}`)
		standing := s.openGetStream()
		l := s.openStream("POST", pathMCP, toolCallLine("a", "suggest_reading", `{"mood":"calm"}`), s.headers...)
		ask := l.nextMessage()
		if ask.Get("method").String() != "sampling/createMessage" {
			t.Fatalf("the stream carries %s", ask)
		}
		answer := fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%s,"result":{"role":"assistant","content":{"type":"text","text":"On Borrowing"},"model":"m"}}`,
			ask.Get("id").Raw,
		)
		s.wantStatus(s.post(answer), 202)
		if m := l.nextMessage(); !strings.Contains(m.Raw, "On Borrowing") || m.Get("id").String() != "a" {
			t.Errorf("the call is answered with %s", m)
		}
		if more := l.readRest(); len(more) > 0 {
			t.Errorf("behind the answer comes %v", more)
		}
		s.send("DELETE", pathMCP, "", s.headers...)
		for _, e := range standing.readRest() {
			if e.data != "" {
				t.Errorf("the GET stream carried %s", e.data)
			}
		}
	})
}

func TestAnswersBatchWithOneArray(t *testing.T) {
	eachRevision(t, batchRevisions(), func(t *testing.T, rev spec.Revision) {
		s := startHTTP(t, Options{}).openSession(rev, "{}")
		r := s.post(
			`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"x/y"}]`,
		)
		if all := r.lastMessage().Array(); len(all) != 2 || all[1].Get("error.code").Int() != spec.MethodNotFound {
			t.Errorf("got %s", r.body)
		}
		r = s.post(
			"[" + toolCallLine("a", "stocktake", `{"duration_ms":20,"steps":1}`) + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
		)
		if ms := r.messages(); len(ms) != 2 || ms[0].Get("method").String() != progressMethod || len(ms[1].Array()) != 2 {
			t.Errorf("got %v", r.events)
		}
	})
}

func TestPutsMessageOnOneStream(t *testing.T) {
	eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
		s := startHTTP(t, Options{}).openSession(rev, "{}")
		room := func(open bool) {
			r := s.post(toolCallLine("a", "set_reading_room", fmt.Sprintf(`{"open":%v}`, open)))
			if ms := r.messages(); ms != nil {
				t.Errorf("the call is answered by a stream of %v", ms)
			}
		}
		room(true) // while nobody listens: it waits
		first, second := s.openGetStream(), (*liveStream)(nil)
		if m := first.nextMessage(); m.Get("method").String() != "notifications/tools/list_changed" {
			t.Errorf("the first stream carries %s", m)
		}
		second = s.openGetStream()
		web, _ := s.server.handler.findSession(s.id), 0
		waitUntil(t, "both are connected", func() bool {
			web.mu.Lock()
			defer web.mu.Unlock()
			return len(web.getStreams) == 2
		})
		room(false)
		for range 3 {
			second.nextMessage()
		}
		s.send("DELETE", pathMCP, "", s.headers...)
		carried := slices.Concat(first.readRest(), second.readRest())
		carried = slices.DeleteFunc(carried, func(e event) bool { return e.data == "" })
		if len(carried) != 2 { // two of the three that had waited
			t.Errorf("besides the streams carried %v", carried)
		}
	})
}

func TestResumesStreamWithMissedEvents(t *testing.T) {
	eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
		b := startHTTP(t, Options{})
		s, other := b.openSession(rev, "{}"), b.openSession(rev, "{}")
		slow := func(id string) *liveStream {
			return s.openStream("POST", pathMCP, toolCallLine(id, "stocktake", `{"duration_ms":300,"steps":6}`), s.headers...)
		}
		first := func(l *liveStream) event {
			for {
				if e, _ := l.nextEvent(); e.data != "" {
					return e
				}
			}
		}
		left, kept := slow("left"), slow("kept")
		at := first(left)
		left.cancel() // which cancels nothing
		if m := kept.nextMessage(); m.Get("params.progressToken").String() != "kept" {
			t.Errorf("the stream of the one call carries %s", m)
		}
		resumed := s.openGetStream("Last-Event-ID: " + at.id)
		var got []gjson.Result
		for _, e := range resumed.readRest() {
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
		if again := s.openGetStream("Last-Event-ID: " + at.id).readRest(); len(again) != len(got) {
			t.Errorf("a second resumption gives %v", again)
		}
		foreign := other.openGetStream("Last-Event-ID: " + at.id)
		other.send("DELETE", pathMCP, "", other.headers...)
		for _, e := range foreign.readRest() {
			if e.data != "" {
				t.Errorf("another session is told %s", e.data)
			}
		}
	})
}

func TestResumesGetStream(t *testing.T) {
	s := startHTTP(t, Options{}).openSession(spec.V2025_11_25, "{}")
	l := s.openGetStream()
	s.post(toolCallLine("a", "set_reading_room", `{"open":true}`))
	var at event
	for at.data == "" {
		at, _ = l.nextEvent()
	}
	l.cancel()
	web := s.server.handler.findSession(s.id)
	waitUntil(t, "the client has left", func() bool {
		web.mu.Lock()
		defer web.mu.Unlock()
		return len(web.getStreams) == 0
	})
	s.post(toolCallLine("b", "set_reading_room", `{"open":false}`))
	again := s.openGetStream("Last-Event-ID: " + at.id)
	var got []string
	for range 5 {
		got = append(got, again.nextMessage().Get("method").String())
	}
	if want := "notifications/prompts/list_changed"; got[0] != want || got[3] != want {
		t.Errorf("it goes on with %q", got)
	}
}

func TestMakesClientPoll(t *testing.T) {
	t.Parallel()
	for _, rev := range sessionRevisions.Revisions() {
		s := startHTTP(t, Options{
			HTTP: HTTP{Hold: 20 * time.Millisecond, Retry: 30 * time.Millisecond},
		}).openSession(rev, "{}")
		l := s.openStream("POST", pathMCP, toolCallLine("a", "stocktake", `{"duration_ms":150,"steps":2}`), s.headers...)
		events := l.readRest()
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
			more := s.openGetStream("Last-Event-ID: " + at).readRest()
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

func TestOfficialReconnection(t *testing.T) {
	s := startHTTP(t, Options{Official: true}).openSession(spec.V2025_11_25, "{}")
	l := s.openStream("POST", pathMCP, toolCallLine("a", "test_reconnection", `{}`), s.headers...)
	events := l.readRest()
	if len(events) != 2 || events[0].id == "" || events[0].data != "" || events[1].retry != "100" {
		t.Fatalf("the stream was %+v", events)
	}
	if m := s.openGetStream("Last-Event-ID: " + events[0].id).nextMessage(); !m.Get("result").Exists() {
		t.Errorf("it goes on with %s", m)
	}
}

func TestCancelledCallEndsStream(t *testing.T) {
	for _, steps := range []int{1, 50} { // without and with a stream begun
		s := startHTTP(t, Options{}).openSession(spec.V2025_11_25, "{}")
		done := make(chan httpResponse, 1)
		go func() {
			done <- s.post(toolCallLine("a", "stocktake", fmt.Sprintf(`{"duration_ms":5000,"steps":%d}`, steps)))
		}()
		web := s.server.handler.findSession(s.id)
		waitUntil(t, "the call is in flight", func() bool {
			web.conn.mu.Lock()
			defer web.conn.mu.Unlock()
			return len(web.conn.inflight) == 1
		})
		s.wantStatus(s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`), 202)
		r := <-done
		if strings.Contains(r.body, "result") || r.status != 200 || r.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("it is answered with %d %s", r.status, r.body)
		}
	}
}

// Two sessions with the same ids in flight get their own answers.
func TestSessionsAreSeparate(t *testing.T) {
	b := startHTTP(t, Options{})
	one, two := b.openSession(spec.V2025_06_18, "{}"), b.openSession(spec.V2025_11_25, `{"elicitation":{}}`)
	var both sync.WaitGroup
	for _, s := range []*httpTestSession{one, two} {
		both.Go(func() {
			for id := range 20 {
				r := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id))
				// Icons came with the revision of the second one.
				icons := strings.Contains(r.body, `"icons"`)
				if r.lastMessage().Get("id").Int() != int64(id) || icons != (s == two) {
					t.Errorf("request %d at %s is answered with %s", id, s.revision, r.body)
				}
			}
		})
	}
	both.Wait()
	one.post(toolCallLine("a", "borrow_book", `{"book":"b7","reader":"mara"}`))
	if r := two.post(toolCallLine("a", "borrow_book", `{"book":"b7","reader":"oren"}`)); strings.Contains(r.body, "mara") {
		t.Errorf("one session is told of the other: %s", r.body)
	}
}
