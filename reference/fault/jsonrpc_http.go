package fault

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// jsonrpcHTTP are faults over streamable HTTP: a status or a body that says
// something other than the message should, or nothing.
func jsonrpcHTTP() []Fault {
	out := append(httpInvalidJSON(), httpInvalidRequests()...)
	return append(append(out, httpInvalidErrors()...), httpErrorCodes()...)
}

// postsInvalidJSON matches POSTs of what is not JSON, unless it begins an array.
var postsInvalidJSON = posts(func(m wire.Message) bool {
	return m.SyntaxError != nil && !bytes.HasPrefix(m.Raw, []byte("["))
})

// httpInvalidJSON are faults in the answer to what is not JSON.
func httpInvalidJSON() []Fault {
	invalid := func(name, does string, in spec.Set, status int, mediaType, body string) Fault {
		return Fault{
			Name: name, Does: does, In: in,
			CaughtBy: []string{"jsonrpc.parse-error"},
			Apply:    respond(postsInvalidJSON, status, mediaType, body),
		}
	}
	return []Fault{
		invalid("http-invalid-json-accepted", "accepts what is not JSON with status 202", 0, http.StatusAccepted, "",
			""),
		invalid("http-invalid-json-empty", "answers what is not JSON with status 200 and an empty body", 0,
			http.StatusOK,
			"", ""),
		{
			Name: "http-invalid-json-fails", Does: "answers what is not JSON, arrays too, with status 500",
			In: spec.Handshake, CaughtBy: []string{"jsonrpc.parse-error"},
			Apply: respond(posts(func(m wire.Message) bool { return m.SyntaxError != nil }),
				http.StatusInternalServerError, "", ""),
		},
		invalid("http-invalid-json-page", "answers what is not JSON with status 501 and a page", spec.Handshake,
			http.StatusNotImplemented, "text/html", "<h1>Not implemented</h1>"),
		invalid("http-invalid-json-code", "refuses what is not JSON with status 400 and error -32603", 0,
			http.StatusBadRequest, "application/json",
			`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"}}`),
	}
}

// httpInvalidRequests are faults in the answer to JSON that is not a valid request,
// or whose method is unknown.
func httpInvalidRequests() []Fault {
	withoutVersion := posts(func(m wire.Message) bool {
		return m.SyntaxError == nil && m.Kind != wire.Batch && m.ID().IsPresent() && !m.Get("jsonrpc").Exists()
	})
	methodIsNumber := posts(func(m wire.Message) bool { return m.ID().IsPresent() && m.Get("method").Raw == "5" })
	unknownMethod := posts(func(m wire.Message) bool {
		return m.Kind == wire.Request && strings.HasPrefix(m.Method(), "mcpcheck/") &&
			!strings.HasPrefix(m.ID().Raw, `"`)
	})
	return []Fault{
		{
			Name:     "http-request-unversioned-accepted",
			Does:     "accepts a request without jsonrpc with status 202 and does not answer it",
			CaughtBy: []string{"jsonrpc.request.invalid"},
			Apply:    respond(withoutVersion, http.StatusAccepted, "", ""),
		},
		{
			Name: "http-request-unversioned-fails", Does: "answers a request without jsonrpc with status 500",
			CaughtBy: []string{"jsonrpc.request.invalid"},
			Apply:    respond(withoutVersion, http.StatusInternalServerError, "", ""),
		},
		{
			Name: "http-method-number-fails", Does: "answers a request whose method is a number with status 500",
			CaughtBy: []string{"jsonrpc.request.invalid"},
			Apply:    respond(methodIsNumber, http.StatusInternalServerError, "", ""),
		},
		{
			Name:     "http-unknown-method-without-error",
			Does:     "refuses an unknown method with status 400 and no error, where the id is a number",
			In:       spec.Handshake,
			CaughtBy: []string{"jsonrpc.method.unknown"},
			Apply:    respond(unknownMethod, http.StatusBadRequest, "", ""),
		},
	}
}

// httpInvalidErrors refuse what is not JSON with status 400, as they should, and
// with an invalid error.
func httpInvalidErrors() []Fault {
	refused := func(name, does, caughtBy, body string) Fault {
		return newFault(name, does, caughtBy,
			respond(postsInvalidJSON, http.StatusBadRequest, "application/json", body))
	}
	codeAsText := refused("http-refusal-code-text", "refuses what is not JSON with an error whose code is a string",
		"jsonrpc.error.code.integer",
		`{"jsonrpc":"2.0","error":{"code":"-32700","message":"Not JSON"}}`)
	codeAsText.Also = map[string]string{"jsonrpc.parse-error": "a string is not the code -32700"}
	return []Fault{
		refused("http-refusal-id-made-up", "gives the error that refuses what is not JSON an id",
			"jsonrpc.error.id.unreadable",
			`{"jsonrpc":"2.0","id":"server-1","error":{"code":-32700,"message":"Not JSON"}}`),
		refused("http-refusal-trace", "puts a stack trace into the error that refuses what is not JSON",
			"jsonrpc.error.message.concise",
			`{"jsonrpc":"2.0","error":{"code":-32700,`+
				`"message":"Not JSON\n  at parse (parse.js:1)\n  at serve (serve.js:7)"}}`),
		refused("http-refusal-old", "refuses what is not JSON with an error of JSON-RPC 1.0", "jsonrpc.version",
			`{"jsonrpc":"1.0","error":{"code":-32700,"message":"Not JSON"}}`),
		refused("http-refusal-without-message", "refuses what is not JSON with an error without a message",
			"jsonrpc.error.members",
			`{"jsonrpc":"2.0","error":{"code":-32700}}`),
		codeAsText,
	}
}

// httpErrorCodes are faults of the stateless era that show over HTTP.
func httpErrorCodes() []Fault {
	return []Fault{
		{
			Name: "http-latin1", Does: "writes log messages in Latin-1",
			CaughtBy: []string{"jsonrpc.utf8"},
			Apply: onMessageEvent(isNotification(logMethod), func(next server.EventEncoder, e server.Event) []byte {
				return bytes.Replace(next(e), []byte(`"params":{`), []byte("\"params\":{\"place\":\"caf\xe9\","), 1)
			}),
		},
		{
			Name: "request-on-a-stream", Does: "sends a request on the stream of a call",
			Breaks:   []string{"streamable-http-no-server-requests"},
			CaughtBy: []string{"jsonrpc.request.none"},
			Apply: beforeAnswerWhen(isCall("stocktake"), func(r *server.Request) {
				const method = "sampling/createMessage"
				const params = `{"messages":[],"maxTokens":5}`
				f := frameOf(`{"jsonrpc":"2.0","id":"server-%x","method":%q,"params":%s}`, r.ID.Raw, method, params)
				f.Kind, f.Method, f.Request = wire.Request, method, r
				r.Send(f)
			}),
		},
		{
			Name: "bad-cursor-is-header-mismatch", Does: "answers an invalid cursor with error -32020",
			CaughtBy: []string{"jsonrpc.code.mcp.meaning"},
			Also:     map[string]string{"pagination.cursor.invalid": "the code for an invalid cursor is another"},
			Apply: recode("", func(r *server.Request, e *server.Error) bool {
				isList := strings.HasSuffix(r.Method, "/list") && metaOf(r) != nil
				return isList && r.Params["cursor"] != nil && e.Code == spec.InvalidParams
			}, spec.HeaderMismatch),
		},
		{
			Name: "unknown-prompt-is-header-mismatch", Does: "answers for an unknown prompt with error -32020",
			CaughtBy: []string{"jsonrpc.code.mcp.meaning"},
			Also:     map[string]string{"prompts.get.unknown": "the code for an unknown prompt is another"},
			Apply: recode("prompts/get", func(_ *server.Request, e *server.Error) bool {
				return e.Code == spec.InvalidParams && strings.Contains(e.Message, "nknown prompt")
			}, spec.HeaderMismatch),
		},
	}
}
