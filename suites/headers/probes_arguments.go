package headers

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

const (
	noArgument = "no tool that could be called has such an argument with x-mcp-header"
	allowTools = "offer a read-only tool with x-mcp-header on an argument" + check.OrAllow
)

// argumentProbes returns the probes of the headers Mcp-Param-*, which repeat
// arguments of tools
// (basic/transports/streamable-http#custom-headers-from-tool-parameters).
func argumentProbes() []check.Check {
	return []check.Check{
		{
			ID:    "headers.argument.mismatch",
			Says:  "the server refuses a call if the header of an argument has another value",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-validated", "headers-body-mismatch-rejected"},
			Idle:  noArgument,
			Hint:  allowTools,
			// Values are compared case-sensitively
			// (basic/transports/streamable-http#case-sensitivity).
			Probe: func(t *check.T) {
				for _, v := range mirroredValues(t) {
					posting.ExpectRefused(t, "with another value in "+v.argument.Header, v.Posting, v.withOther())
					if v.value.IsBool() {
						upper := check.With(v.argument.Header, strings.ToUpper(v.value.Raw))
						posting.ExpectRefused(t, "with its value in upper case in "+v.argument.Header, v.Posting, upper)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.argument.missing",
			Says:  "the server refuses a call if the header of an argument is missing",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-missing-rejected"},
			Idle:  noArgument,
			Hint:  allowTools,
			Probe: func(t *check.T) {
				for _, v := range mirroredValues(t) {
					posting.ExpectRefused(t, "without "+v.argument.Header, v.Posting, check.Without(v.argument.Header))
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.argument.absent",
			Says:  "the server does not expect the header of an argument that is null or absent",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-not-expected-when-absent"},
			Idle:  noArgument,
			Hint:  "offer a read-only tool with x-mcp-header on an optional argument" + check.OrAllow,
			// Only optional arguments are left out; null may be an invalid argument.
			Probe: func(t *check.T) {
				for _, c := range mirroringCalls(t) {
					for _, m := range append(slices.Clone(c.present), c.absent...) {
						if m.Optional && t.Config().MayInvent(c.tool) {
							expectHeaderNotRequired(t, c, m, "without the argument ", nil)
						}
						if t.Config().MaySendInvalid(c.tool) {
							expectHeaderNotRequired(t, c, m, "with null for the argument ", json.RawMessage("null"))
						}
					}
				}
			},
		},
		{
			ID:    "headers.argument.encoded",
			Says:  "the server decodes a Base64 value in the header of an argument before it compares it",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-base64-decoded-by-readers"},
			Idle:  noArgument,
			Hint:  allowTools,
			Probe: func(t *check.T) {
				for _, v := range mirroredValues(t) {
					encoded := check.With(v.argument.Header, base64Value("=?base64?", posting.HeaderValue(v.value)))
					posting.ExpectServed(t, "with its value in Base64 in "+v.argument.Header, v.Posting, encoded)
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.argument.numeric",
			Says:  "the server compares the header of an integer numerically",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"headers-integer-numeric-compare"},
			Idle:  noArgument,
			Hint:  "offer a read-only tool with x-mcp-header on an integer argument" + check.OrAllow,
			// Only integers that are written in digits alone get the fraction .0.
			Probe: func(t *check.T) {
				for _, v := range mirroredValues(t) {
					isInteger := v.argument.Schema.Get("type").String() == "integer" && v.value.Type == gjson.Number
					if !isInteger || strings.ContainsAny(v.value.Raw, ".eE") {
						continue
					}
					what := "with " + v.value.Raw + ".0 in " + v.argument.Header + " for " + v.value.Raw
					posting.ExpectServed(t, what, v.Posting, check.With(v.argument.Header, v.value.Raw+".0"))
					t.Saw()
				}
			},
		},
		{
			ID:    "headers.argument.unknown",
			Says:  "the server ignores a header Mcp-Param-* that repeats no argument",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"headers-unknown-param-ignored"},
			Idle:  "the server did not answer the request",
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				const header = "Mcp-Param-Mcpcheck-Bogus"
				posting.ExpectServed(t, "with "+header, posting.Discovery, check.With(header, "x"))
				t.Saw()
			},
		},
	}
}

// A mirroringCall is a call of a tool that was served, with at least one argument that
// a header repeats.
type mirroringCall struct {
	posting.Posting
	tool    gjson.Result
	args    string
	present []posting.MirroredArgument // with a value in the arguments
	absent  []posting.MirroredArgument // optional, and without a value
}

// maxMirroringTools bounds the tools whose arguments are sent in headers.
const maxMirroringTools = 3

var mirroringCallsKey = check.NewKey[[]mirroringCall]("calls with arguments in headers")

// mirroringCalls returns such calls: of each tool that has any, the one with the most
// of these arguments.
func mirroringCalls(t *check.T) []mirroringCall {
	return check.Once(t, mirroringCallsKey, func() (out []mirroringCall) {
		for _, tool := range offer.Tools(t) {
			if len(out) == maxMirroringTools {
				break
			}
			if len(posting.MirroredArguments(tool)) == 0 || !t.Config().MayCall(tool) ||
				offer.RequiresTask(t, tool) || check.HasTrait(t, offer.SlowTool(tool)) {
				continue
			}
			if c, ok := mirroringCallOf(t, tool); ok {
				out = append(out, c)
			}
		}
		return out
	})
}

// mirroringCallOf returns the call of a tool with the most arguments that headers
// repeat.
func mirroringCallOf(t *check.T, tool gjson.Result) (best mirroringCall, ok bool) {
	for _, args := range offer.Arguments(t, tool, 4) {
		c := mirroringCall{Posting: posting.CallPosting(tool, args), tool: tool, args: args}
		for _, m := range posting.MirroredArguments(tool) {
			switch v := m.Value(gjson.Parse(args)); {
			case v.Exists() && v.Type != gjson.Null && v.Type != gjson.JSON:
				c.present = append(c.present, m)
			case !v.Exists() && m.Optional:
				c.absent = append(c.absent, m)
			}
		}
		if len(c.present) > len(best.present) && c.Post(t).IsServed() {
			best, ok = c, true
		}
	}
	return best, ok
}

// A mirroredValue is an argument of a call that a header repeats.
type mirroredValue struct {
	mirroringCall
	argument posting.MirroredArgument
	value    gjson.Result
}

// mirroredValues returns the arguments of all mirroring calls that headers repeat.
func mirroredValues(t *check.T) (out []mirroredValue) {
	for _, c := range mirroringCalls(t) {
		for _, m := range c.present {
			out = append(out, mirroredValue{c, m, m.Value(gjson.Parse(c.args))})
		}
	}
	return out
}

// withOther puts another value into the header of the argument.
func (v mirroredValue) withOther() check.Edit {
	return check.With(v.argument.Header, v.argument.OtherHeaderValue(v.args))
}

// expectHeaderNotRequired calls a tool with a value that is none, without the header
// of the argument, and judges that the call is not refused for its headers. Other
// errors are the tool's own.
func expectHeaderNotRequired(t *check.T, c mirroringCall, m posting.MirroredArgument, what string, value any) {
	p := posting.CallPosting(c.tool, string(posting.EditArguments(c.args, m.Path, value)))
	a := posting.RequireAvailable(t, p.Post(t, check.Without(m.Header)))
	if a.IsHeaderMismatch() {
		t.Fail("no error -32020", check.Describe(a.PendingExchange), "%s %s, and without %s, was answered with %s",
			p, what+strings.Join(m.Path, "."), m.Header, check.Describe(a.PendingExchange))
	}
	if a.IsServed() {
		t.Saw()
	}
}
