package headers

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// syntaxProbes returns the probes of how values are written in headers.
func syntaxProbes() []check.Check {
	return []check.Check{
		{
			ID:    "headers.whitespace",
			Says:  "the server ignores whitespace around the value of a header",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-whitespace-trimmed"},
			Idle:  "server/discover over a separate connection was refused for another reason",
			Hint:  "answer server/discover over a second connection",
			// The probe sends bytes, as an HTTP client removes the whitespace.
			Probe: func(t *check.T) {
				request := t.HTTP().Bytes(http.MethodPost, t.Frame(t.NextID(), posting.Discovery.Method, nil))
				if !isServedAsBytes(t, posting.Discovery, request) {
					return
				}
				spaced := strings.Replace(request,
					"\r\nMcp-Method: server/discover\r\n", "\r\nMcp-Method:   server/discover  \r\n", 1)
				if !isServedAsBytes(t, posting.Discovery, spaced) {
					t.Fail("a result", "a refusal",
						"server/discover with spaces around the value of Mcp-Method was refused")
				}
				t.Saw()
			},
		},
		{
			ID:    "headers.characters",
			Says:  "the server refuses a header with characters that no header may have",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-invalid-chars-rejected"},
			Idle:  "the server has no tools, and no prompt or resource whose name is not ASCII",
			Hint:  "declare tools, or offer a prompt or resource whose name is not ASCII",
			Probe: func(t *check.T) {
				p, header, value := postingBeyondASCII(t)
				if p.Method == "" {
					return
				}
				expectBeyondASCIIRefused(t, p, header, value)
				t.Saw()
			},
		},
	}
}

// postingBeyondASCII returns a request and a value beyond ASCII that a header of it
// would repeat rightly if it were encoded: of an argument that takes such text, or
// else of a name, or else of the name of an unknown tool. There is none if the server
// has no tools; the posting is the zero value then.
func postingBeyondASCII(t *check.T) (p posting.Posting, header, value string) {
	const text = "Grüße"
	for _, c := range mirroringCalls(t) {
		for _, m := range c.present {
			if m.Value(gjson.Parse(c.args)).Type != gjson.String || !t.Config().MayInvent(c.tool) {
				continue
			}
			p = posting.CallPosting(c.tool, string(posting.EditArguments(c.args, m.Path, text)))
			if p.Post(t).IsServed() { // if not, the text is refused encoded too
				return p, m.Header, text
			}
		}
	}
	for _, p := range posting.TryNamedPostings(t) {
		if !p.Nonexistent && strings.ContainsFunc(p.Name, func(c rune) bool { return c > '~' }) {
			return p, "Mcp-Name", p.Name
		}
	}
	if !t.Declares("tools") {
		return posting.Posting{}, "", ""
	}
	unknown := offer.UnknownTool + "_" + text
	p = posting.Posting{
		Method: "tools/call", Params: check.Params{"name": unknown, "arguments": check.Params{}},
		Name: unknown, Nonexistent: true,
	}
	return p, "Mcp-Name", unknown
}

// expectBeyondASCIIRefused judges that a request with a value beyond ASCII in a
// header is refused, also by the HTTP server alone. An error that any request for
// what does not exist gets is not about the header.
func expectBeyondASCIIRefused(t *check.T, p posting.Posting, header, value string) {
	x, err := t.HTTP().TryPost(t.Frame(t.NextID(), p.Method, p.Params), append(p.Edits(), check.With(header, value))...)
	if err != nil {
		t.NotObserved("a header beyond ASCII was not answered: "+err.Error(), "answer such a header with status 400")
	}
	m, _ := t.HTTP().Response(x)
	code, _ := m.ErrorCode()
	aboutHeader := !p.Nonexistent || m.Kind == wire.Invalid || code == spec.HeaderMismatch
	if x.Status == http.StatusBadRequest && m.Kind != wire.Result && aboutHeader {
		return
	}
	posting.ExpectRefused(t, "with characters beyond ASCII in "+header, p, check.With(header, value))
}
