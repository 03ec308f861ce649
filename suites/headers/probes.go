package headers

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/tidwall/gjson"
)

// probes are the probes of basic/transports/streamable-http#request-metadata,
// since 2026-07-28: of the headers that repeat what a request says. Those that
// repeat arguments of tools are in headers_arguments.go.
func probes() []check.Check {
	return slices.Concat([]check.Check{
		{
			ID:    "headers.version.missing",
			Says:  "a server without revisions that had no MCP-Protocol-Version refuses a request that lacks it with status 400 and error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-protocol-version-missing-rejected"},
			// versionMissing: a server with clients from before the header may take a
			// request without it for one of theirs.
			Probe: func(t *check.T) {
				if of := posting.OtherEras(t); of.Headless || slices.ContainsFunc(listedVersions(t), headless) {
					t.NotApplicable("the server speaks a revision whose requests have no MCP-Protocol-Version")
				}
				expectMismatch(t, "without MCP-Protocol-Version", posting.Discovery.Post(t, check.Without("Mcp-Protocol-Version")), spec.HeaderMismatch)
			},
		},
		{
			ID:    "headers.version.mismatch",
			Says:  "a request whose MCP-Protocol-Version is not the version in its _meta is refused with status 400 and error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-protocol-version-mismatch-rejected", "headers-body-mismatch-rejected"},
			// versionMismatch leaves the header right. Where the version in the body is not
			// one that the server serves so, it may as well say that.
			Probe: func(t *check.T) {
				other := string(spec.Handshake.Newest())
				for _, v := range listedVersions(t) {
					if v != string(t.Rev) {
						other = v
						break
					}
				}
				codes := []int{spec.HeaderMismatch, spec.UnsupportedVersion}
				if slices.Contains(listedVersions(t), other) && !spec.Handshake.Has(spec.Revision(other)) {
					codes = codes[:1]
				}
				p := posting.Posting{Method: posting.Discovery.Method, Params: check.VersionMeta(other)}
				expectMismatch(t, "with the version "+other+" in _meta and another in MCP-Protocol-Version", p.Post(t, check.With("Mcp-Protocol-Version", string(t.Rev))), codes...)
			},
		},
		{
			ID:    "headers.method.missing",
			Says:  "a request without Mcp-Method is refused",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-missing-rejected"},
			Probe: func(t *check.T) {
				posting.ExpectRefused(t, "without Mcp-Method", posting.Discovery, check.Without("Mcp-Method"))
			},
		},
		{
			ID:    "headers.method.mismatch",
			Says:  "a request whose Mcp-Method is another method is refused",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-mismatch-rejected", "headers-body-mismatch-rejected"},
			Probe: func(t *check.T) {
				posting.ExpectRefused(t, "with Mcp-Method: tools/list", posting.Discovery, check.With("Mcp-Method", "tools/list"))
			},
		},
		{
			ID:    "headers.values.case",
			Says:  "the values of Mcp-Method and Mcp-Name in another case are other values",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-value-case-sensitive"},
			// valuesCase leaves URIs out, of which parts may be the same in any case
			// (RFC 3986 section 6.2.2.1).
			Probe: func(t *check.T) {
				posting.ExpectRefused(t, "with Mcp-Method: Server/Discover", posting.Discovery, check.With("Mcp-Method", "Server/Discover"))
				for _, p := range posting.NamedPostingsIfAny(t) {
					if other := otherCase(p.Name); other != p.Name && plain(other) && !p.Vain && p.Method != "resources/read" {
						posting.ExpectRefused(t, "with its name in another case in Mcp-Name", p, check.With("Mcp-Name", other))
					}
				}
			},
		},
		{
			ID:    "headers.names.case",
			Says:  "the names of headers are the same in any case",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-names-case-insensitive"},
			// namesCase sends bytes, since clients of HTTP write names in one way.
			Probe: func(t *check.T) {
				odd := strings.NewReplacer("\r\nMcp-Method:", "\r\nmcp-mETHOD:", "\r\nMcp-Protocol-Version:", "\r\nmCP-PROTOCOL-version:", "\r\nMcp-Name:", "\r\nmcp-NAME:")
				seen := false
				for _, p := range append([]posting.Posting{posting.Discovery}, posting.NamedPostingsIfAny(t)...) {
					asTheyAre := t.HTTP().Bytes(http.MethodPost, t.Frame(t.NextID(), p.Method, p.Params), p.Edits()...)
					if !bytesServed(t, p, asTheyAre) {
						continue // over a connection of its own it is refused for something else
					}
					seen = true
					if !bytesServed(t, p, odd.Replace(asTheyAre)) {
						t.Fail("a result", "a refusal", "%s with the names of its headers in another case was refused", p)
					}
				}
				if !seen {
					t.NotObserved("nothing was served over a connection of its own", "")
				}
			},
		},
		{
			ID:    "headers.name.missing",
			Says:  "a request that must repeat a name is refused without Mcp-Name",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-missing-rejected"},
			Probe: func(t *check.T) {
				for _, p := range posting.NamedPostings(t) {
					posting.ExpectRefused(t, "without Mcp-Name", p, check.Without("Mcp-Name"))
				}
			},
		},
		{
			ID:    "headers.name.mismatch",
			Says:  "a request whose Mcp-Name is another name is refused",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-mismatch-rejected", "headers-body-mismatch-rejected"},
			Probe: func(t *check.T) {
				for _, p := range posting.NamedPostings(t) {
					posting.ExpectRefused(t, "with another name in Mcp-Name", p, check.With("Mcp-Name", transport.FieldValue(p.Name+"-mcpcheck")))
				}
			},
		},
		{
			ID:    "headers.name.encoded",
			Says:  "an Mcp-Name in Base64 between its marks is decoded before it is compared",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-base64-decode"},
			// nameEncoded encodes names that could stand as they are, and uses names that
			// must be encoded; those may name nothing, but that is another error.
			Probe: func(t *check.T) {
				encoded := encodedNames(t)
				for _, p := range encoded {
					if a := posting.Available(t, p.Post(t)); a.Mismatched() {
						t.Fail("no error -32020", check.Describe(a.Exchange), "%s, whose name has to be encoded in Mcp-Name, was answered with %s", p, check.Describe(a.Exchange))
					}
				}
				for _, p := range posting.NamedPostings(t) {
					posting.ExpectServed(t, "with its name in Base64 in Mcp-Name", p, check.With("Mcp-Name", base64Marked("=?base64?", p.Name)))
				}
			},
		},
		{
			ID:    "headers.name.marks",
			Says:  "the marks of Base64 in another case are no marks",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-base64-markers-exact"},
			Probe: func(t *check.T) {
				for _, p := range posting.NamedPostings(t) {
					posting.ExpectRefused(t, "with its name in Base64 behind =?BASE64? in Mcp-Name", p, check.With("Mcp-Name", base64Marked("=?BASE64?", p.Name)))
				}
			},
		},
		{
			ID:    "headers.name.elsewhere",
			Says:  "requests of other methods need no Mcp-Name",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-not-required-elsewhere"},
			Probe: func(t *check.T) {
				others := []posting.Posting{posting.Discovery}
				for _, l := range offer.Lists(t) {
					others = append(others, posting.Posting{Method: l.Method})
				}
				for _, p := range others {
					if a := posting.Available(t, p.Post(t, check.Without("Mcp-Name"))); a.Mismatched() {
						t.Fail("a result", check.Describe(a.Exchange), "%s without Mcp-Name, which it does not need, was answered with %s", p, check.Describe(a.Exchange))
					}
				}
			},
		},
		{
			ID:    "headers.whitespace",
			Says:  "white space around the value of a header is no part of it",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-whitespace-trimmed"},
			// whitespace sends bytes, since clients of HTTP take the white space off.
			Probe: func(t *check.T) {
				asTheyAre := t.HTTP().Bytes(http.MethodPost, t.Frame(t.NextID(), posting.Discovery.Method, nil))
				if !bytesServed(t, posting.Discovery, asTheyAre) {
					t.NotObserved("server/discover over a connection of its own was refused for something else", "")
				}
				if !bytesServed(t, posting.Discovery, strings.Replace(asTheyAre, "\r\nMcp-Method: server/discover\r\n", "\r\nMcp-Method:   server/discover  \r\n", 1)) {
					t.Fail("a result", "a refusal", "server/discover with spaces around the value of Mcp-Method was refused")
				}
			},
		},
		{
			ID:    "headers.characters",
			Says:  "a header with characters that none may hold is refused, whatever they stand for",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-invalid-chars-rejected"},
			// invalidCharacters sends text beyond ASCII as it is, in a header that would
			// hold the right value if it might: of an argument where there is one that takes
			// such text, else of a name, if need be of a tool that does not exist.
			Probe: func(t *check.T) {
				const text = "Grüße"
				for _, c := range mirroring(t) {
					for _, m := range c.present {
						if m.Of(gjson.Parse(c.args)).Type != gjson.String || !t.Config().MayInvent(c.tool) {
							continue
						}
						p := posting.Calling(c.tool, string(posting.Edited(c.args, m.Path, text)))
						if !p.Post(t).Served() {
							continue // encoded it is refused too
						}
						expectBeyondASCIIRefused(t, p, m.Header, text)
						return
					}
				}
				for _, p := range posting.NamedPostingsIfAny(t) {
					if !p.Vain && strings.ContainsFunc(p.Name, func(c rune) bool { return c > '~' }) {
						expectBeyondASCIIRefused(t, p, "Mcp-Name", p.Name)
						return
					}
				}
				if !t.Declares("tools") {
					t.NotObserved("nothing that the server offers has characters beyond ASCII in its name", "")
				}
				unknown := offer.UnknownTool + "_" + text
				p := posting.Posting{Method: "tools/call", Params: check.Params{"name": unknown, "arguments": check.Params{}}, Name: unknown, Vain: true}
				expectBeyondASCIIRefused(t, p, "Mcp-Name", unknown)
			},
		},
		{
			ID:    "headers.refusal.status",
			Says:  "what is refused for its headers is refused with status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-mismatch-status-400"},
			Probe: func(t *check.T) {
				eachRefusal(t, func(m mistake, a posting.Posted) {
					if a.Status != 400 {
						t.Fail("HTTP status 400", check.Describe(a.Exchange), "%s %s was refused with %s", m.Posting, m.what, check.Describe(a.Exchange))
					}
				})
			},
		},
		{
			ID:    "headers.refusal.code",
			Says:  "what is refused for its headers is refused with error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-mismatch-error-32020"},
			Probe: func(t *check.T) {
				eachRefusal(t, func(m mistake, a posting.Posted) {
					if !a.Mismatched() {
						t.Fail("error -32020", check.Describe(a.Exchange), "%s %s was refused with %s", m.Posting, m.what, check.Describe(a.Exchange))
					}
				})
			},
		},
	}, headersOfArguments())
}

func headless(v string) bool {
	rev := spec.Revision(v)
	return spec.Every.Has(rev) && !rev.Facts().VersionHeader
}

// listedVersions returns the versions that server/discover lists.
func listedVersions(t *check.T) (out []string) {
	for _, v := range t.Opening().Answer.Message.Result().Get("supportedVersions").Array() {
		out = append(out, v.String())
	}
	return out
}

// expectMismatch judges refusal, status and code at once: the rules of the
// other headers that share them leave the version out.
func expectMismatch(t *check.T, what string, a posting.Posted, codes ...int) {
	posting.OfTheServer(t, posting.Available(t, a))
	if code, _ := a.Answer.Code(); a.Status != 400 || a.Answer.Kind != wire.Error || !slices.Contains(codes, code) {
		t.Fail("HTTP status 400 and error -32020", check.Describe(a.Exchange), "a request %s was answered with %s", what, check.Describe(a.Exchange))
	}
}

func otherCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}

// plain tells whether a value stands in a header as it is.
func plain(s string) bool { return s != "" && transport.FieldValue(s) == s }

// bytesServed tells whether a request, as bytes, is not refused; for one in
// vain, not refused for its headers.
func bytesServed(t *check.T, p posting.Posting, request string) bool {
	r, err := t.HTTP().Raw(request)
	if err != nil {
		t.NotObserved("bytes could not be sent: "+err.Error(), "")
	}
	if posting.Unavailable(r.Status) {
		t.NotObserved(p.String()+" was answered with a status that says nothing of the request", "")
	}
	for _, m := range posting.RawMessages(r) {
		if m.Kind == wire.Error {
			code, _ := m.Code()
			return p.Vain && code != spec.HeaderMismatch
		}
	}
	return r.Status < 300
}

func base64Marked(prefix, value string) string {
	return prefix + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// encodedNames returns requests for what the server offers under names that no
// header holds as they are, at most one a kind.
func encodedNames(t *check.T) (out []posting.Posting) {
	for _, of := range [][]posting.Posting{posting.Readings(t), posting.Gettings(t), posting.Callings(t)} {
		if i := slices.IndexFunc(of, func(p posting.Posting) bool { return !plain(p.Name) }); i >= 0 {
			out = append(out, of[i])
		}
	}
	return out
}

// A mistake is a posting that headers make wrong.
type mistake struct {
	posting.Posting
	what string
	edit check.Edit
}

// mistakes are those in Mcp-Method, Mcp-Name and in headers of arguments. Those
// in the version have rules of their own.
func mistakes(t *check.T) []mistake {
	out := []mistake{
		{posting.Discovery, "without Mcp-Method", check.Without("Mcp-Method")},
		{posting.Discovery, "with Mcp-Method: tools/list", check.With("Mcp-Method", "tools/list")},
	}
	for _, p := range posting.NamedPostingsIfAny(t) {
		out = append(out,
			mistake{p, "without Mcp-Name", check.Without("Mcp-Name")},
			mistake{p, "with another name in Mcp-Name", check.With("Mcp-Name", transport.FieldValue(p.Name+"-mcpcheck"))})
	}
	for _, a := range mirroring(t) {
		for _, m := range a.present {
			out = append(out,
				mistake{a.Posting, "without " + m.Header, check.Without(m.Header)},
				mistake{a.Posting, "with another value in " + m.Header, check.With(m.Header, m.Other(a.args))})
		}
	}
	return out
}

// eachRefusal gives the mistakes that are refused, and for the headers; whether
// they all are is judged header by header.
func eachRefusal(t *check.T, look func(m mistake, a posting.Posted)) {
	seen := false
	for _, m := range mistakes(t) {
		a := m.Post(t, m.edit)
		if a.Answer.Kind == wire.Invalid && !a.Refused() {
			break // who leaves one mistake open may leave them all, and each takes its time
		}
		if a.Refused() && !posting.Unavailable(a.Status) && (!m.Vain || a.Mismatched()) {
			seen = true
			look(m, posting.OfTheServer(t, a))
		}
	}
	if !seen {
		t.NotObserved("nothing was refused for its headers", "")
	}
}
