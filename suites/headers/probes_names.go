package headers

import (
	"encoding/base64"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

const noName = "no request with a name was answered"

// nameProbes returns the probes of Mcp-Name, which repeats the name of a tool or
// prompt, or the URI of a resource.
func nameProbes() []check.Check {
	return []check.Check{
		{
			ID:    "headers.name.missing",
			Says:  "the server refuses a request without Mcp-Name whose method requires it",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-missing-rejected"},
			Idle:  noName,
			Hint:  "offer a resource that can be read, a prompt or a read-only tool",
			Probe: func(t *check.T) {
				for _, p := range posting.NamedPostings(t) {
					posting.ExpectRefused(t, "without Mcp-Name", p, check.Without("Mcp-Name"))
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.name.mismatch",
			Says:  "the server refuses a request with another name in Mcp-Name",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-mismatch-rejected", "headers-body-mismatch-rejected"},
			Idle:  noName,
			Hint:  "offer a resource that can be read, a prompt or a read-only tool",
			Probe: func(t *check.T) {
				for _, p := range posting.NamedPostings(t) {
					other := transport.EncodeFieldValue(p.Name + "-mcpcheck")
					posting.ExpectRefused(t, "with another name in Mcp-Name", p, check.With("Mcp-Name", other))
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.name.encoded",
			Says:  "the server decodes a Base64 value in Mcp-Name before it compares it",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-base64-decode"},
			Idle:  noName,
			Hint:  "offer a resource that can be read, a prompt or a read-only tool",
			// First names that must be encoded are sent. They may no longer name anything, which
			// is another error. Then names are encoded that need not be.
			Probe: func(t *check.T) {
				for _, p := range encodedNames(t) {
					if a := posting.RequireAvailable(t, p.Post(t)); a.IsHeaderMismatch() {
						t.Fail("no error -32020", check.Describe(a.PendingExchange),
							"%s, whose name must be encoded in Mcp-Name, was answered with %s", p,
							check.Describe(a.PendingExchange))
					}
				}
				for _, p := range posting.NamedPostings(t) {
					encoded := base64Value("=?base64?", p.Name)
					posting.ExpectServed(t, "with its name in Base64 in Mcp-Name", p, check.With("Mcp-Name", encoded))
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.name.markers",
			Says:  "the server does not decode a Base64 value whose prefix is in upper case",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-base64-markers-exact"},
			Idle:  noName,
			Hint:  "offer a resource that can be read, a prompt or a read-only tool",
			Probe: func(t *check.T) {
				for _, p := range posting.NamedPostings(t) {
					encoded := base64Value("=?BASE64?", p.Name)
					posting.ExpectRefused(t, "with its name in Base64 after =?BASE64? in Mcp-Name", p,
						check.With("Mcp-Name", encoded))
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.name.not-required",
			Says:  "the server does not require Mcp-Name for other methods",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-not-required-elsewhere"},
			Idle:  "the server served no request of another method",
			Hint:  "answer server/discover with a result",
			Probe: func(t *check.T) {
				others := []posting.Posting{posting.Discovery}
				for _, l := range offer.Lists(t) {
					others = append(others, posting.Posting{Method: l.Method})
				}
				for _, p := range others {
					a := posting.RequireAvailable(t, p.Post(t, check.Without("Mcp-Name")))
					if a.IsHeaderMismatch() {
						t.Fail("a result", check.Describe(a.PendingExchange),
							"%s without Mcp-Name, which it does not require, was answered with %s", p,
							check.Describe(a.PendingExchange))
					}
					if a.IsServed() {
						t.Saw()
					}
				}
			},
		},
	}
}

// base64Value returns a value in Base64 between a prefix and the suffix.
func base64Value(prefix, value string) string {
	return prefix + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// encodedNames returns requests for what the server offers under names that a header
// holds only encoded, at most one of each method.
func encodedNames(t *check.T) (out []posting.Posting) {
	for _, of := range [][]posting.Posting{posting.ReadPostings(t), posting.GetPostings(t), posting.CallPostings(t)} {
		if i := slices.IndexFunc(of, func(p posting.Posting) bool { return !isPlain(p.Name) }); i >= 0 {
			out = append(out, of[i])
		}
	}
	return out
}
