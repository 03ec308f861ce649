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
	Optional bool // in the object that it is a member of
}

// Of returns its value in arguments.
func (m MirroredArgument) Of(args gjson.Result) gjson.Result {
	for _, member := range m.Path {
		args = wire.Member(args, member)
	}
	return args
}

// Other returns a value for its header that is not that of the arguments.
func (m MirroredArgument) Other(args string) string {
	switch v := m.Of(gjson.Parse(args)); {
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

// HeaderValue is a value as a header holds it, before it is encoded
// (basic/transports/streamable-http#value-encoding).
func HeaderValue(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	return v.Raw
}

// MirroredArguments returns the arguments that the schema of a tool annotates, along
// chains of properties. A tool with an annotation that is no name of a header
// has none: what becomes of it is not said to servers.
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
