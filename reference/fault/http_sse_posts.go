package fault

import (
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// ssePosts are faults in which messages the server refuses.
func ssePosts() []Fault {
	hasType := func(isOdd func(value string) bool) httpMatcher {
		return allOf(atPath(ssePostPath), func(r *http.Request) bool { return isOdd(r.Header.Get("Content-Type")) })
	}
	begins := func(beginning string) httpMatcher {
		return hasType(func(value string) bool { return strings.HasPrefix(value, beginning) })
	}
	refused := func(name, does, caughtBy string, matches httpMatcher, status int) Fault {
		return newFault(name, does, "http-sse."+caughtBy, respond(matches, status, "", ""))
	}
	isPosted := func(method string) httpMatcher {
		return allOf(atPath(ssePostPath), posts(isMessage(wire.Notification, method)))
	}
	return []Fault{
		refused("sse-content-type-compared-whole", "refuses application/json with a charset", "content-type.forms",
			begins("application/json;"), http.StatusUnsupportedMediaType),
		refused("sse-content-type-compared-with-case", "refuses a media type in upper case", "content-type.case",
			begins("Application/"), http.StatusUnsupportedMediaType),
		newFault("sse-content-type-searched", "accepts any media type that contains application/json",
			"http-sse.content-type.compared", onHTTPRequest(begins("text/plain; x=application/json"),
				func(r *http.Request) { r.Header.Set("Content-Type", "application/json") })),
		refused("sse-cancellation-refused", "refuses every cancellation with status 400", "notification.cancelled",
			isPosted("notifications/cancelled"), http.StatusBadRequest),
		refused("sse-progress-refused", "refuses all progress with status 400", "notification.progress",
			isPosted("notifications/progress"), http.StatusBadRequest),
	}
}
