package fault

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// httpRows are faults over streamable HTTP of what holds on every transport: a
// status or a body that says something else than the message, or nothing.
func httpRows() []Fault {
	return slices.Concat(httpUnreadable(), httpRefusals(), httpBatches(), httpOpenings(), httpRequests())
}

// overHTTP is a fault over streamable HTTP.
func overHTTP(name, does string, in spec.Set, breaks, caughtBy string, apply apply) Fault {
	return Fault{
		Name: name, Does: does, In: in, Over: transport.HTTP,
		Breaks: []string{breaks}, CaughtBy: []string{caughtBy}, Apply: apply,
	}
}

// also names another check that the deviation must set off.
func (f Fault) also(id, why string) Fault {
	f.Also = maps.Clone(f.Also)
	if f.Also == nil {
		f.Also = map[string]string{}
	}
	f.Also[id] = why
	return f
}

// modernHTTP are the revisions that have streamable HTTP.
var modernHTTP = spec.Since(spec.V2025_03_26)

// says fits POSTs by the message in them.
func says(what func(m wire.Message) bool) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		m, ok := posted(r)
		return ok && what(m)
	}
}

// unreadable fits POSTs of what is not JSON, and no batch either.
var unreadable = says(func(m wire.Message) bool { return m.Fault != nil && !bytes.HasPrefix(m.Raw, []byte("[")) })

// told answers requests that fit in another way: with a status, and a body as
// JSON where there is one.
func told(fits func(r *http.Request) bool, status int, body string) apply {
	return whenHTTP(fits, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		if body != "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // who cannot be written to has left
	})
}

// httpUnreadable answer what is not JSON, or no request, by the wrong status.
func httpUnreadable() []Fault {
	const row, by = "jsonrpc-parse-error", "jsonrpc.parse-error"
	const invalid, byInvalid = "jsonrpc-invalid-request", "jsonrpc.request.invalid"
	noVersion := says(func(m wire.Message) bool {
		return m.Fault == nil && m.Kind != wire.Batch && m.ID().Present() && !m.Get("jsonrpc").Exists()
	})
	noMethod := says(func(m wire.Message) bool { return m.ID().Present() && m.Get("method").Raw == "5" })
	return []Fault{
		overHTTP("http-garbage-accepted", "accepts what is not JSON with status 202", modernHTTP, row, by, told(unreadable, http.StatusAccepted, "")),
		overHTTP("http-garbage-empty", "answers what is not JSON with status 200 and nothing", modernHTTP, row, by, told(unreadable, http.StatusOK, "")),
		overHTTP("http-garbage-fails", "answers what is not JSON with status 500", modernHTTP&spec.Handshake, row, by, told(unreadable, http.StatusInternalServerError, "")),
		overHTTP("http-garbage-page", "answers what is not JSON with status 501 and a page", modernHTTP&spec.Handshake, row, by,
			whenHTTP(unreadable, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusNotImplemented)
				_, _ = io.WriteString(w, "<h1>The desk is closed</h1>") // who cannot be written to has left
			})),
		overHTTP("http-garbage-code", "refuses what is not JSON with status 400 and error -32603", modernHTTP, row, by,
			told(unreadable, http.StatusBadRequest, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"The desk failed"}}`)),
		overHTTP("http-request-unversioned-accepted", "accepts a request without jsonrpc with status 202 and answers it by nothing", modernHTTP, invalid, byInvalid, told(noVersion, http.StatusAccepted, "")),
		overHTTP("http-request-unversioned-fails", "answers a request without jsonrpc with status 500", modernHTTP, invalid, byInvalid, told(noVersion, http.StatusInternalServerError, "")),
		overHTTP("http-method-number-fails", "answers a request whose method is a number with status 500", modernHTTP, invalid, byInvalid, told(noMethod, http.StatusInternalServerError, "")),
	}
}

// httpRefusals refuse what is not JSON with status 400, as they should, and an
// error that is none.
func httpRefusals() []Fault {
	refused := func(name, does string, in spec.Set, breaks, caughtBy, body string) Fault {
		return overHTTP(name, does, in, breaks, caughtBy, told(unreadable, http.StatusBadRequest, body))
	}
	return []Fault{
		refused("http-refusal-id-made-up", "gives the error that refuses what is not JSON an id of its own", spec.Since(spec.V2025_03_26)&spec.Until(spec.V2025_06_18),
			"jsonrpc-error-null-id-when-unreadable", "jsonrpc.error.id.unreadable",
			`{"jsonrpc":"2.0","id":"desk","error":{"code":-32700,"message":"Not JSON"}}`),
		refused("http-refusal-trace", "writes a stack trace into the error that refuses what is not JSON", modernHTTP,
			"jsonrpc-error-message-concise", "jsonrpc.error.message.concise",
			`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Not JSON\n  at desk (desk.js:1)\n  at door (door.js:7)"}}`),
		refused("http-refusal-old", "refuses what is not JSON with an error of JSON-RPC 1.0", modernHTTP,
			"jsonrpc-version-literal", "jsonrpc.version",
			`{"jsonrpc":"1.0","error":{"code":-32700,"message":"Not JSON"}}`),
		refused("http-refusal-wordless", "refuses what is not JSON with an error without message", modernHTTP,
			"jsonrpc-error-code-message", "jsonrpc.error.members",
			`{"jsonrpc":"2.0","error":{"code":-32700}}`),
		refused("http-refusal-code-text", "refuses what is not JSON with an error whose code is text", modernHTTP,
			"jsonrpc-error-code-integer", "jsonrpc.error.code.integer",
			`{"jsonrpc":"2.0","error":{"code":"-32700","message":"Not JSON"}}`).
			also("jsonrpc.parse-error", "a text is no code -32700"),
	}
}

// httpBatches answer arrays by the wrong status, in the revision that has
// batches.
func httpBatches() []Fault {
	only := spec.Only(spec.V2025_03_26)
	empty := says(func(m wire.Message) bool { return m.Kind == wire.Batch && len(m.Elements()) == 0 })
	truncated := says(func(m wire.Message) bool { return m.Fault != nil && bytes.HasPrefix(m.Raw, []byte("[")) })
	odd := says(func(m wire.Message) bool {
		return m.Kind == wire.Batch && bytes.HasPrefix(m.Raw, []byte("[1,"))
	})
	requests := says(func(m wire.Message) bool {
		return m.Kind == wire.Batch && slices.ContainsFunc(m.Elements(), func(e wire.Message) bool { return e.Kind == wire.Request })
	})
	return []Fault{
		overHTTP("http-empty-batch-accepted", "accepts an empty array with status 202", only, "batching-empty-array", "batching.empty", told(empty, http.StatusAccepted, "")),
		overHTTP("http-empty-batch-fails", "answers an empty array with status 500", only, "batching-empty-array", "batching.empty", told(empty, http.StatusInternalServerError, "")),
		overHTTP("http-truncated-batch-accepted", "accepts an array that breaks off with status 202", only, "batching-invalid-json", "batching.parse-error", told(truncated, http.StatusAccepted, "")),
		overHTTP("http-odd-batch-accepted", "accepts an array that holds a number with status 202", only, "batching-invalid-elements", "batching.element.invalid", told(odd, http.StatusAccepted, "")),
		overHTTP("http-batch-refused", "refuses arrays of requests with status 400", only, "batching-receive", "batching.received", told(requests, http.StatusBadRequest, "")),
	}
}

// httpOpenings answer initialize by the wrong status.
func httpOpenings() []Fault {
	const row, by = "lifecycle-initialize-missing-params-rejected", "lifecycle.initialize.params"
	bare := says(func(m wire.Message) bool { return m.Method() == "initialize" && !m.Params().Exists() })
	nameless := says(func(m wire.Message) bool {
		return m.Method() == "initialize" && m.Params().Exists() && !m.Params().Get("clientInfo").Exists()
	})
	handshake := modernHTTP & spec.Handshake
	return []Fault{
		overHTTP("http-initialize-bare-accepted", "accepts initialize without params with status 202", handshake, row, by, told(bare, http.StatusAccepted, "")),
		overHTTP("http-initialize-nameless-fails", "answers initialize without clientInfo with status 500", handshake, row, by, told(nameless, http.StatusInternalServerError, "")),
		overHTTP("http-initialize-refused-as-success", "refuses initialize, which it does not know, with status 200", spec.Stateless,
			"versioning-modern-only-rejects-initialize", "versioning.initialize.refused",
			all(func(o *server.Options) { o.Revisions = spec.Stateless }, onStatus(posts(wire.Request, "initialize"), http.StatusBadRequest, http.StatusOK))),
	}
}

// httpRequests answer requests by a status in place of the message that is due,
// or spoil its bytes.
func httpRequests() []Fault {
	unknown := says(func(m wire.Message) bool {
		return m.Kind == wire.Request && strings.HasPrefix(m.Method(), "mcpcheck/") && !strings.HasPrefix(m.ID().Raw, `"`)
	})
	misfilled := says(func(m wire.Message) bool {
		return m.Method() == "completion/complete" && m.Params().Get("ref.type").Str == "ref/mcpcheck"
	})
	handshake := modernHTTP & spec.Handshake
	return []Fault{
		overHTTP("http-unknown-method-wordless", "refuses an unknown method with status 400 and no error, where the id is a number", handshake, "jsonrpc-method-not-found", "jsonrpc.method.unknown", told(unknown, http.StatusBadRequest, "")),
		overHTTP("http-completion-fails", "answers a completion for a reference that it does not know with status 500", modernHTTP, "completion-validate-inputs", "completion.inputs.survived", told(misfilled, http.StatusInternalServerError, "")),
		overHTTP("http-path-unsanitized", "reads any file whose path begins with that of the files that it offers", spec.Stateless, "resources-path-traversal", "resources.read.path", pathUnsanitized),
		overHTTP("http-latin1", "writes log messages in Latin-1", modernHTTP, "jsonrpc-utf8", "jsonrpc.utf8",
			onEventBytes(func(e server.Event, honest []byte) []byte {
				if e.Frame == nil || e.Frame.Method != "notifications/message" {
					return honest
				}
				return bytes.Replace(honest, []byte(`"params":{`), []byte("\"params\":{\"desk\":\"caf\xe9\","), 1)
			})),
	}
}
