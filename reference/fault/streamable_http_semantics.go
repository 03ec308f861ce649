package fault

import (
	"net/http"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// streamableSemantics are faults in what RFC 9110 and browsers require.
func streamableSemantics() []Fault {
	isPreflight := func(r *http.Request) bool { return r.Method == http.MethodOptions }
	return []Fault{
		{
			Name: "deaf-after-odd-target", Does: "serves nothing in a session after a request of the target //",
			In: spec.Handshake, CaughtBy: []string{"streamable-http.target.survived"},
			Apply: failSessionsAfter(func(r *http.Request) bool { return r.RequestURI == "//" }),
		},
		newFault("chunks-refused", "refuses a body that comes in chunks with status 411", "streamable-http.body.forms",
			respond(func(r *http.Request) bool { return slices.Contains(r.TransferEncoding, "chunked") },
				http.StatusLengthRequired, "", "")),
		{
			Name: "deaf-after-empty-body", Does: "serves nothing in a session after a POST without a body",
			In: spec.Handshake, CaughtBy: []string{"streamable-http.body.empty.survived"},
			Apply: failSessionsAfter(func(r *http.Request) bool { return isPost(r) && r.ContentLength == 0 }),
		},
		newFault("delete-fails", "ends sessions and answers with status 500", "streamable-http.session.delete.answered",
			onHead(isDelete, func(_ *http.Request, status int, _ http.Header) int {
				if status < 300 {
					return http.StatusInternalServerError
				}
				return status
			})),
		newFault("deaf-after-unknown-event", "serves nothing in a session after a GET that names an unknown event",
			"streamable-http.replay.unknown", failSessionsAfter(func(r *http.Request) bool {
				return r.Header.Get(eventIDField) == "mcpcheck-unknown"
			})),
		newFault("preflight-without-version", "allows pages of other sites all header fields but that of the version",
			"streamable-http.cors.fields",
			whenHTTP(isPreflight, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Access-Control-Allow-Origin", "*")
				w.Header().Set("Access-Control-Allow-Headers", "accept, mcp-session-id, mcp-method, mcp-name")
				w.WriteHeader(http.StatusNoContent)
			})),
		newFault("session-id-hidden", "lets pages of other sites read its answers, but not the session id",
			"streamable-http.cors.session", onHeader(posts(isMessage(wire.Request, "initialize")), func(h http.Header) {
				h.Set("Access-Control-Allow-Origin", "*")
			})),
		newFault("answers-with-201", "answers tools/list with status 201", "streamable-http.answer.status",
			replaceStatus(posts(isMessage(wire.Request, "tools/list")), http.StatusOK, http.StatusCreated)),
	}
}

// failSessionsAfter answers what names the session of a request that matches with status
// 500 after it.
func failSessionsAfter(matches httpMatcher) apply {
	var failed sync.Map
	return whenHTTP(anyHTTP, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(sessionField)
		if _, hasFailed := failed.Load(id); hasFailed && id != "" {
			http.Error(w, "The session has failed", http.StatusInternalServerError)
			return
		}
		if matches(r) {
			failed.Store(id, true)
		}
		next.ServeHTTP(w, r)
	})
}
