package transcript

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Params returns the params of the request.
func (a InputRequest) Params() Part { return a.Member("params") }

// Members returns the members of an object, and none of another value.
func (p Part) Members() []Part {
	if !p.Value.IsObject() {
		return nil
	}
	var out []Part
	p.Value.ForEach(func(key, v gjson.Result) bool {
		out = append(out, Part{p.Pointer + "/" + pointerStep.Replace(key.String()), v})
		return true
	})
	return out
}

// Client returns what the client declared when it received the request: in the opening
// of the session, or in its own request that the input request belongs to.
func (a InputRequest) Client(j *check.J) gjson.Result {
	if !j.Facts.Stateless {
		return j.Capabilities(wire.Client)
	}
	request, _ := j.RequestOf(a.Entry)
	return wire.Member(request.Message.Params().Get("_meta"), spec.MetaClientCapabilities)
}
