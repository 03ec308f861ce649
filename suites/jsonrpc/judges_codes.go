package jsonrpc

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// codeJudges returns the judges of basic/index#error-codes.
func codeJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.code.reserved",
			Says:  "no code is used that JSON-RPC reserves and does not define",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"jsonrpc-reserved-error-codes"},
			Idle:  noError,
			Hint:  refuseUnknown,
			Judge: func(j *check.J) {
				judgeCodes(j, "is reserved by JSON-RPC and not defined", func(code int) bool {
					isDefined := code == spec.ParseError || code >= -32603 && code <= -32600
					return code >= -32768 && code <= -32100 && !isDefined
				})
			},
		},
		{
			ID:    "jsonrpc.code.legacy",
			Says:  "no code from -32000 to -32019 is used",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-code-legacy-range-avoid"},
			Idle:  noError,
			Hint:  refuseUnknown,
			// jsonrpc.code.retired judges -32002.
			Judge: func(j *check.J) {
				judgeCodes(j, "is of the legacy range", func(code int) bool {
					return code >= -32019 && code <= -32000 && code != spec.LegacyResourceNotFound
				})
			},
		},
		{
			ID:    "jsonrpc.code.mcp.defined",
			Says:  "no code from -32020 to -32099 is used that the specification does not define",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-code-mcp-range-defined-only"},
			Idle:  noError,
			Hint:  refuseUnknown,
			// -32020 to -32022 are defined; jsonrpc.code.retired judges -32042.
			Judge: func(j *check.J) {
				const why = "is of the range of the specification, which does not define it"
				judgeCodes(j, why, func(code int) bool {
					return code >= -32099 && code < spec.UnsupportedVersion && code != spec.LegacyURLElicitationError
				})
			},
		},
		{
			ID:    "jsonrpc.code.mcp.meaning",
			Says:  "the codes -32020, -32021 and -32022 are used in their meaning only",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-code-mcp-range-meaning"},
			Idle:  noError,
			Hint:  refuseUnknown,
			Judge: func(j *check.J) {
				check.Each(j, transcript.ErrorResponses(j), func(e wire.Entry) bool {
					request, ok := j.RequestOf(e)
					if !ok || transcript.AnswersLegacyRequest(j, e) {
						return false
					}
					code, _ := e.Message.ErrorCode()
					if code == spec.HeaderMismatch && request.HTTP != nil && !transcript.HeadersRepeatBody(j, request) {
						return false
					}
					if why := misused(j, code, request); why != "" {
						j.Fail(e, "%s was answered with %d %s", request.Message.Method(), code, why)
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.code.retired",
			Says:  "the codes -32002 and -32042 of earlier revisions are not used",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-code-32002-retired", "jsonrpc-code-32042-retired"},
			Idle:  noError,
			Hint:  refuseUnknown,
			Judge: func(j *check.J) {
				judgeCodes(j, "was retired by this revision", func(code int) bool {
					return code == spec.LegacyResourceNotFound || code == spec.LegacyURLElicitationError
				})
			},
		},
	}
}

// misused returns why a code of the specification is certainly wrong for a request, or
// "". Over stdio no header can mismatch. A request of this revision names a version that
// the server supports. Discovery and lists need no capability of the client.
func misused(j *check.J, code int, request wire.Entry) string {
	method := request.Message.Method()
	version := transcript.MetaMember(request.Message, spec.MetaProtocolVersion).String()
	switch {
	case code == spec.HeaderMismatch && request.HTTP == nil:
		return "(header mismatch) over stdio, which has no headers"
	case code == spec.HeaderMismatch:
		return "(header mismatch), and its headers match its body"
	case code == spec.UnsupportedVersion && version == string(j.Rev):
		return "(unsupported protocol version) although it named " + version
	case code == spec.MissingClientCapability && (method == "server/discover" || strings.HasSuffix(method, "/list")):
		return "(missing client capability), and needs none"
	}
	return ""
}

// judgeCodes judges the codes of all errors; why says what is wrong with a code.
func judgeCodes(j *check.J, why string, isWrong func(code int) bool) {
	check.Each(j, transcript.ErrorResponses(j), func(e wire.Entry) bool {
		code, ok := e.Message.ErrorCode()
		if !ok || transcript.AnswersLegacyRequest(j, e) {
			return false
		}
		if isWrong(code) {
			j.Fail(e, "the code %d %s", code, why)
		}
		return true
	})
}
