package headers

import (
	"iter"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// refusalProbes returns the probes of how the server refuses a request for its
// headers. The probes of each header judge whether it does.
func refusalProbes() []check.Check {
	const noRefusal = "the server refused nothing for its headers"
	return []check.Check{
		{
			ID:    "headers.refusal.status",
			Says:  "the server refuses a request for its headers with status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-mismatch-status-400"},
			Idle:  noRefusal,
			Hint:  "refuse a request whose Mcp-Method contradicts its body",
			Probe: func(t *check.T) {
				for m, a := range refusals(t) {
					match.Expect(t, a.Status).To(match.BeStatus(http.StatusBadRequest),
						"%s %s was refused with %s", m.Posting, m.what, check.Describe(a.PendingExchange))
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.refusal.code",
			Says:  "the server refuses a request for its headers with error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-mismatch-error-32020"},
			Idle:  noRefusal,
			Hint:  "refuse a request whose Mcp-Method contradicts its body",
			Probe: func(t *check.T) {
				for m, a := range refusals(t) {
					match.Expect(t, a.Answer).To(match.BeError(spec.HeaderMismatch),
						"%s %s was refused with %s", m.Posting, m.what, check.Describe(a.PendingExchange))
					t.Saw()
				}
			},
		},
	}
}

// A mistake is a request with an edit that makes a header wrong.
type mistake struct {
	posting.Posting
	what string
	edit check.Edit
}

// mistakes returns mistakes in Mcp-Method, Mcp-Name and headers of arguments. Those
// in MCP-Protocol-Version have checks of their own.
func mistakes(t *check.T) []mistake {
	out := []mistake{
		{posting.Discovery, "without Mcp-Method", check.Without("Mcp-Method")},
		{posting.Discovery, "with Mcp-Method: tools/list", check.With("Mcp-Method", "tools/list")},
	}
	for _, p := range posting.TryNamedPostings(t) {
		other := transport.EncodeFieldValue(p.Name + "-mcpcheck")
		out = append(out,
			mistake{p, "without Mcp-Name", check.Without("Mcp-Name")},
			mistake{p, "with another name in Mcp-Name", check.With("Mcp-Name", other)})
	}
	for _, v := range mirroredValues(t) {
		out = append(out,
			mistake{v.Posting, "without " + v.argument.Header, check.Without(v.argument.Header)},
			mistake{v.Posting, "with another value in " + v.argument.Header, v.withOther()})
	}
	return out
}

// refusals posts the mistakes one by one and yields those that are refused for their
// headers, with the answer. It ends at the first that is not answered: a server that
// leaves one unanswered may leave all, and each wait takes long.
func refusals(t *check.T) iter.Seq2[mistake, posting.Posted] {
	return func(yield func(mistake, posting.Posted) bool) {
		for _, m := range mistakes(t) {
			a := m.Post(t, m.edit)
			if a.Answer.Kind == wire.Invalid && !a.IsRefused() {
				return
			}
			aboutHeaders := !m.Nonexistent || a.IsHeaderMismatch()
			if !a.IsRefused() || posting.IsUnavailable(a.Status) || !aboutHeaders {
				continue
			}
			if !yield(m, posting.RequireServerRefusal(t, a)) {
				return
			}
		}
	}
}
