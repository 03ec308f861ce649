package fault

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// streamEnds are faults in how a stream is opened and how it ends.
func streamEnds() []Fault {
	onGet := func(name, does string, status int, mediaType, body string) Fault {
		return newFault(name, does, "streamable-http.get.answer", combine(withoutListChanged,
			func(o *server.Options) { respond(isGetOfOpenSession(), status, mediaType, body)(o) }))
	}
	isLogResponse := isResponseWhen(isCall("read_desk_log"))
	return []Fault{
		{
			Name: "stream-closed-before-response", Does: "closes the stream of a call in place of the response",
			CaughtBy: []string{"streamable-http.stream.early-close"},
			Apply:    onMessageEvent(isLogResponse, writeNoEvent),
		},
		{
			Name: "stream-closed-at-once", Does: "answers a call by a stream without a message",
			CaughtBy: []string{"streamable-http.stream.early-close"},
			Apply:    combine(preferStreams, onMessageEvent(isResponseWhen(isCall("show_exhibits")), writeNoEvent)),
		},
		{
			Name: "stream-ends-without-response", Does: "ends the stream of a call in place of the response",
			In:       spec.Stateless,
			CaughtBy: []string{"streamable-http.stream.response"},
			Apply:    onMessageEvent(isLogResponse, writeNoEvent),
		},
		{
			Name:     "stream-closed-not-resumable",
			Does:     "closes the stream of a call in place of the response, and refuses to resume it",
			In:       spec.Only(spec.V2025_11_25),
			CaughtBy: []string{"streamable-http.stream.response"},
			Apply: combine(onMessageEvent(isLogResponse, writeNoEvent), retryAfter(100*time.Millisecond),
				respond(hasField(eventIDField), http.StatusMethodNotAllowed, "", "")),
		},
		{
			Name: "stream-open-after-response", Does: "keeps the streams of calls open after their response",
			CaughtBy: []string{"streamable-http.stream.closed"},
			Apply:    keepStreamsOpen("tools/call"),
		},
		{
			Name:     "streams-of-pings-open",
			Does:     "answers each request by a stream, and keeps those of ping and server/discover open",
			CaughtBy: []string{"streamable-http.stream.closed"},
			Apply:    combine(preferStreams, keepStreamsOpen("ping", "server/discover")),
		},
		onGet("get-as-json", "answers a GET with JSON", http.StatusOK, "application/json",
			`{"name":"harbour-street-library"}`),
		onGet("get-refused", "answers a GET with status 400", http.StatusBadRequest, "", ""),
		onGet("get-empty", "answers a GET with status 204", http.StatusNoContent, "", ""),
	}
}

// isGetOfOpenSession matches GETs of sessions for which no DELETE came.
func isGetOfOpenSession() httpMatcher {
	var mu sync.Mutex
	ended := map[string]bool{}
	return func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get(sessionField)
		ended[id] = ended[id] || isDelete(r)
		return isGet(r) && !ended[id]
	}
}

// keepStreamsOpen keeps the streams open by which requests of the methods were
// answered, until the client leaves.
func keepStreamsOpen(methods ...string) apply {
	return whenHTTP(posts(func(m wire.Message) bool { return slices.Contains(methods, m.Method()) }),
		func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			if w.Header().Get("Content-Type") == "text/event-stream" {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
		})
}

// retryAfter names at the beginning of a stream when to reconnect.
func retryAfter(after time.Duration) apply {
	return onPrimingEvent(func(next server.EventEncoder, e server.Event) []byte {
		e.Retry = after
		return next(e)
	})
}

// streamPolling are faults in how the connection of a stream is closed so that the
// client polls.
func streamPolling() []Fault {
	onRetry := func(written []byte) apply {
		return combine(
			func(o *server.Options) { o.HTTP.PollAfter, o.HTTP.Retry = 30*time.Millisecond, time.Millisecond },
			onEventWhen(func(e server.Event) bool { return e.Retry > 0 },
				func(server.EventEncoder, server.Event) []byte { return written }))
	}
	return []Fault{
		{
			Name: "polled-without-retry", Does: "closes the connections of streams without a retry field",
			CaughtBy: []string{"streamable-http.stream.retry"},
			Apply:    onRetry(nil),
		},
		{
			Name:     "polled-with-invalid-retry",
			Does:     "closes the connections of streams with a retry field that is not a number",
			CaughtBy: []string{"streamable-http.stream.retry"},
			Apply:    onRetry([]byte("retry: soon\ndata:\n\n")),
		},
	}
}

// streamReplays are faults in what a resumed stream replays.
func streamReplays() []Fault {
	own, cursor := []string{"streamable-http.replay.own"}, []string{"streamable-http.replay.cursor"}
	return []Fault{
		{
			Name: "replays-all-streams", Does: "replays the events of all other streams on a resumed stream",
			CaughtBy: own,
			Apply: onReplay(func(_ *server.Stream, missed []server.Event, others []*server.Stream) []server.Event {
				for _, other := range others {
					missed = append(missed, other.Events()...)
				}
				return missed
			}),
		},
		{
			Name: "replays-another-stream", Does: "replays the events of another request on a resumed stream",
			CaughtBy: own,
			Apply: onReplay(func(_ *server.Stream, missed []server.Event, others []*server.Stream) []server.Event {
				for _, other := range slices.Backward(others) {
					if events := other.Events(); len(events) > 0 && events[0].Frame.Method == progressMethod {
						return append(events, missed...)
					}
				}
				return missed
			}),
		},
		{
			Name: "replays-later-responses", Does: "replays the responses of later requests on a resumed stream",
			CaughtBy: own,
			Apply: onReplay(func(s *server.Stream, missed []server.Event, others []*server.Stream) []server.Event {
				for _, other := range others {
					for _, e := range other.Events() {
						if len(other.Label) >= len(s.Label) && other.Label > s.Label && e.Frame.Kind == wire.Result {
							missed = append(missed, e)
						}
					}
				}
				return missed
			}),
		},
		{
			Name: "replays-from-the-start", Does: "replays all events of a resumed stream",
			CaughtBy: cursor,
			Apply: onReplay(func(s *server.Stream, _ []server.Event, _ []*server.Stream) []server.Event {
				return s.Events()
			}),
		},
		{
			Name: "replays-the-last-event", Does: "replays the event again that the client names",
			CaughtBy: cursor,
			Apply: onReplay(func(s *server.Stream, missed []server.Event, _ []*server.Stream) []server.Event {
				events := s.Events()
				return events[max(0, len(events)-len(missed)-1):]
			}),
		},
	}
}

// onReplay replays other events on a resumed stream.
func onReplay(replay server.Replayer) apply {
	return func(o *server.Options) {
		o.HTTP.Replay = func(server.Replayer) server.Replayer { return replay }
	}
}
