package fault

import (
	"slices"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// streamRoutes are faults in which stream a message is sent on.
func streamRoutes() []Fault {
	always := func(int64) bool { return true }
	return []Fault{
		{
			Name:     "progress-on-stream-of-another",
			Does:     "reports the progress of a call on the stream of the newest other call",
			CaughtBy: []string{"streamable-http.stream.related", "streamable-http.stream.related.advised"},
			Apply:    misrouteProgress,
		},
		{
			Name:     "changes-on-another-subscription",
			Does:     "sends notifications of changes on the stream of a subscription that they do not name",
			Breaks:   []string{"streamable-http-sse-server-messages-related"},
			CaughtBy: []string{"streamable-http.stream.related"},
			Apply:    misrouteChanges,
		},
		{
			Name: "progress-on-get", Does: "reports progress on the stream of a GET",
			CaughtBy: []string{"streamable-http.get.unrelated"},
			Apply:    onRoute(isNotification(progressMethod), moveToGet(always)),
		},
		{
			Name: "progress-partly-on-get", Does: "sends every second report of progress on the stream of a GET",
			CaughtBy: []string{"streamable-http.get.unrelated"},
			Apply:    onRoute(isNotification(progressMethod), moveToGet(func(n int64) bool { return n%2 == 0 })),
		},
		{
			Name: "responses-on-get-too", Does: "sends lists of prompts on the stream of a GET as well",
			CaughtBy: []string{"streamable-http.get.no-responses"},
			Also:     map[string]string{"jsonrpc.response.once": "the copy answers the request again"},
			Apply:    onRoute(isResultOf("prompts/list"), copyToGet),
		},
		{
			Name:     "response-on-get",
			Does:     "answers a call on the stream of a GET, and ends the stream of the call without a response",
			In:       spec.Between(spec.V2025_03_26, spec.V2025_06_18),
			CaughtBy: []string{"streamable-http.get.no-responses"},
			Also:     map[string]string{"streamable-http.stream.early-close": "the stream of the call has no response"},
			Apply:    onRoute(isResponseWhen(isCall("read_desk_log")), moveToGet(always)),
		},
	}
}

// streamCopies are faults in which one message is sent on several streams.
func streamCopies() []Fault {
	isChange := func(f server.Frame) bool { return f.Kind == wire.Notification && f.Request == nil }
	return []Fault{
		{
			Name: "progress-on-two-streams", Does: "reports progress on the stream of the call and on that of a GET",
			CaughtBy: []string{"streamable-http.message.once"},
			Apply:    onRoute(isNotification(progressMethod), copyToGet),
		},
		{
			Name: "requests-on-two-streams", Does: "sends its requests on the stream of the call and on that of a GET",
			CaughtBy: []string{"streamable-http.message.once"},
			Apply:    onRoute(isKind(wire.Request), copyToGet),
		},
		{
			Name: "changes-broadcast", Does: "sends notifications of changes on the streams of all GETs",
			CaughtBy: []string{"streamable-http.change.once"},
			Apply:    onRoute(isChange, broadcast),
		},
		{
			Name:     "changes-of-tools-broadcast",
			Does:     "sends notifications of changes of tools on the streams of all GETs",
			CaughtBy: []string{"streamable-http.change.once"},
			Apply:    onRoute(isNotification("notifications/tools/list_changed"), broadcast),
		},
	}
}

// copyToGet sends a message on the newest stream of a GET as well.
func copyToGet(next server.Router, f server.Frame, p server.OpenStreams) []*server.Stream {
	on := slices.Clone(next(f, p))
	for _, s := range newestGetStream(p) {
		if !slices.Contains(on, s) {
			on = append(on, s)
		}
	}
	return on
}

// broadcast sends a message on the streams of all GETs.
func broadcast(next server.Router, f server.Frame, p server.OpenStreams) []*server.Stream {
	if len(p.GetStreams) == 0 {
		return next(f, p)
	}
	return p.GetStreams
}

// moveToGet sends the messages whose number matches on the newest stream of a GET.
func moveToGet(matches func(n int64) bool) router {
	var n atomic.Int64
	return func(next server.Router, f server.Frame, p server.OpenStreams) []*server.Stream {
		if to := newestGetStream(p); len(to) > 0 && matches(n.Add(1)) {
			return to
		}
		return next(f, p)
	}
}

// anyRequest matches all requests.
func anyRequest(*server.Request) bool { return true }

// isAbout matches messages that belong to a request of the method.
func isAbout(method string) frameMatcher {
	return func(f server.Frame) bool { return f.Request != nil && f.Request.Method == method }
}

// misrouteProgress sends reports of progress on the stream of the newest other call
// of the session.
func misrouteProgress(o *server.Options) {
	streams := &openStreams{}
	onRoute(isAbout("tools/call"), func(next server.Router, f server.Frame, p server.OpenStreams) []*server.Stream {
		streams.note(f, p.Own)
		if f.Method != progressMethod || p.Own == nil {
			return next(f, p)
		}
		other := streams.newestOther(f.Request, anyRequest)
		if other == nil || other.Session != p.Own.Session {
			return next(f, p)
		}
		return []*server.Stream{other}
	})(o)
}

// misrouteChanges sends notifications of changes on the stream of the newest other
// subscription.
func misrouteChanges(o *server.Options) {
	streams := &openStreams{}
	onRoute(isAbout(listenMethod), func(next server.Router, f server.Frame, p server.OpenStreams) []*server.Stream {
		streams.note(f, p.Own)
		other := streams.newestOther(f.Request, anyRequest)
		if other == nil || f.Kind != wire.Notification || f.Method == acknowledgedMethod {
			return next(f, p)
		}
		return []*server.Stream{other}
	})(o)
}

// streamDisconnects are faults in what follows when the connection of a stream is
// lost.
func streamDisconnects() []Fault {
	kept := []string{"streamable-http.stream.disconnect"}
	return []Fault{
		{
			Name: "disconnect-cancels", Does: "cancels the requests of a lost connection",
			CaughtBy: kept,
			Apply: func(o *server.Options) {
				o.HTTP.Disconnect = func(server.DisconnectHandler) server.DisconnectHandler {
					return func(_ bool, cancel func()) { cancel() }
				}
			},
		},
		{
			Name: "disconnect-fails-the-call", Does: "fails a call whose connection was lost",
			CaughtBy: kept,
			Apply:    failLostCalls,
		},
	}
}

// failLostCalls turns the next result of stocktake into a failure after a client of a
// session has left.
func failLostCalls(o *server.Options) {
	var lost atomic.Bool
	o.HTTP.Disconnect = func(next server.DisconnectHandler) server.DisconnectHandler {
		return func(stateless bool, cancel func()) {
			lost.Store(lost.Load() || !stateless)
			next(stateless, cancel)
		}
	}
	onCall("stocktake", func(result server.Object) {
		if lost.CompareAndSwap(true, false) {
			result["isError"] = true
		}
	})(o)
}
