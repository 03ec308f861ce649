package fault

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// headerFields are faults in how header fields are compared.
func headerFields() []Fault {
	field := func(of httpMatcher, name string, isOdd func(value string) bool) httpMatcher {
		return allOf(of, func(r *http.Request) bool { return isOdd(r.Header.Get(name)) })
	}
	fault := func(name, does, caughtBy string, matches httpMatcher, status int) Fault {
		return newFault(name, does, "streamable-http."+caughtBy, respond(matches, status, "", ""))
	}
	hasParameter := func(value string) bool { return strings.Contains(value, ";") }
	hasUpperCase := func(value string) bool { return strings.ToLower(value) != value }
	isOther := func(value string) bool { return value != "text/event-stream" }
	hasLines := func(r *http.Request) bool { return isPost(r) && len(r.Header.Values("Accept")) > 1 }
	isJSONWithParameter := func(value string) bool {
		return strings.HasPrefix(value, "application/json") && hasParameter(value)
	}
	containsJSON := func(value string) bool { return strings.Contains(value, "=application/json") }
	return []Fault{
		fault("content-type-compared-whole", "refuses application/json with a charset", "content-type.forms",
			field(isPost, "Content-Type", isJSONWithParameter), http.StatusUnsupportedMediaType),
		fault("content-type-compared-with-case", "refuses a media type in upper case", "content-type.case",
			field(isPost, "Content-Type", func(value string) bool { return strings.HasPrefix(value, "Application/") }),
			http.StatusUnsupportedMediaType),
		newFault("content-type-searched", "accepts any media type that contains application/json",
			"streamable-http.content-type.compared", onHTTPRequest(field(isPost, "Content-Type", containsJSON),
				func(r *http.Request) { r.Header.Set("Content-Type", "application/json") })),
		fault("accept-compared-whole", "refuses media types with a weight", "accept.forms",
			field(isPost, "Accept", hasParameter), http.StatusNotAcceptable),
		fault("accept-without-spaces-refused", "refuses media types without a space between them", "accept.forms",
			field(isPost, "Accept", func(value string) bool { return strings.Contains(value, "json,text") }),
			http.StatusBadRequest),
		fault("accept-compared-with-case", "refuses media types in upper case", "accept.case",
			field(isPost, "Accept", hasUpperCase), http.StatusNotAcceptable),
		fault("accept-read-by-line", "reads one line of Accept alone", "accept.lines", hasLines,
			http.StatusNotAcceptable),
		fault("accept-of-get-compared-whole", "refuses a GET that accepts more than text/event-stream", "accept.get",
			field(isGet, "Accept", isOther), http.StatusNotAcceptable),
		{
			Name: "field-names-one-spelling", Does: "does not know a Content-Type whose name is in lower case",
			CaughtBy: []string{"streamable-http.field-names.case"},
			Apply: onConnectionBytes(func(b []byte) []byte {
				return bytes.Replace(b, []byte("\r\ncontent-type:"), []byte("\r\nx-content-type:"), 1)
			}),
		},
	}
}

// messagesRefused are faults in the answers to notifications and responses that need
// none.
func messagesRefused() []Fault {
	refused := func(name, does, caughtBy, method string) Fault {
		return newFault(name, does, "streamable-http.notification."+caughtBy,
			respond(posts(isMessage(wire.Notification, method)), http.StatusBadRequest, "", ""))
	}
	isUnrequested := posts(func(m wire.Message) bool {
		return m.IsResponse() && (m.ID().Raw == `"mcpcheck-none"` || m.ID().Raw == "-1")
	})
	return []Fault{
		refused("cancellation-refused", "refuses every cancellation with status 400", "cancelled",
			"notifications/cancelled"),
		refused("progress-refused", "refuses all progress with status 400", "progress", "notifications/progress"),
		newFault("roots-change-refused", "answers notifications/roots/list_changed with status 400",
			"streamable-http.notification.roots", replaceStatus(
				posts(isMessage(wire.Notification, "notifications/roots/list_changed")), http.StatusAccepted,
				http.StatusBadRequest)),
		newFault("response-answered-with-error", "answers a response that it did not request with an error",
			"streamable-http.response.unrequested", respond(isUnrequested, http.StatusOK, "application/json",
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"There is no such method"}}`)),
		newFault("null-result-answered-with-200", "answers a response whose result is null with status 200",
			"streamable-http.response.accepted", respond(posts(func(m wire.Message) bool {
				return m.Kind == wire.Result && m.Result().Raw == "null"
			}), http.StatusOK, "", "")),
		{
			Name: "get-unanswered", Does: "does not answer a GET",
			CaughtBy: []string{"streamable-http.get.answered"},
			In:       spec.Handshake,
			Apply: combine(withoutListChanged, whenHTTP(isGet,
				func(_ http.Handler, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })),
		},
		{
			Name: "events-with-empty-data", Does: "sends an event with empty data before each log message",
			CaughtBy: []string{"streamable-http.event.data.empty"},
			Apply:    onMessageEvent(isNotification(logMethod), writeEmptyEventBefore),
		},
	}
}

// writeEmptyEventBefore writes an event with empty data before another one.
func writeEmptyEventBefore(next server.EventEncoder, e server.Event) []byte {
	return append([]byte("data: \n\n"), next(e)...)
}
