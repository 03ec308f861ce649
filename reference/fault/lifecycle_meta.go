package fault

import (
	"context"
	"maps"
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// lifecycleMeta are faults of the fields in which a stateless request describes
// itself.
func lifecycleMeta() []Fault {
	return []Fault{
		{
			Name: "server-info-missing", Does: "leaves its identity out of the _meta of results",
			CaughtBy: []string{"lifecycle.server-info.present"},
			Apply: onResult("", func(o server.Object) {
				if meta, ok := o["_meta"].(server.Object); ok {
					delete(meta, spec.MetaServerInfo)
				}
			}),
		},
		{
			Name: "capabilities-by-client-name", Does: "declares prompts only to clients of one name",
			CaughtBy: []string{"schema.identity.ignored"},
			Apply: onResultWhen(isMethod("server/discover"), func(r *server.Request, result server.Object) {
				if info, ok := metaOf(r)[spec.MetaClientInfo].(server.Object); ok && info["name"] != "mcpcheck" {
					delete(result["capabilities"].(server.Object), "prompts")
				}
			}),
		},
		{
			Name:     "capabilities-remembered",
			Does:     "takes the client capabilities that a request lacks from the request before it",
			CaughtBy: []string{"schema.request-meta.capabilities"},
			Apply: onMetaAfter(func(now, before server.Object) {
				if now[spec.MetaClientCapabilities] == nil && before[spec.MetaClientCapabilities] != nil {
					now[spec.MetaClientCapabilities] = before[spec.MetaClientCapabilities]
				}
			}),
		},
		{
			Name: "meta-version-assumed", Does: "serves a request without a version in the only revision that it speaks",
			CaughtBy: []string{"schema.request-meta.version"},
			Apply: combine(statelessOnly, onRequest("server/discover", func(r *server.Request) {
				if metaOf(r)[spec.MetaProtocolVersion] == nil {
					r.Params["_meta"] = server.Object{
						spec.MetaProtocolVersion:    string(spec.V2026_07_28),
						spec.MetaClientCapabilities: server.Object{},
					}
				}
			})),
		},
		{
			Name: "client-info-required", Does: "refuses requests without clientInfo",
			CaughtBy: []string{"schema.request-meta.optional"},
			Apply: answerWhen(func(r *server.Request) bool {
				return r.Stateless && metaOf(r)[spec.MetaClientInfo] == nil
			},
				failWith(spec.InvalidParams, "clientInfo is missing")),
		},
	}
}

// onMetaAfter changes the _meta of each request that has one; before holds the
// last value of each key on the connection.
func onMetaAfter(edit func(now, before server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		var mu sync.Mutex
		before := server.Object{}
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if now := metaOf(r); now != nil && r.Stateless {
				mu.Lock()
				edit(now, before)
				maps.Copy(before, now)
				mu.Unlock()
			}
			return next(ctx, r)
		}
	})
}

// lifecycleHTTP are faults of the lifecycle over streamable HTTP.
func lifecycleHTTP() []Fault {
	withoutParams := posts(func(m wire.Message) bool { return m.Method() == "initialize" && !m.Params().Exists() })
	withoutClientInfo := posts(func(m wire.Message) bool {
		return m.Method() == "initialize" && m.Params().Exists() && !m.Params().Get("clientInfo").Exists()
	})
	status := func(name, does, caughtBy string, code, status int) Fault {
		return Fault{
			Name: name, Does: does, CaughtBy: []string{caughtBy},
			Apply: onHTTPError(code, anyPosted, withStatus(status)),
		}
	}
	return []Fault{
		{
			Name: "http-initialize-without-params-accepted", Does: "accepts initialize without params with status 202",
			CaughtBy: []string{"lifecycle.initialize.params"},
			Apply:    respond(withoutParams, http.StatusAccepted, "", ""),
		},
		{
			Name:     "http-initialize-without-client-info-fails",
			Does:     "answers initialize without clientInfo with status 500",
			CaughtBy: []string{"lifecycle.initialize.params"},
			Apply:    respond(withoutClientInfo, http.StatusInternalServerError, "", ""),
		},
		status("incomplete-meta-is-200", "refuses a request without client capabilities with status 200",
			"streamable-http.status.meta", spec.InvalidParams, http.StatusOK),
		status("incomplete-meta-is-422", "refuses a request without client capabilities with status 422",
			"streamable-http.status.meta", spec.InvalidParams, http.StatusUnprocessableEntity),
		status("lacking-capability-is-200", "refuses a request that lacks a client capability with status 200",
			"streamable-http.status.capabilities", spec.MissingClientCapability, http.StatusOK),
		status("lacking-capability-is-404", "refuses a request that lacks a client capability with status 404",
			"streamable-http.status.capabilities", spec.MissingClientCapability, http.StatusNotFound),
		{
			Name:     "disconnect-ends-all-sessions",
			Does:     "forgets all sessions when a client closes its connections without ending its session",
			CaughtBy: []string{"streamable-http.connections.closed"},
			Apply:    forgetSessions,
		},
	}
}

// anyPosted matches all POSTs.
func anyPosted(*http.Request, wire.Message) bool { return true }

// A sessionUse is what forgetSessions knows of a session.
type sessionUse struct {
	served  bool // a request other than initialize came
	streams int  // open streams of GETs
	left    bool // its client was served and closed its last stream
}

// forgetSessions answers every session with status 404 once a client that was
// served has closed its last stream of a GET without ending its session, and a
// request of another session has come.
func forgetSessions(o *server.Options) {
	var mu sync.Mutex
	known := map[string]*sessionUse{}
	forgotten := map[string]bool{}
	// begin notes a request of a session, and reports whether the session is forgotten.
	begin := func(id string, r *http.Request, m wire.Message) bool {
		mu.Lock()
		defer mu.Unlock()
		if known[id] == nil {
			known[id] = &sessionUse{}
		}
		use := known[id]
		use.served = use.served || m.Kind == wire.Request && m.Method() != "initialize"
		switch r.Method {
		case http.MethodDelete:
			delete(known, id)
		case http.MethodGet:
			use.streams++
		}
		for other, of := range known {
			if other != id && of.left {
				forgotten[other], forgotten[id] = true, id != ""
			}
		}
		return forgotten[id]
	}
	end := func(id string) {
		mu.Lock()
		defer mu.Unlock()
		if use := known[id]; use != nil {
			use.streams--
			use.left = use.streams == 0 && use.served
		}
	}
	onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get(sessionField)
			m, _ := posted(r)
			if begin(id, r, m) {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
			if r.Method == http.MethodGet {
				end(id)
			}
		})
	})(o)
}
