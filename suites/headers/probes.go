package headers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// probes returns the probes of basic/transports/streamable-http#request-metadata.
func probes() []check.Check {
	return slices.Concat(methodProbes(), nameProbes(), syntaxProbes(), refusalProbes(), argumentProbes())
}

const notAnswered = "the server did not answer the request"

// methodProbes returns the probes of MCP-Protocol-Version, Mcp-Method and the case of
// names and values.
func methodProbes() []check.Check {
	return []check.Check{
		{
			ID: "headers.version.missing",
			Says: "a server without revisions that had no MCP-Protocol-Version refuses a request that lacks it " +
				"with status 400 and error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-protocol-version-missing-rejected"},
			Idle:  notAnswered,
			Hint:  expect.HintReply,
			// A server for clients from before the header may take a request without it as one
			// of theirs.
			Probe: func(t *check.T) {
				listed := transcript.SupportedVersions(t.Opening().Answer.Message)
				if posting.ProbeHandshake(t).WithoutVersionHeader || slices.ContainsFunc(listed, hasNoVersionHeader) {
					t.NotApplicable("the server speaks a revision whose requests have no MCP-Protocol-Version")
				}
				a := posting.Discovery.Post(t, check.Without("Mcp-Protocol-Version"))
				expectMismatch(t, "without MCP-Protocol-Version", a, spec.HeaderMismatch)
			},
		},
		{
			ID: "headers.version.mismatch",
			Says: "the server refuses a request whose MCP-Protocol-Version differs from the version in its _meta " +
				"with status 400 and error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-protocol-version-mismatch-rejected", "headers-body-mismatch-rejected"},
			Idle:  notAnswered,
			Hint:  expect.HintReply,
			// The header is right. If the server does not serve the version in the body as a
			// stateless one, it may answer that the version is unsupported.
			Probe: func(t *check.T) {
				version, codes := otherVersion(t), []int{spec.HeaderMismatch, spec.UnsupportedVersion}
				isListed := transcript.ListsVersion(t.Opening().Answer.Message, version)
				if isListed && !spec.Handshake.Has(spec.Revision(version)) {
					codes = codes[:1]
				}
				p := posting.Posting{Method: posting.Discovery.Method, Params: check.VersionMeta(version)}
				a := p.Post(t, check.With("Mcp-Protocol-Version", string(t.Rev)))
				expectMismatch(t, "with the version "+version+" in _meta and another one in MCP-Protocol-Version", a,
					codes...)
			},
		},
		{
			ID:    "headers.method.missing",
			Says:  "the server refuses a request without Mcp-Method",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-missing-rejected"},
			Idle:  notAnswered,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				posting.ExpectRefused(t, "without Mcp-Method", posting.Discovery, check.Without("Mcp-Method"))
				t.Saw()
			},
		},
		{
			ID:    "headers.method.mismatch",
			Says:  "the server refuses a request with another method in Mcp-Method",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-mismatch-rejected", "headers-body-mismatch-rejected"},
			Idle:  notAnswered,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				const other = "tools/list"
				posting.ExpectRefused(t, "with Mcp-Method: "+other, posting.Discovery, check.With("Mcp-Method", other))
				t.Saw()
			},
		},
		{
			ID:    "headers.values.case",
			Says:  "the server compares the values of Mcp-Method and Mcp-Name case-sensitively",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-value-case-sensitive"},
			Idle:  notAnswered,
			Hint:  expect.HintReply,
			// URIs are left out, parts of which are equal in any case (RFC 3986 section
			// 6.2.2.1).
			Probe: func(t *check.T) {
				const method = "Server/Discover"
				posting.ExpectRefused(t, "with Mcp-Method: "+method, posting.Discovery,
					check.With("Mcp-Method", method))
				t.Saw()
				for _, p := range posting.TryNamedPostings(t) {
					name := otherCase(p.Name)
					if name == p.Name || !isPlain(name) || p.Nonexistent || p.Method == "resources/read" {
						continue
					}
					posting.ExpectRefused(t, "with its name in another case in Mcp-Name", p,
						check.With("Mcp-Name", name))
				}
			},
		},
		{
			ID:    "headers.names.case",
			Says:  "the server compares the names of headers case-insensitively",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-names-case-insensitive"},
			Idle:  "nothing was served over a separate connection",
			Hint:  "answer requests over a second connection",
			// The probe sends bytes, as an HTTP client writes names in one way only. What is
			// not served on a separate connection is refused for another reason.
			Probe: func(t *check.T) {
				mixedCase := strings.NewReplacer("\r\nMcp-Method:", "\r\nmcp-mETHOD:",
					"\r\nMcp-Protocol-Version:", "\r\nmCP-PROTOCOL-version:", "\r\nMcp-Name:", "\r\nmcp-NAME:")
				for _, p := range append([]posting.Posting{posting.Discovery}, posting.TryNamedPostings(t)...) {
					request := t.HTTP().Bytes(http.MethodPost, t.Frame(t.NextID(), p.Method, p.Params), p.Edits()...)
					if !isServedAsBytes(t, p, request) {
						continue
					}
					if !isServedAsBytes(t, p, mixedCase.Replace(request)) {
						t.Fail("a result", "a refusal", "%s with the names of its headers in another case was refused",
							p)
					}
					t.Saw()
				}
			},
		},
	}
}

// hasNoVersionHeader reports whether a version is a revision without
// MCP-Protocol-Version.
func hasNoVersionHeader(version gjson.Result) bool {
	rev := spec.Revision(version.String())
	return spec.Every.Has(rev) && !rev.Facts().VersionHeader
}

// otherVersion returns a version other than that of the session, one that the server
// lists if possible.
func otherVersion(t *check.T) string {
	for _, v := range transcript.SupportedVersions(t.Opening().Answer.Message) {
		if v.String() != string(t.Rev) {
			return v.String()
		}
	}
	return string(spec.Handshake.Newest())
}

// expectMismatch judges that a request is refused with the status and the code of a
// mismatch. The checks of status and code leave the version out.
func expectMismatch(t *check.T, what string, a posting.Posted, codes ...int) {
	posting.RequireServerRefusal(t, posting.RequireAvailable(t, a))
	code, _ := a.Answer.ErrorCode()
	if a.Status != http.StatusBadRequest || a.Answer.Kind != wire.Error || !slices.Contains(codes, code) {
		t.Fail("HTTP status 400 and error -32020", check.Describe(a.PendingExchange),
			"a request %s was answered with %s", what, check.Describe(a.PendingExchange))
	}
	t.Saw()
}

// otherCase returns a text in upper case, or in lower case if it is in upper case.
func otherCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}

// isPlain reports whether a header holds a value without encoding.
func isPlain(s string) bool { return s != "" && transport.EncodeFieldValue(s) == s }

// isServedAsBytes reports whether a request, sent as bytes, is not refused; one that
// names nothing that exists, whether it is not refused for its headers.
func isServedAsBytes(t *check.T, p posting.Posting, request string) bool {
	r, err := t.HTTP().Raw(request)
	if err != nil {
		t.NotObserved("bytes could not be sent: "+err.Error(), "answer requests over a second connection")
	}
	if posting.IsUnavailable(r.Status) {
		t.NotObserved(p.String()+" was answered with a status that is not about the request",
			posting.HintAvailable)
	}
	for _, m := range posting.RawMessages(r) {
		if m.Kind == wire.Error {
			code, _ := m.ErrorCode()
			return p.Nonexistent && code != spec.HeaderMismatch
		}
	}
	return r.Status < 300
}
