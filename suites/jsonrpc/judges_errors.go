package jsonrpc

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// errorResponses are the judges of basic/index#error-responses and
// #error-codes.
func errorResponses() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.error.members",
			Says:  "the error of a response is an object with a code and a message",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-code-message"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					if m.Kind != wire.Error || m.Misfit != nil && m.Misfit.Member == "result" {
						continue
					}
					switch err := m.Error(); {
					case !err.IsObject():
						j.Fail(e, "error is %s, not an object", wire.TypeName(err))
					case !err.Get("code").Exists():
						j.Fail(e, "the error has no code")
					case !err.Get("message").Exists():
						j.Fail(e, "the error has no message")
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.error.code.integer",
			Says:  "the code of an error is an integer",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-code-integer"},
			Judge: func(j *check.J) {
				errorMember(j, "code", func(v gjson.Result) bool { return wire.IsInteger(v) }, "an integer")
			},
		},
		{
			ID:    "jsonrpc.error.message.string",
			Says:  "the message of an error is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-message-string"},
			Judge: func(j *check.J) {
				errorMember(j, "message", func(v gjson.Result) bool { return v.Type == gjson.String }, "a string")
			},
		},
		{
			ID:    "jsonrpc.error.message.concise",
			Says:  "the message of an error is one line of text",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-message-concise"},
			// errorMessageConcise objects to what cannot be one sentence: nothing, or
			// several lines.
			Judge: func(j *check.J) {
				for _, e := range transcript.ErrorResponses(j) {
					switch v := e.Message.Error().Get("message"); {
					case v.Type != gjson.String:
					case strings.TrimSpace(v.String()) == "":
						j.Fail(e, "the message of the error is empty")
					case strings.ContainsAny(strings.TrimSpace(v.String()), "\n\r"):
						j.Fail(e, "the message of the error has %d lines", strings.Count(strings.TrimSpace(v.String()), "\n")+1)
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.error.id",
			Says:  "an error for a request whose id could be read carries that id",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-has-id"},
			// errorHasID objects to an error without id where everything before it could
			// be read and a request before it stays without any answer: it is that one's.
			// One that comes with a failure status of HTTP says that a request was refused
			// before it was read as a message; its body may be an error without id
			// (basic/transports#sending-messages-to-the-server).
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					switch {
					case m.Kind != wire.Error:
					case m.ID().Present() && !m.ID().Null():
						j.Saw()
					case e.Refuses():
					case !j.Unreadable(e):
						if id, ok := unanswered(j, e); ok {
							j.Fail(e, "the error carries %s, and the request with id %s got no answer", m.ID(), id)
						}
					}
				}
			},
		},
		{
			ID:    "jsonrpc.error.id.unreadable",
			Says:  "an error for what could not be read has the id null, or none, but not one of its own making",
			Level: spec.Should,
			In:    spec.Until(spec.V2025_06_18),
			Rules: []string{"jsonrpc-error-null-id-when-unreadable"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					if m.Kind != wire.Error || !j.Unreadable(e) {
						continue
					}
					if !m.ID().Present() || m.ID().Null() {
						j.Saw()
					} else if !j.Asked(e) {
						j.Fail(e, "the error carries id %s, which was in nothing that was sent", wire.Clip(m.ID().String(), 80))
					}
				}
			},
		},
		{
			ID:    "jsonrpc.code.reserved",
			Says:  "of the codes that JSON-RPC reserves for itself only those that it defines are used",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"jsonrpc-reserved-error-codes"},
			Judge: func(j *check.J) {
				codes(j, "is reserved by JSON-RPC and not defined", func(code int) bool {
					return code >= -32768 && code <= -32100 && code != spec.ParseError && !(code >= -32603 && code <= -32600)
				})
			},
		},
		{
			ID:    "jsonrpc.code.legacy",
			Says:  "no code from -32000 to -32019 is used",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-code-legacy-range-avoid"},
			Judge: func(j *check.J) {
				codes(j, "is of the legacy range", func(code int) bool {
					return code >= -32019 && code <= -32000 && code != spec.LegacyResourceNotFound
				})
			},
		},
		{
			ID:    "jsonrpc.code.mcp.defined",
			Says:  "of the codes from -32020 to -32099 only those that the specification defines are used",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-code-mcp-range-defined-only"},
			Judge: func(j *check.J) {
				codes(j, "is of the range of the specification, which does not define it", func(code int) bool {
					return code >= -32099 && code <= -32020 && code < spec.UnsupportedVersion && code != spec.LegacyURLElicitationError
				})
			},
		},
		{
			ID:    "jsonrpc.code.mcp.meaning",
			Says:  "-32020, -32021 and -32022 are used for what they mean alone",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-code-mcp-range-meaning"},
			// codeMeaning judges what is plain from the request: over stdio there are no
			// headers to mismatch, and over HTTP those of our requests repeat the body; a
			// request of this revision names a version that the server speaks, and discovery
			// and lists need no capability of the client.
			Judge: func(j *check.J) {
				for _, e := range transcript.ErrorResponses(j) {
					code, _ := e.Message.Code()
					request, ok := j.RequestOf(e)
					if !ok || transcript.AnswersLegacyRequest(j, e) {
						continue
					}
					method := request.Message.Method()
					version := wire.Member(request.Message.Params().Get("_meta"), spec.MetaProtocolVersion).String()
					switch {
					case code == spec.HeaderMismatch && request.HTTP == nil:
						j.Fail(e, "%s was answered with %d (header mismatch) over stdio, which has no headers", method, code)
					case code == spec.HeaderMismatch && transcript.HeadersRepeatBody(j, request):
						j.Fail(e, "%s was answered with %d (header mismatch), and its headers match its body", method, code)
					case code == spec.HeaderMismatch:
					case code == spec.UnsupportedVersion && version == string(j.Rev):
						j.Fail(e, "%s was answered with %d (unsupported protocol version) although it named %s", method, code, version)
					case code == spec.MissingClientCapability && (method == "server/discover" || strings.HasSuffix(method, "/list")):
						j.Fail(e, "%s was answered with %d (missing client capability), and needs none", method, code)
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.code.retired",
			Says:  "the codes -32002 and -32042 of earlier revisions are not used",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-code-32002-retired", "jsonrpc-code-32042-retired"},
			Judge: func(j *check.J) {
				codes(j, "was retired with the revisions before", func(code int) bool {
					return code == spec.LegacyResourceNotFound || code == spec.LegacyURLElicitationError
				})
			},
		},
	}
}

// errorMember judges the type of a member of errors that have it.
func errorMember(j *check.J, name string, good func(gjson.Result) bool, want string) {

	for _, e := range transcript.ErrorResponses(j) {
		switch v := e.Message.Error().Get(name); {
		case !v.Exists():
		case !good(v):
			j.Fail(e, "the %s of the error is %s, not %s", name, wire.Clip(v.Raw, 80), want)
		default:
			j.Saw()
		}
	}

}

// unanswered returns the id of a request before a frame that no response of
// the whole session carries. One that was cancelled need not be answered.
func unanswered(j *check.J, before wire.Entry) (wire.ID, bool) {
	answered := map[string]bool{}
	for _, e := range j.Sent() {
		if e.Message.IsResponse() {
			answered[e.Message.ID().Key()] = true
		}
	}
	for _, e := range j.Received() {
		if e.Message.Method() == "notifications/cancelled" {
			answered[wire.ID{Raw: e.Message.Params().Get("requestId").Raw}.Key()] = true
		}
	}
	for _, e := range j.Received() {
		if e.Index < before.Index && e.Message.Kind == wire.Request && !answered[e.Message.ID().Key()] {
			return e.Message.ID(), true
		}
	}
	return wire.ID{}, false
}

// codes judges the codes of all errors in a session.
func codes(j *check.J, why string, bad func(code int) bool) {

	for _, e := range transcript.ErrorResponses(j) {
		code, ok := e.Message.Code()
		switch {
		case !ok || transcript.AnswersLegacyRequest(j, e):
		case bad(code):
			j.Fail(e, "the code %d %s", code, why)
		default:
			j.Saw()
		}
	}

}
