package server

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// headers are the probes of basic/transports/streamable-http#request-metadata,
// since 2026-07-28: of the headers that repeat what a request says. Those that
// repeat arguments of tools are in headers_arguments.go.
func headers() []check.Check {
	return slices.Concat([]check.Check{
		{
			ID:    "headers.version.missing",
			Says:  "a server without revisions that had no MCP-Protocol-Version refuses a request that lacks it with status 400 and error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-protocol-version-missing-rejected"},
			Probe: versionMissing,
		},
		{
			ID:    "headers.version.mismatch",
			Says:  "a request whose MCP-Protocol-Version is not the version in its _meta is refused with status 400 and error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-protocol-version-mismatch-rejected", "headers-body-mismatch-rejected"},
			Probe: versionMismatch,
		},
		{
			ID:    "headers.method.missing",
			Says:  "a request without Mcp-Method is refused",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-missing-rejected"},
			Probe: func(t *check.T) { expectRefused(t, "without Mcp-Method", discovery, check.Without("Mcp-Method")) },
		},
		{
			ID:    "headers.method.mismatch",
			Says:  "a request whose Mcp-Method is another method is refused",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-mismatch-rejected", "headers-body-mismatch-rejected"},
			Probe: func(t *check.T) {
				expectRefused(t, "with Mcp-Method: tools/list", discovery, check.With("Mcp-Method", "tools/list"))
			},
		},
		{
			ID:    "headers.values.case",
			Says:  "the values of Mcp-Method and Mcp-Name in another case are other values",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-method-value-case-sensitive"},
			Probe: valuesCase,
		},
		{
			ID:    "headers.names.case",
			Says:  "the names of headers are the same in any case",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-names-case-insensitive"},
			Probe: namesCase,
		},
		{
			ID:    "headers.name.missing",
			Says:  "a request that must repeat a name is refused without Mcp-Name",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-missing-rejected"},
			Probe: nameMissing,
		},
		{
			ID:    "headers.name.mismatch",
			Says:  "a request whose Mcp-Name is another name is refused",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-mismatch-rejected", "headers-body-mismatch-rejected"},
			Probe: nameMismatch,
		},
		{
			ID:    "headers.name.encoded",
			Says:  "an Mcp-Name in Base64 between its marks is decoded before it is compared",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-base64-decode"},
			Probe: nameEncoded,
		},
		{
			ID:    "headers.name.marks",
			Says:  "the marks of Base64 in another case are no marks",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-base64-markers-exact"},
			Probe: nameMarks,
		},
		{
			ID:    "headers.name.elsewhere",
			Says:  "requests of other methods need no Mcp-Name",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-name-not-required-elsewhere"},
			Probe: nameElsewhere,
		},
		{
			ID:    "headers.whitespace",
			Says:  "white space around the value of a header is no part of it",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-whitespace-trimmed"},
			Probe: whitespace,
		},
		{
			ID:    "headers.characters",
			Says:  "a header with characters that none may hold is refused, whatever they stand for",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-invalid-chars-rejected"},
			Probe: invalidCharacters,
		},
		{
			ID:    "headers.refusal.status",
			Says:  "what is refused for its headers is refused with status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-mismatch-status-400"},
			Probe: headerRefusalStatus,
		},
		{
			ID:    "headers.refusal.code",
			Says:  "what is refused for its headers is refused with error -32020",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-mismatch-error-32020"},
			Probe: refusalCode,
		},
	}, headersOfArguments())
}

// versionMissing: a server with clients from before the header may take a
// request without it for one of theirs.
func versionMissing(t *check.T) {
	if of := otherEras(t); of.headless || slices.ContainsFunc(listedVersions(t), headless) {
		t.NotApplicable("the server speaks a revision whose requests have no MCP-Protocol-Version")
	}
	expectMismatch(t, "without MCP-Protocol-Version", discovery.post(t, check.Without("Mcp-Protocol-Version")), spec.HeaderMismatch)
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

// versionMismatch leaves the header right. Where the version in the body is not
// one that the server serves so, it may as well say that.
func versionMismatch(t *check.T) {
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
	p := posting{method: discovery.method, params: ofVersion(other)}
	expectMismatch(t, "with the version "+other+" in _meta and another in MCP-Protocol-Version", p.post(t, check.With("Mcp-Protocol-Version", string(t.Rev))), codes...)
}

// expectMismatch judges refusal, status and code at once: the rules of the
// other headers that share them leave the version out.
func expectMismatch(t *check.T, what string, a posted, codes ...int) {
	ofTheServer(t, available(t, a))
	if code, _ := a.answer.Code(); a.Status != 400 || a.answer.Kind != wire.Error || !slices.Contains(codes, code) {
		t.Fail("HTTP status 400 and error -32020", check.Told(a.Exchange), "a request %s was answered with %s", what, check.Told(a.Exchange))
	}
}

// valuesCase leaves URIs out, of which parts may be the same in any case
// (RFC 3986 section 6.2.2.1).
func valuesCase(t *check.T) {
	expectRefused(t, "with Mcp-Method: Server/Discover", discovery, check.With("Mcp-Method", "Server/Discover"))
	for _, p := range namedIfAny(t) {
		if other := otherCase(p.name); other != p.name && plain(other) && !p.vain && p.method != "resources/read" {
			expectRefused(t, "with its name in another case in Mcp-Name", p, check.With("Mcp-Name", other))
		}
	}
}

// namedIfAny is namedPostings for who has something else to look at too.
func namedIfAny(t *check.T) (out []posting) {
	t.Trial(func(t *check.T) { out = namedPostings(t) })
	return out
}

func otherCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}

// plain tells whether a value stands in a header as it is.
func plain(s string) bool { return s != "" && transport.FieldValue(s) == s }

// namesCase sends bytes, since clients of HTTP write names in one way.
func namesCase(t *check.T) {
	odd := strings.NewReplacer("\r\nMcp-Method:", "\r\nmcp-mETHOD:", "\r\nMcp-Protocol-Version:", "\r\nmCP-PROTOCOL-version:", "\r\nMcp-Name:", "\r\nmcp-NAME:")
	seen := false
	for _, p := range append([]posting{discovery}, namedIfAny(t)...) {
		asTheyAre := t.RawPost(t.Frame(t.NextID(), p.method, p.params), p.edits()...)
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
}

// edits are the headers that a posting has beside those of the session.
func (p posting) edits() (out []check.Edit) {
	for name, value := range p.header {
		out = append(out, check.With(name, value))
	}
	return out
}

// bytesServed tells whether a request, as bytes, is not refused; for one in
// vain, not refused for its headers.
func bytesServed(t *check.T, p posting, request string) bool {
	r, err := t.RawHTTP(request)
	if err != nil {
		t.NotObserved("bytes could not be sent: "+err.Error(), "")
	}
	if unavailable(r.Status) {
		t.NotObserved(p.String()+" was answered with a status that says nothing of the request", "")
	}
	for _, m := range rawMessages(r) {
		if m.Kind == wire.Error {
			code, _ := m.Code()
			return p.vain && code != spec.HeaderMismatch
		}
	}
	return r.Status < 300
}

func nameMissing(t *check.T) {
	for _, p := range namedPostings(t) {
		expectRefused(t, "without Mcp-Name", p, check.Without("Mcp-Name"))
	}
}

func nameMismatch(t *check.T) {
	for _, p := range namedPostings(t) {
		expectRefused(t, "with another name in Mcp-Name", p, check.With("Mcp-Name", transport.FieldValue(p.name+"-mcpcheck")))
	}
}

func base64Marked(prefix, value string) string {
	return prefix + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// nameEncoded encodes names that could stand as they are, and uses names that
// must be encoded; those may name nothing, but that is another error.
func nameEncoded(t *check.T) {
	encoded := encodedNames(t)
	for _, p := range encoded {
		if a := available(t, p.post(t)); a.mismatched() {
			t.Fail("no error -32020", check.Told(a.Exchange), "%s, whose name has to be encoded in Mcp-Name, was answered with %s", p, check.Told(a.Exchange))
		}
	}
	for _, p := range namedPostings(t) {
		expectServed(t, "with its name in Base64 in Mcp-Name", p, check.With("Mcp-Name", base64Marked("=?base64?", p.name)))
	}
}

// encodedNames returns requests for what the server offers under names that no
// header holds as they are, at most one a kind.
func encodedNames(t *check.T) (out []posting) {
	for _, of := range [][]posting{readings(t), gettings(t), callings(t)} {
		if i := slices.IndexFunc(of, func(p posting) bool { return !plain(p.name) }); i >= 0 {
			out = append(out, of[i])
		}
	}
	return out
}

func nameMarks(t *check.T) {
	for _, p := range namedPostings(t) {
		expectRefused(t, "with its name in Base64 behind =?BASE64? in Mcp-Name", p, check.With("Mcp-Name", base64Marked("=?BASE64?", p.name)))
	}
}

func nameElsewhere(t *check.T) {
	others := []posting{discovery}
	for _, l := range listings(t) {
		others = append(others, posting{method: l.method})
	}
	for _, p := range others {
		if a := available(t, p.post(t, check.Without("Mcp-Name"))); a.mismatched() {
			t.Fail("a result", check.Told(a.Exchange), "%s without Mcp-Name, which it does not need, was answered with %s", p, check.Told(a.Exchange))
		}
	}
}

// whitespace sends bytes, since clients of HTTP take the white space off.
func whitespace(t *check.T) {
	asTheyAre := t.RawPost(t.Frame(t.NextID(), discovery.method, nil))
	if !bytesServed(t, discovery, asTheyAre) {
		t.NotObserved("server/discover over a connection of its own was refused for something else", "")
	}
	if !bytesServed(t, discovery, strings.Replace(asTheyAre, "\r\nMcp-Method: server/discover\r\n", "\r\nMcp-Method:   server/discover  \r\n", 1)) {
		t.Fail("a result", "a refusal", "server/discover with spaces around the value of Mcp-Method was refused")
	}
}

// A mistake is a posting that headers make wrong.
type mistake struct {
	posting
	what string
	edit check.Edit
}

// mistakes are those in Mcp-Method, Mcp-Name and in headers of arguments. Those
// in the version have rules of their own.
func mistakes(t *check.T) []mistake {
	out := []mistake{
		{discovery, "without Mcp-Method", check.Without("Mcp-Method")},
		{discovery, "with Mcp-Method: tools/list", check.With("Mcp-Method", "tools/list")},
	}
	for _, p := range namedIfAny(t) {
		out = append(out,
			mistake{p, "without Mcp-Name", check.Without("Mcp-Name")},
			mistake{p, "with another name in Mcp-Name", check.With("Mcp-Name", transport.FieldValue(p.name+"-mcpcheck"))})
	}
	for _, a := range mirroring(t) {
		for _, m := range a.present {
			out = append(out,
				mistake{a.posting, "without " + m.header, check.Without(m.header)},
				mistake{a.posting, "with another value in " + m.header, check.With(m.header, m.other(a.args))})
		}
	}
	return out
}

// eachRefusal gives the mistakes that are refused, and for the headers; whether
// they all are is judged header by header.
func eachRefusal(t *check.T, look func(m mistake, a posted)) {
	seen := false
	for _, m := range mistakes(t) {
		a := m.post(t, m.edit)
		if a.answer.Kind == wire.Invalid && !a.refused() {
			break // who leaves one mistake open may leave them all, and each takes its time
		}
		if a.refused() && !unavailable(a.Status) && (!m.vain || a.mismatched()) {
			seen = true
			look(m, ofTheServer(t, a))
		}
	}
	if !seen {
		t.NotObserved("nothing was refused for its headers", "")
	}
}

func headerRefusalStatus(t *check.T) {
	eachRefusal(t, func(m mistake, a posted) {
		if a.Status != 400 {
			t.Fail("HTTP status 400", check.Told(a.Exchange), "%s %s was refused with %s", m.posting, m.what, check.Told(a.Exchange))
		}
	})
}

func refusalCode(t *check.T) {
	eachRefusal(t, func(m mistake, a posted) {
		if !a.mismatched() {
			t.Fail("error -32020", check.Told(a.Exchange), "%s %s was refused with %s", m.posting, m.what, check.Told(a.Exchange))
		}
	})
}
