package headers

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
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
			Probe: func(t *check.T) {
				eachMirrored(t, anyMirrored, func(c mirroringCall, m posting.MirroredArgument) {
					posting.ExpectRefused(t, "with another value in "+m.Header, c.Posting, check.With(m.Header, m.Other(c.args)))
					// Values are compared with regard to case
					// (basic/transports/streamable-http#case-sensitivity).
					if v := m.Of(gjson.Parse(c.args)); v.IsBool() {
						posting.ExpectRefused(t, "with its value in capitals in "+m.Header, c.Posting, check.With(m.Header, strings.ToUpper(v.Raw)))
					}
				})
			},
		},
		{
			ID:    "headers.argument.missing",
			Says:  "a call is refused where the header of an argument is missing",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-missing-rejected"},
			Probe: func(t *check.T) {
				eachMirrored(t, anyMirrored, func(c mirroringCall, m posting.MirroredArgument) {
					posting.ExpectRefused(t, "without "+m.Header, c.Posting, check.Without(m.Header))
				})
			},
		},
		{
			ID:    "headers.argument.absent",
			Says:  "no header is expected for an argument that is null or not there",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-not-expected-when-absent"},
			// argumentAbsent leaves an argument out, where that is allowed, and gives it as
			// null where manners allow that. Other errors than that of headers are the
			// tool's own affair.
			Probe: func(t *check.T) {
				seen := false
				for _, c := range mirroring(t) {
					for _, m := range append(slices.Clone(c.present), c.absent...) {
						if m.Optional && t.Config().MayInvent(c.tool) {
							seen = withoutArgument(t, c, m, nil) || seen
						}
						if t.Config().MaySendInvalid(c.tool) {
							seen = withoutArgument(t, c, m, json.RawMessage("null")) || seen
						}
					}
				}
				if !seen {
					notMirrored(t)
				}
			},
		},
		{
			ID:    "headers.argument.encoded",
			Says:  "the header of an argument in Base64 between its marks is decoded before it is compared",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-base64-decoded-by-readers"},
			Probe: func(t *check.T) {
				eachMirrored(t, anyMirrored, func(c mirroringCall, m posting.MirroredArgument) {
					value := base64Marked("=?base64?", posting.HeaderValue(m.Of(gjson.Parse(c.args))))
					posting.ExpectServed(t, "with its value in Base64 in "+m.Header, c.Posting, check.With(m.Header, value))
				})
			},
		},
		{
			ID:    "headers.argument.numeric",
			Says:  "the header of an integer is compared as a number",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-integer-numeric-compare"},
			// argumentNumeric compares what is written in digits alone.
			Probe: func(t *check.T) {
				seen := false
				eachMirrored(t, func(m posting.MirroredArgument) bool { return m.Schema.Get("type").String() == "integer" }, func(c mirroringCall, m posting.MirroredArgument) {
					v := m.Of(gjson.Parse(c.args))
					if v.Type != gjson.Number || strings.ContainsAny(v.Raw, ".eE") {
						return
					}
					seen = true
					posting.ExpectServed(t, "with "+v.Raw+".0 in "+m.Header+" for "+v.Raw, c.Posting, check.With(m.Header, v.Raw+".0"))
				})
				if !seen {
					notMirrored(t)
				}
			},
		},
		{
			ID:    "headers.argument.unknown",
			Says:  "a header Mcp-Param-* that stands for no argument is ignored",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-unknown-param-ignored"},
			Probe: func(t *check.T) {
				posting.ExpectServed(t, "with Mcp-Param-Mcpcheck-Bogus", posting.Discovery, check.With("Mcp-Param-Mcpcheck-Bogus", "x"))
			},
		},
	}
}

// A mirroringCall is a call of a tool, served just now, with at least one
// argument that a header repeats.
type mirroringCall struct {
	posting.Posting
	tool    gjson.Result
	args    string
	present []posting.MirroredArgument // with a value in the arguments
	absent  []posting.MirroredArgument // that may be left out, and are
}

// maxMirroring bounds the tools whose arguments are looked at in headers.
const maxMirroring = 3

var mirroringCallsKey = check.NewKey[[]mirroringCall]("mirroring calls")

// mirroring returns such calls: for each tool that has any, the one with the
// most of these arguments.
func mirroring(t *check.T) []mirroringCall {
	return check.Once(t, mirroringCallsKey, func() (out []mirroringCall) {
		for _, tool := range offer.Tools(t) {
			if len(out) == maxMirroring {
				break
			}
			if len(posting.MirroredArguments(tool)) == 0 || !t.Config().MayCall(tool) || offer.OnlyAsTask(t, tool) || check.Has(t, offer.SlowTool(tool)) {
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
	for _, args := range offer.Arguments(t, tool, 4) {
		c := mirroringCall{Posting: posting.Calling(tool, args), tool: tool, args: args}
		for _, m := range posting.MirroredArguments(tool) {
			switch v := m.Of(gjson.Parse(args)); {
			case v.Exists() && v.Type != gjson.Null && v.Type != gjson.JSON:
				c.present = append(c.present, m)
			case !v.Exists() && m.Optional:
				c.absent = append(c.absent, m)
			}
		}
		if len(c.present) > len(best.present) && c.Post(t).Served() {
			best, ok = c, true
		}
	}
	return best, ok
}

// eachMirrored gives every argument that a header repeats; none ends the body.
func eachMirrored(t *check.T, fits func(m posting.MirroredArgument) bool, look func(c mirroringCall, m posting.MirroredArgument)) {
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

func anyMirrored(posting.MirroredArgument) bool { return true }

// withoutArgument calls with a value that is none, and tells whether the
// headers were good.
func withoutArgument(t *check.T, c mirroringCall, m posting.MirroredArgument, value any) bool {
	what := "without the argument " + strings.Join(m.Path, ".")
	if value != nil {
		what = "with null for the argument " + strings.Join(m.Path, ".")
	}
	p := posting.Calling(c.tool, string(posting.Edited(c.args, m.Path, value)))
	a := posting.Available(t, p.Post(t, check.Without(m.Header)))
	if a.Mismatched() {
		t.Fail("no error -32020", check.Describe(a.Exchange), "%s %s, and without %s, was answered with %s", p, what, m.Header, check.Describe(a.Exchange))
	}
	return a.Served()
}

// expectBeyondASCIIRefused takes a refusal beneath the protocol for one, too; an
// error that answers what is in vain anyway says nothing of the header.
func expectBeyondASCIIRefused(t *check.T, p posting.Posting, header, text string) {
	x, err := t.HTTP().TryPost(t.Frame(t.NextID(), p.Method, p.Params), append(p.Edits(), check.With(header, text))...)
	if err != nil {
		t.NotObserved("a header beyond ASCII was not answered: "+err.Error(), "")
	}
	m, _ := t.HTTP().Response(x)
	if code, _ := m.Code(); x.Status == 400 && m.Kind != wire.Result && (!p.Vain || m.Kind == wire.Invalid || code == spec.HeaderMismatch) {
		return
	}
	posting.ExpectRefused(t, "with characters beyond ASCII in "+header, p, check.With(header, text))
}
