package selftest

import (
	"context"
	"net/netip"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/authserver"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// pace is that of the tools of the public contract: their pauses prove nothing.
const pace = time.Millisecond

// shortDeadlines are the deadlines of runs in this process: an answer comes within
// microseconds or not at all, so that a short wait mostly suffices. On a busy machine
// it may not: a cell that is not exact is repeated with longer deadlines, and
// if need be alone, and that run counts.
func shortDeadlines() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 600*time.Millisecond, 5*time.Second, 600*time.Millisecond
	o.LocalAddresses = func() []netip.Addr { // so that nothing is opened to other machines
		if a, ok := server.SecondLoopbackAddress(); ok {
			return []netip.Addr{a}
		}
		return nil
	}
	return o
}

// longDeadlines are the deadlines of runs on a busy machine.
func longDeadlines() session.Options {
	o := shortDeadlines()
	o.Timeout, o.Grace = 3*time.Second, 3*time.Second
	return o
}

// A subject is a reference server to be judged.
type subject struct {
	over      transport.Kind
	protected bool // it requires an access token
	options   server.Options
}

// serve starts to serve the subject, and returns it as a target with what the checks
// are given of it.
func (s subject) serve() (at transport.Target, given check.Given, end func(), err error) {
	switch {
	case s.protected:
		served, err := authserver.StartProtected(s.over, s.options)
		if err != nil {
			return nil, given, nil, err
		}
		given.Authorization = check.Authorization{
			Tokens: served.Tokens, Private: authserver.PrivateResources(),
			Mint: func(_ context.Context, scope string) (string, error) {
				return served.Server.Mint(authserver.FirstUserToken, served.Server.Issuer()+"/mcp", scope)
			},
		}
		return served.Site, given, served.Stop, nil
	case s.over == transport.HTTP, s.over == transport.SSE:
		site, end, err := server.HTTPTarget(s.over, s.options)
		return site, given, end, err
	}
	return server.Target("reference", s.options), given, func() {}, nil
}

// judge runs checks on the subject.
func (s subject) judge(ctx context.Context, o engine.Options) (*reports.Run, error) {
	at, given, end, err := s.serve()
	if err != nil {
		return nil, err
	}
	defer end()
	o.Given, o.Allow = given, func(string) bool { return true }
	return engine.Run(ctx, at, o)
}
