package fault

import (
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// httpEndpoint are the faults of basic/transports#streamable-http itself.
func httpEndpoint() []Fault {
	return []Fault{
		{
			Name: "get-on-another-path", Does: "knows no GET on the path that takes POST, and declares nothing that takes it", In: sessions, Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.endpoint"},
			Apply: all(undeclaredChanges, whenHTTP(by(http.MethodGet), func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
				http.NotFound(w, r)
			})),
		},
		{
			Name: "answers-kept-by-id", Does: "gives a request whose id is text the answer that one of that id got before, of whichever client", Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.clients"},
			Apply:    answersKept(),
		},
		{
			Name: "listens-on-another-address", Does: "listens on another address than 127.0.0.1 too", Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.bind.loopback"},
			Apply: func(o *server.Options) {
				if other, ok := server.Beside(); ok {
					o.HTTP.Also = append(o.HTTP.Also, other.String())
				}
			},
		},
	}
}

// undeclaredChanges has the server declare nothing of which it would tell on its
// own.
func undeclaredChanges(o *server.Options) {
	inner := o.Library
	o.Library = func(l *server.Library) {
		if inner != nil {
			inner(l)
		}
		for _, name := range []string{"prompts", "resources", "tools"} {
			l.Capabilities[name] = server.Object{}
		}
	}
}

// answersKept answers from what was said to a request of the same id, where that
// is text.
func answersKept() apply {
	return onHTTP(func(next http.Handler) http.Handler {
		var mu sync.Mutex
		kept := map[string]*whole{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, ok := posted(r)
			if id := m.ID().Key(); ok && m.Kind == wire.Request && len(m.ID().Raw) > 0 && m.ID().Raw[0] == '"' {
				mu.Lock()
				defer mu.Unlock()
				if kept[id] == nil {
					kept[id] = answerOf(next, r)
				}
				kept[id].send(w)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
}
