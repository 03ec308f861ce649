package authorization

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// upstreamProbes returns the probe of the requests that a server sends to others
// (basic/authorization#access-token-privilege-restriction).
func upstreamProbes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.token.passthrough",
			Says:  "the server does not pass on the token of the client to a URL that a tool fetches",
			Level: spec.Must,
			In:    binding,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"authorization-no-token-passthrough"},
			Idle:  "no tool that may be called fetches a URL in its arguments",
			Hint:  "offer a read-only tool that fetches the URL in its argument url" + check.OrAllow,
			// The tools are called with the URL of a page of ours, which only a server on the
			// loopback interface can reach.
			Probe: func(t *check.T) {
				requireProtected(t)
				if !onLoopback(t) {
					t.NotObserved("our page can only be reached on the loopback interface",
						"judge an instance of the server at a URL with localhost or 127.0.0.1")
				}
				u, err := listenUpstream()
				if err != nil {
					t.NotObserved(err.Error(), "let mcpcheck listen on 127.0.0.1")
				}
				defer u.stop()
				for _, tool := range offer.Tools(t) {
					argument, made := urlArgument(tool), offer.Arguments(t, tool, 1)
					if argument == "" || len(made) == 0 || offer.RequiresTask(t, tool) || !t.Config().MayInvent(tool) {
						continue
					}
					name := tool.Get("name").String()
					args, ok := withArgument(made[0], argument, u.URL)
					if !ok || t.Try("tools/call", check.Params{"name": name, "arguments": args}).Err != nil {
						continue
					}
					for _, request := range u.requests() {
						if strings.Contains(request, t.Auth().Bearer()) {
							t.Fail("a request without the token", wire.Clip(request, 300),
								"tool %q was called with a URL of ours, and its request holds the token of the client",
								name)
						}
						t.Saw()
					}
				}
			},
		},
	}
}
