package fault

import (
	"slices"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// streamRouteFaults are those of which stream carries what.
func streamRouteFaults() []Fault {
	related := []string{"streamable-http.stream.related", "streamable-http.stream.related.advised"}
	return []Fault{
		{
			Name: "progress-on-stream-of-another", Does: "reports the progress of a call on the stream of the one that came last",
			CaughtBy: related,
			Apply:    strayed,
		},
		{
			Name: "changes-on-another-subscription", Does: "tells of changes on the stream of another subscription than the one that they name",
			Breaks:   []string{"streamable-http-sse-server-messages-related"},
			CaughtBy: []string{"streamable-http.stream.related"},
			Apply:    swapped,
		},
		{
			Name: "progress-on-get", Does: "reports progress on the stream of a GET",
			CaughtBy: []string{"streamable-http.get.unrelated"},
			Apply:    onRoute(notifies(progressed), ontoGET(func(int64) bool { return true })),
		},
		{
			Name: "progress-partly-on-get", Does: "reports every other step of calls on the stream of a GET",
			CaughtBy: []string{"streamable-http.get.unrelated"},
			Apply:    onRoute(notifies(progressed), ontoGET(func(n int64) bool { return n%2 == 0 })),
		},
		{
			Name: "responses-on-get-too", Does: "sends lists of prompts on the stream of a GET too",
			CaughtBy: []string{"streamable-http.get.no-responses"},
			Also:     map[string]string{"jsonrpc.response.once": "the copy answers the request again"},
			Apply:    onRoute(answersTo("prompts/list"), copied),
		},
		{
			Name: "response-on-get", Does: "answers a call that logs on the stream of a GET, and ends its own without", In: withoutPolling(),
			CaughtBy: []string{"streamable-http.get.no-responses"},
			Also:     map[string]string{"streamable-http.stream.early-close": "the stream of the call ends without its response"},
			Apply:    onRoute(answersTool("read_desk_log"), ontoGET(func(int64) bool { return true })),
		},
		{
			Name: "progress-on-two-streams", Does: "reports progress on the stream of the call and on that of a GET",
			CaughtBy: []string{"streamable-http.message.once"},
			Apply:    onRoute(notifies(progressed), copied),
		},
		{
			Name: "requests-on-two-streams", Does: "sends its requests on the stream of the call and on that of a GET",
			CaughtBy: []string{"streamable-http.message.once"},
			Apply:    onRoute(func(f server.Frame) bool { return f.Kind == wire.Request }, copied),
		},
		{
			Name: "changes-broadcast", Does: "tells of changes on the streams of all GETs",
			CaughtBy: []string{"streamable-http.change.once"},
			Apply:    onRoute(func(f server.Frame) bool { return f.Kind == wire.Notification && f.Request == nil }, broadcast),
		},
		{
			Name: "changes-of-tools-broadcast", Does: "tells of changes of the tools on the streams of all GETs",
			CaughtBy: []string{"streamable-http.change.once"},
			Apply:    onRoute(notifies("notifications/tools/list_changed"), broadcast),
		},
	}
}

// copied puts a message on the newest stream of a GET as well.
func copied(next server.Router, f server.Frame, p server.Places) []*server.Stream {
	on := slices.Clone(next(f, p))
	for _, s := range listening(p) {
		if !slices.Contains(on, s) {
			on = append(on, s)
		}
	}
	return on
}

// broadcast puts a message on the streams of all GETs.
func broadcast(next server.Router, f server.Frame, p server.Places) []*server.Stream {
	if len(p.Standing) == 0 {
		return next(f, p)
	}
	return p.Standing
}

// ontoGET puts those of the messages whose number fits on the newest stream of a GET.
func ontoGET(fits func(n int64) bool) func(next server.Router, f server.Frame, p server.Places) []*server.Stream {
	var n atomic.Int64
	return func(next server.Router, f server.Frame, p server.Places) []*server.Stream {
		if to := listening(p); len(to) > 0 && fits(n.Add(1)) {
			return to
		}
		return next(f, p)
	}
}

// strayed puts reports on progress on the stream of the newest other call.
func strayed(o *server.Options) {
	r := &roster{}
	onRoute(func(f server.Frame) bool { return f.Request != nil && f.Request.Method == "tools/call" }, func(next server.Router, f server.Frame, p server.Places) []*server.Stream {
		r.note(f, p.Own)
		if f.Method != progressed || p.Own == nil {
			return next(f, p)
		}
		other := r.other(f.Request, func(*server.Request) bool { return true })
		if other == nil || other.Session != p.Own.Session {
			return next(f, p)
		}
		return []*server.Stream{other}
	})(o)
}

// swapped puts changes on the stream of the newest other subscription.
func swapped(o *server.Options) {
	r := &roster{}
	onRoute(func(f server.Frame) bool { return f.Request != nil && f.Request.Method == listen }, func(next server.Router, f server.Frame, p server.Places) []*server.Stream {
		r.note(f, p.Own)
		if other := r.other(f.Request, func(*server.Request) bool { return true }); other != nil && f.Kind == wire.Notification && f.Method != acknowledged {
			return []*server.Stream{other}
		}
		return next(f, p)
	})(o)
}
