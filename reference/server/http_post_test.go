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

// methodsOf returns the methods of messages, "" for responses.
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
				t.Errorf("%s: the answer to ping is %s", name, plain.body)
			}
			r := s.wantStatus(s.post(toolCallLine("a", "stocktake", `{"duration_ms":0,"steps":2}`)), 200)
			if got := methodsOf(r.messages()); !slices.Equal(got, []string{progressMethod, progressMethod, ""}) {
				t.Errorf("%s: the answer to the call is %q", name, r.events)
			}
			seen := map[string]bool{}
			for _, e := range slices.Concat(r.events, plain.events) {
				if e.id == "" || seen[e.id] || e.name != "" {
					t.Errorf("%s: the stream has the event %+v", name, e)
				}
				seen[e.id] = true
			}
			if primed := r.events[0].data == "" && r.events[0].id != ""; primed != pollingRevisions.Has(rev) {
				t.Errorf("%s: the stream begins with %+v", name, r.events[0])
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
		if primed := r.events[0].data == ""; primed != pollingRevisions.Has(rev) ||
			r.header.Get("Mcp-Session-Id") == "" {
			t.Errorf("%s: %v %+v", rev, r.header, r.events)
		}
	}
	r := b.send("POST", pathMCP, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	if r.header.Get("Mcp-Session-Id") != "" || !r.lastMessage().Get("error").Exists() {
		t.Errorf("the answer to an invalid initialize is %v %+v", r.header, r.events)
	}
}

func TestStreamEndsInsteadOfDroppingUnreadEvents(t *testing.T) {
	for _, resumable := range []bool{true, false} {
		s := newStream()
		s.resumable = resumable
		for range 3 * maxKeptEvents { // without a reader
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
			t.Error("the stream ended although all unread events are kept")
		}
		s.append(Frame{})
		if s.append(Frame{}); !s.isEnded() {
			t.Error("the stream goes on with a gap")
		}
	}
}

func TestSendsRequestOnStreamOfCall(t *testing.T) {
	eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
		s := startHTTP(t, Options{}).openSession(rev, `{"sampling":{}}`)
		getStream := s.openGetStream()
		l := s.openStream("POST", pathMCP, toolCallLine("a", "suggest_reading", `{"mood":"calm"}`), s.headers...)
		request := l.nextMessage()
		if request.Get("method").String() != "sampling/createMessage" {
			t.Fatalf("the stream carried %s, want a request for sampling", request)
		}
		response := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`,
			request.Get("id").Raw, clientAnswers["sampling/createMessage"])
		s.wantStatus(s.post(response), 202)
		if m := l.nextMessage(); !strings.Contains(m.Raw, "On Borrowing") || m.Get("id").String() != "a" {
			t.Errorf("the answer to the call is %s", m)
		}
		if more := l.readRest(); len(more) > 0 {
			t.Errorf("after the answer the stream carried %v", more)
		}
		s.send("DELETE", pathMCP, "", s.headers...)
		for _, e := range getStream.readRest() {
			if e.data != "" {
				t.Errorf("the GET stream carried %s", e.data)
			}
		}
	})
}

func TestAnswersBatchWithOneArray(t *testing.T) {
	eachRevision(t, batchRevisions(), func(t *testing.T, rev spec.Revision) {
		s := startHTTP(t, Options{}).openSession(rev, "{}")
		const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		const notification = `{"jsonrpc":"2.0","method":"notifications/x"}`
		r := s.post(`[` + ping + `,` + notification + `,{"jsonrpc":"2.0","id":3,"method":"x/y"}]`)
		if all := r.lastMessage().Array(); len(all) != 2 || all[1].Get("error.code").Int() != spec.MethodNotFound {
			t.Errorf("got %s", r.body)
		}
		r = s.post("[" + toolCallLine("a", "stocktake", `{"duration_ms":20,"steps":1}`) + `,` + ping + `]`)
		if ms := r.messages(); len(ms) != 2 || ms[0].Get("method").String() != progressMethod ||
			len(ms[1].Array()) != 2 {
			t.Errorf("got %v", r.events)
		}
	})
}

func TestPutsMessageOnOneStream(t *testing.T) {
	eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
		s := startHTTP(t, Options{}).openSession(rev, "{}")
		setRoom := func(open bool) {
			r := s.post(toolCallLine("a", "set_reading_room", fmt.Sprintf(`{"open":%v}`, open)))
			if ms := r.messages(); ms != nil {
				t.Errorf("the answer to the call is a stream of %v", ms)
			}
		}
		setRoom(true) // the notifications wait for a GET stream
		first := s.openGetStream()
		if m := first.nextMessage(); m.Get("method").String() != "notifications/tools/list_changed" {
			t.Errorf("the first stream carried %s", m)
		}
		second := s.openGetStream()
		waitUntil(t, "both streams are open", func() bool { return s.openGetStreams() == 2 })
		setRoom(false)
		for range 3 {
			second.nextMessage()
		}
		s.send("DELETE", pathMCP, "", s.headers...)
		carried := slices.Concat(first.readRest(), second.readRest())
		carried = slices.DeleteFunc(carried, func(e event) bool { return e.data == "" })
		if len(carried) != 2 { // two of the three that waited
			t.Errorf("the streams carried %v in addition", carried)
		}
	})
}

func TestResumesStreamWithMissedEvents(t *testing.T) {
	eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
		b := startHTTP(t, Options{})
		s, other := b.openSession(rev, "{}"), b.openSession(rev, "{}")
		slowCall := func(id string) *liveStream {
			line := toolCallLine(id, "stocktake", `{"duration_ms":300,"steps":6}`)
			return s.openStream("POST", pathMCP, line, s.headers...)
		}
		first := func(l *liveStream) event {
			for {
				if e, _ := l.nextEvent(); e.data != "" {
					return e
				}
			}
		}
		left, kept := slowCall("left"), slowCall("kept")
		at := first(left)
		left.cancel() // does not cancel the call
		if m := kept.nextMessage(); m.Get("params.progressToken").String() != "kept" {
			t.Errorf("the stream of the other call carried %s", m)
		}
		resumed := s.openGetStream("Last-Event-ID: " + at.id)
		var got []gjson.Result
		for _, e := range resumed.readRest() {
			if got = append(got, gjson.Parse(e.data)); e.data == at.data {
				t.Errorf("%s was sent again", e.data)
			}
		}
		if last := got[len(got)-1]; len(got) != 6 || last.Get("id").String() != "left" ||
			!last.Get("result").Exists() {
			t.Errorf("the resumed stream carried %d messages: %v", len(got), got)
		}
		for _, m := range got[:len(got)-1] {
			if m.Get("params.progressToken").String() != "left" {
				t.Errorf("the resumed stream carried %s", m)
			}
		}
		// Again from the same event, after the end of the stream; another session
		// cannot resume it.
		if again := s.openGetStream("Last-Event-ID: " + at.id).readRest(); len(again) != len(got) {
			t.Errorf("resumed again the stream carried %v", again)
		}
		foreign := other.openGetStream("Last-Event-ID: " + at.id)
		other.send("DELETE", pathMCP, "", other.headers...)
		for _, e := range foreign.readRest() {
			if e.data != "" {
				t.Errorf("the stream of another session carried %s", e.data)
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
	waitUntil(t, "the GET stream is closed", func() bool { return s.openGetStreams() == 0 })
	s.post(toolCallLine("b", "set_reading_room", `{"open":false}`))
	again := s.openGetStream("Last-Event-ID: " + at.id)
	var got []string
	for range 5 {
		got = append(got, again.nextMessage().Get("method").String())
	}
	if want := "notifications/prompts/list_changed"; got[0] != want || got[3] != want {
		t.Errorf("the resumed stream carried %q", got)
	}
}

func TestEndsStreamSoThatClientPolls(t *testing.T) {
	t.Parallel()
	for _, rev := range sessionRevisions.Revisions() {
		s := startHTTP(t, Options{
			HTTP: HTTP{PollAfter: 20 * time.Millisecond, Retry: 30 * time.Millisecond},
		}).openSession(rev, "{}")
		line := toolCallLine("a", "stocktake", `{"duration_ms":150,"steps":2}`)
		l := s.openStream("POST", pathMCP, line, s.headers...)
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
				t.Fatal("no answer after 50 polls")
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
		t.Errorf("the resumed stream carried %s", m)
	}
}

func TestCancelledCallEndsStream(t *testing.T) {
	for _, steps := range []int{1, 50} { // before and after the stream begins
		s := startHTTP(t, Options{}).openSession(spec.V2025_11_25, "{}")
		done := make(chan httpResponse, 1)
		go func() {
			done <- s.post(toolCallLine("a", "stocktake", fmt.Sprintf(`{"duration_ms":5000,"steps":%d}`, steps)))
		}()
		waitUntil(t, "the call is in flight", func() bool { return s.inFlight() == 1 })
		s.wantStatus(s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`), 202)
		r := <-done
		if strings.Contains(r.body, "result") || r.status != 200 ||
			r.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("the answer is %d %s", r.status, r.body)
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
				// Only the revision of the second session has icons.
				icons := strings.Contains(r.body, `"icons"`)
				if r.lastMessage().Get("id").Int() != int64(id) || icons != (s == two) {
					t.Errorf("the answer to request %d at %s is %s", id, s.revision, r.body)
				}
			}
		})
	}
	both.Wait()
	one.post(toolCallLine("a", "borrow_book", `{"book":"b7","reader":"mara"}`))
	r := two.post(toolCallLine("a", "borrow_book", `{"book":"b7","reader":"oren"}`))
	if strings.Contains(r.body, "mara") {
		t.Errorf("one session has the loan of the other: %s", r.body)
	}
}
