package posting

import (
	"math/big"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A MirroredArgument is an argument of a tool that a header repeats.
type MirroredArgument struct {
	Path     []string // members from the arguments down
	Header   string
	Schema   gjson.Result
	Optional bool // not required by the object that holds it
}

// Value returns the value of the argument in arguments.
func (m MirroredArgument) Value(args gjson.Result) gjson.Result {
	for _, member := range m.Path {
		args = wire.Member(args, member)
	}
	return args
}

// OtherHeaderValue returns a header value that differs from the argument.
func (m MirroredArgument) OtherHeaderValue(args string) string {
	switch v := m.Value(gjson.Parse(args)); {
	case v.Type == gjson.True:
		return "false"
	case v.Type == gjson.False:
		return "true"
	case v.Type == gjson.Number:
		n, _ := new(big.Float).SetString(v.Raw)
		return n.Add(n, big.NewFloat(1)).Text('f', 0)
	default:
		return transport.EncodeFieldValue(v.String() + "-mcpcheck")
	}
}

// HeaderValue returns a value as a header holds it before it is encoded
// (basic/transports/streamable-http#value-encoding).
func HeaderValue(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	return v.Raw
}

// MirroredArguments returns the arguments that the schema of a tool annotates, along
// chains of properties. It returns none for a tool with an annotation that is no header
// name: the specification does not say how servers treat it.
func MirroredArguments(tool gjson.Result) (out []MirroredArgument) {
	invalid := false
	var walk func(s gjson.Result, path []string)
	walk = func(s gjson.Result, path []string) {
		required := s.Get("required").Array()
		s.Get("properties").ForEach(func(name, property gjson.Result) bool {
			at := append(path[:len(path):len(path)], name.String())
			if h := property.Get("x-mcp-header"); h.Exists() {
				invalid = invalid || h.Type != gjson.String || !transport.IsToken(h.Str)
				out = append(out, MirroredArgument{at, "Mcp-Param-" + h.String(), property,
					!slices.ContainsFunc(required, func(r gjson.Result) bool {
						return r.String() == name.String()
					})})
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
