package fault

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// sseClients are faults in how the messages of several clients are kept apart.
func sseClients() []Fault {
	newest := func(_ string, open []string) string {
		if len(open) == 0 {
			return ""
		}
		return open[len(open)-1]
	}
	newestForEnded := func(named string, open []string) string {
		if slices.Contains(open, named) {
			return ""
		}
		return newest(named, open)
	}
	// The ids of the session that checks share are numbers.
	hasStringID := posts(func(m wire.Message) bool {
		return m.Kind == wire.Request && strings.HasPrefix(m.ID().Raw, `"`)
	})
	return []Fault{
		{
			Name: "sse-one-client", Does: "takes every request with a string id for one of the newest connection",
			CaughtBy: []string{"http-sse.clients.apart"},
			Also: map[string]string{
				"http-sse.clients.ended":   "an ended connection is not the newest either",
				"http-sse.session.unknown": "an unknown connection is not the newest either",
			},
			Apply: redirectPosts(hasStringID, newest),
		},
		{
			Name: "sse-ended-session-taken-over", Does: "takes a message for an ended connection for one of the newest",
			CaughtBy: []string{"http-sse.clients.ended"},
			Also:     map[string]string{"http-sse.session.unknown": "an unknown connection is not open either"},
			Apply:    redirectPosts(anyHTTP, newestForEnded),
		},
	}
}

// redirectPosts gives messages that match to another connection: the one that choose
// returns of the open ones, oldest first; "" leaves the message where it is.
func redirectPosts(matches httpMatcher, choose func(named string, open []string) string) apply {
	return func(o *server.Options) {
		c := &sseConnections{}
		whenHTTP(atPath(ssePath), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			entry := &sseConnection{ResponseWriter: w, all: c}
			defer c.remove(entry)
			next.ServeHTTP(entry, r)
		})(o)
		onHTTPRequest(allOf(atPath(ssePostPath), matches), func(r *http.Request) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if id := choose(r.URL.Query().Get("session"), c.ids); id != "" {
				r.URL.RawQuery = url.Values{"session": {id}}.Encode()
			}
		})(o)
	}
}

// sseConnections are the open connections, oldest first, by the ids that their
// endpoint events name.
type sseConnections struct {
	mu  sync.Mutex
	ids []string
}

func (c *sseConnections) remove(entry *sseConnection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = slices.DeleteFunc(c.ids, func(id string) bool { return id == entry.id })
}

// An sseConnection finds its id in the first bytes of its stream.
type sseConnection struct {
	http.ResponseWriter
	all *sseConnections
	id  string
}

func (w *sseConnection) Write(b []byte) (int, error) {
	if _, id, ok := strings.Cut(string(b), "session="); ok && w.id == "" {
		w.id = strings.TrimSpace(id)
		w.all.mu.Lock()
		w.all.ids = append(w.all.ids, w.id)
		w.all.mu.Unlock()
	}
	return w.ResponseWriter.Write(b)
}

func (w *sseConnection) Unwrap() http.ResponseWriter { return w.ResponseWriter }
