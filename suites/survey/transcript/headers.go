package transcript

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// HeadersRepeatBody reports whether the headers of a request over HTTP match its body
// exactly, and the server has shown that it needs no further header for the method.
// Another check judges encoded names, and a server may treat a header without a value
// as missing (#server-validation).
func HeadersRepeatBody(j *check.J, request wire.Entry) bool {
	m, h := request.Message, http.Header(request.HTTP.Header)
	method := m.Method()
	version := wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).String()
	if h.Get("Mcp-Method") != method || h.Get("Mcp-Protocol-Version") != version {
		return false
	}
	switch name, uri := m.Params().Get("name"), m.Params().Get("uri"); method {
	case "tools/call": // a header may have to repeat an argument
		return false
	case "prompts/get":
		return name.Str != "" && h.Get("Mcp-Name") == name.Str
	case "resources/read":
		return uri.Str != "" && h.Get("Mcp-Name") == uri.Str
	}
	return hasResult(j, method)
}

// hasResult reports whether a request of the method was answered with a result.
func hasResult(j *check.J, method string) bool {
	return check.Derived(j, "methods with results", func() map[string]bool {
		served := map[string]bool{}
		for _, e := range j.Sent() {
			if request, ok := j.RequestOf(e); ok && e.Message.Kind == wire.Result {
				served[request.Message.Method()] = true
			}
		}
		return served
	})[method]
}
