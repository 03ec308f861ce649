package server

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// headersOfArguments are the probes of
// basic/transports/streamable-http#custom-headers-from-tool-parameters: of the
// headers Mcp-Param-* that repeat arguments of tools.
func headersOfArguments() []check.Check {
	return []check.Check{
		{
			ID:    "headers.argument.mismatch",
			Says:  "a call is refused where the header of an argument holds another value",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-validated", "headers-body-mismatch-rejected"},
			Probe: argumentMismatch,
		},
		{
			ID:    "headers.argument.missing",
			Says:  "a call is refused where the header of an argument is missing",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-missing-rejected"},
			Probe: argumentMissing,
		},
		{
			ID:    "headers.argument.absent",
			Says:  "no header is expected for an argument that is null or not there",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-not-expected-when-absent"},
			Probe: argumentAbsent,
		},
		{
			ID:    "headers.argument.encoded",
			Says:  "the header of an argument in Base64 between its marks is decoded before it is compared",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-base64-decoded-by-readers"},
			Probe: argumentEncoded,
		},
		{
			ID:    "headers.argument.numeric",
			Says:  "the header of an integer is compared as a number",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-integer-numeric-compare"},
			Probe: argumentNumeric,
		},
		{
			ID:    "headers.argument.unknown",
			Says:  "a header Mcp-Param-* that stands for no argument is ignored",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-unknown-param-ignored"},
			Probe: func(t *check.T) {
				expectServed(t, "with Mcp-Param-Mcpcheck-Bogus", discovery, check.With("Mcp-Param-Mcpcheck-Bogus", "x"))
			},
		},
	}
}

// A mirroredArgument is an argument of a tool that a header repeats.
type mirroredArgument struct {
	path     []string // members from the arguments down
	header   string
	schema   gjson.Result
	optional bool // in the object that it is a member of
}

// of returns its value in arguments.
func (m mirroredArgument) of(args gjson.Result) gjson.Result {
	for _, member := range m.path {
		args = wire.Member(args, member)
	}
	return args
}

// other returns a value for its header that is not that of the arguments.
func (m mirroredArgument) other(args string) string {
	switch v := m.of(gjson.Parse(args)); {
	case v.Type == gjson.True:
		return "false"
	case v.Type == gjson.False:
		return "true"
	case v.Type == gjson.Number:
		n, _ := new(big.Float).SetString(v.Raw)
		return n.Add(n, big.NewFloat(1)).Text('f', 0)
	default:
		return transport.FieldValue(v.String() + "-mcpcheck")
	}
}

// written is a value as a header holds it, before it is encoded
// (basic/transports/streamable-http#value-encoding).
func written(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	return v.Raw
}

// mirroredArguments returns the arguments that the schema of a tool annotates, along
// chains of properties. A tool with an annotation that is no name of a header
// has none: what becomes of it is not said to servers.
func mirroredArguments(tool gjson.Result) (out []mirroredArgument) {
	invalid := false
	var walk func(s gjson.Result, path []string)
	walk = func(s gjson.Result, path []string) {
		required := s.Get("required").Array()
		s.Get("properties").ForEach(func(name, property gjson.Result) bool {
			at := append(path[:len(path):len(path)], name.String())
			if h := property.Get("x-mcp-header"); h.Exists() {
				invalid = invalid || h.Type != gjson.String || !transport.IsToken(h.Str)
				out = append(out, mirroredArgument{at, "Mcp-Param-" + h.String(), property, !slices.ContainsFunc(required, func(r gjson.Result) bool { return r.String() == name.String() })})
			}
			walk(property, at)
			return true
		})
	}
	walk(tool.Get("inputSchema"), nil)
	if invalid {
		return nil
	}
	return out
}

// A mirroringCall is a call of a tool, served just now, with at least one
// argument that a header repeats.
type mirroringCall struct {
	posting
	tool    gjson.Result
	args    string
	present []mirroredArgument // with a value in the arguments
	absent  []mirroredArgument // that may be left out, and are
}

// maxMirroring bounds the tools whose arguments are looked at in headers.
const maxMirroring = 3

// mirroring returns such calls: for each tool that has any, the one with the
// most of these arguments.
func mirroring(t *check.T) []mirroringCall {
	return check.Memo(t, "mirroring calls", func() (out []mirroringCall) {
		for _, tool := range knownTools(t) {
			if len(out) == maxMirroring {
				break
			}
			if len(mirroredArguments(tool)) == 0 || !t.MayCall(tool) || onlyAsTask(t, tool) || t.Learnt(slow(tool)) {
				continue
			}
			if c, ok := mirroringOf(t, tool); ok {
				out = append(out, c)
			}
		}
		return out
	})
}

func mirroringOf(t *check.T, tool gjson.Result) (best mirroringCall, ok bool) {
	for _, args := range arguments(t, tool, 4) {
		c := mirroringCall{posting: calling(tool, args), tool: tool, args: args}
		for _, m := range mirroredArguments(tool) {
			switch v := m.of(gjson.Parse(args)); {
			case v.Exists() && v.Type != gjson.Null && v.Type != gjson.JSON:
				c.present = append(c.present, m)
			case !v.Exists() && m.optional:
				c.absent = append(c.absent, m)
			}
		}
		if len(c.present) > len(best.present) && c.post(t).served() {
			best, ok = c, true
		}
	}
	return best, ok
}

// eachMirrored gives every argument that a header repeats; none ends the body.
func eachMirrored(t *check.T, fits func(m mirroredArgument) bool, look func(c mirroringCall, m mirroredArgument)) {
	seen := false
	for _, c := range mirroring(t) {
		for _, m := range c.present {
			if fits(m) {
				seen = true
				look(c, m)
			}
		}
	}
	if !seen {
		notMirrored(t)
	}
}

func notMirrored(t *check.T) {
	t.NotObserved("no tool that could be called has such an argument with x-mcp-header", "--allow-tools NAME,… allows tools that are not read-only")
}

func anyMirrored(mirroredArgument) bool { return true }

func argumentMismatch(t *check.T) {
	eachMirrored(t, anyMirrored, func(c mirroringCall, m mirroredArgument) {
		expectRefused(t, "with another value in "+m.header, c.posting, check.With(m.header, m.other(c.args)))
		// Values are compared with regard to case
		// (basic/transports/streamable-http#case-sensitivity).
		if v := m.of(gjson.Parse(c.args)); v.IsBool() {
			expectRefused(t, "with its value in capitals in "+m.header, c.posting, check.With(m.header, strings.ToUpper(v.Raw)))
		}
	})
}

func argumentMissing(t *check.T) {
	eachMirrored(t, anyMirrored, func(c mirroringCall, m mirroredArgument) {
		expectRefused(t, "without "+m.header, c.posting, check.Without(m.header))
	})
}

func argumentEncoded(t *check.T) {
	eachMirrored(t, anyMirrored, func(c mirroringCall, m mirroredArgument) {
		value := base64Marked("=?base64?", written(m.of(gjson.Parse(c.args))))
		expectServed(t, "with its value in Base64 in "+m.header, c.posting, check.With(m.header, value))
	})
}

// argumentNumeric compares what is written in digits alone.
func argumentNumeric(t *check.T) {
	seen := false
	eachMirrored(t, func(m mirroredArgument) bool { return m.schema.Get("type").String() == "integer" }, func(c mirroringCall, m mirroredArgument) {
		v := m.of(gjson.Parse(c.args))
		if v.Type != gjson.Number || strings.ContainsAny(v.Raw, ".eE") {
			return
		}
		seen = true
		expectServed(t, "with "+v.Raw+".0 in "+m.header+" for "+v.Raw, c.posting, check.With(m.header, v.Raw+".0"))
	})
	if !seen {
		notMirrored(t)
	}
}

// argumentAbsent leaves an argument out, where that is allowed, and gives it as
// null where manners allow that. Other errors than that of headers are the
// tool's own affair.
func argumentAbsent(t *check.T) {
	seen := false
	for _, c := range mirroring(t) {
		for _, m := range append(slices.Clone(c.present), c.absent...) {
			if m.optional && t.MayInvent(c.tool) {
				seen = withoutArgument(t, c, m, nil) || seen
			}
			if t.MayAbuse(c.tool) {
				seen = withoutArgument(t, c, m, json.RawMessage("null")) || seen
			}
		}
	}
	if !seen {
		notMirrored(t)
	}
}

// withoutArgument calls with a value that is none, and tells whether the
// headers were good.
func withoutArgument(t *check.T, c mirroringCall, m mirroredArgument, value any) bool {
	what := "without the argument " + strings.Join(m.path, ".")
	if value != nil {
		what = "with null for the argument " + strings.Join(m.path, ".")
	}
	p := calling(c.tool, string(edited(c.args, m.path, value)))
	a := available(t, p.post(t, check.Without(m.header)))
	if a.mismatched() {
		t.Fail("no error -32020", check.Told(a.Exchange), "%s %s, and without %s, was answered with %s", p, what, m.header, check.Told(a.Exchange))
	}
	return a.served()
}

// invalidCharacters sends text beyond ASCII as it is, in a header that would
// hold the right value if it might: of an argument where there is one that takes
// such text, else of a name, if need be of a tool that does not exist.
func invalidCharacters(t *check.T) {
	const text = "Grüße"
	for _, c := range mirroring(t) {
		for _, m := range c.present {
			if m.of(gjson.Parse(c.args)).Type != gjson.String || !t.MayInvent(c.tool) {
				continue
			}
			p := calling(c.tool, string(edited(c.args, m.path, text)))
			if !p.post(t).served() {
				continue // encoded it is refused too
			}
			expectBeyondASCIIRefused(t, p, m.header, text)
			return
		}
	}
	for _, p := range namedIfAny(t) {
		if !p.vain && strings.ContainsFunc(p.name, func(c rune) bool { return c > '~' }) {
			expectBeyondASCIIRefused(t, p, "Mcp-Name", p.name)
			return
		}
	}
	if !t.Declares("tools") {
		t.NotObserved("nothing that the server offers has characters beyond ASCII in its name", "")
	}
	unknown := noSuchTool + "_" + text
	p := posting{method: "tools/call", params: check.Params{"name": unknown, "arguments": check.Params{}}, name: unknown, vain: true}
	expectBeyondASCIIRefused(t, p, "Mcp-Name", unknown)
}

// expectBeyondASCIIRefused takes a refusal beneath the protocol for one, too; an
// error that answers what is in vain anyway says nothing of the header.
func expectBeyondASCIIRefused(t *check.T, p posting, header, text string) {
	x, err := t.TryPost(t.Frame(t.NextID(), p.method, p.params), append(p.edits(), check.With(header, text))...)
	if err != nil {
		t.NotObserved("a header beyond ASCII was not answered: "+err.Error(), "")
	}
	m, _ := t.Response(x)
	if code, _ := m.Code(); x.Status == 400 && m.Kind != wire.Result && (!p.vain || m.Kind == wire.Invalid || code == spec.HeaderMismatch) {
		return
	}
	expectRefused(t, "with characters beyond ASCII in "+header, p, check.With(header, text))
}
