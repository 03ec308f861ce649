package transcript

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// HeadersRepeatBody tells whether the headers of a request over HTTP say what its body
// says, word by word, and the server has shown that it needs none further for
// the method. Names that are encoded are judged by a rule of their own, and a
// header without a value may be taken for one that is missing (#server-validation).
func HeadersRepeatBody(j *check.J, request wire.Entry) bool {
	m, h := request.Message, http.Header(request.HTTP.Header)
	method := m.Method()
	version := wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).String()
	if h.Get("Mcp-Method") != method || h.Get("Mcp-Protocol-Version") != version {
		return false
	}
	switch name, uri := m.Params().Get("name"), m.Params().Get("uri"); method {
	case "tools/call": // whose arguments may have to be repeated too
		return false
	case "prompts/get":
		return name.Str != "" && h.Get("Mcp-Name") == name.Str
	case "resources/read":
		return uri.Str != "" && h.Get("Mcp-Name") == uri.Str
	}
	return servedAt(j, method)
}

// servedAt tells whether a request of the method was answered with a result.
func servedAt(j *check.J, method string) bool {
	return check.Derived(j, "served methods", func() map[string]bool {
		served := map[string]bool{}
		for _, e := range j.Sent() {
			if request, ok := j.RequestOf(e); ok && e.Message.Kind == wire.Result {
				served[request.Message.Method()] = true
			}
		}
		return served
	})[method]
}
