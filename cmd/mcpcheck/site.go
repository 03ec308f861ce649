package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

// The values of --transport.
const (
	transportAuto  = "auto"
	transportHTTP  = "streamable-http"
	transportSSE   = "sse"
	transportStdio = "stdio"
)

// addSite declares the flags of servers over HTTP.
func (f *flags) addSite(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.transport, "transport", transportAuto, "speak to the target over this `transport`: stdio, streamable-http, sse, or auto to find out")
	s.StringArrayVar(&f.headers, "header", nil, "send `'Name: value'` with every HTTP request; no report shows the value (repeatable)")
	s.StringVar(&f.url, "url", "", "start the command, and judge what it serves at this `URL`")
	complete(cmd, "transport", func() []string { return []string{transportAuto, transportHTTP, transportSSE, transportStdio} })
}

// A site is a server over HTTP that the command line names.
type site struct {
	endpoint *transport.Endpoint
	kind     transport.Kind // "" to find out
	command  []string       // that starts it, or nil
}

// site returns the server over HTTP that is to be judged; nil where the target
// is spoken to over stdio.
func (f *flags) site(cmd *cobra.Command, args []string) (*site, error) {
	at := f.url
	s := &site{}
	switch {
	case f.reference != "":
	case at == "" && len(args) > 0 && isURL(args[0]) && cmd.ArgsLenAtDash() != 0:
		if at = args[0]; len(args) > 1 {
			return nil, fmt.Errorf("%q is too much behind the URL; a command that is to be started goes behind --url %s --", args[1], at)
		}
	case at != "" && len(args) == 0:
		return nil, fmt.Errorf("--url %s is for a server that is to be started: say the command after --, or give the URL alone", at)
	case at != "" && cmd.ArgsLenAtDash() != 0:
		return nil, fmt.Errorf("%q stands before --: with --url only the command that starts the server is given, after --", args[0])
	case at != "":
		s.command = args
	}
	header, err := readHeaders(f.headers)
	if err != nil {
		return nil, err
	}
	if s.kind, err = f.kind(); err != nil {
		return nil, err
	}
	switch {
	case f.reference != "" && (header != nil || f.url != ""):
		return nil, errors.New("--reference judges our own server: --url and --header are for others")
	case f.reference != "":
		return nil, nil
	case at == "" && s.kind != "" && s.kind != transport.Stdio:
		return nil, fmt.Errorf("--transport %s needs a URL", f.transport)
	case at == "" && header != nil:
		return nil, errors.New("--header is for servers over HTTP: no URL is given")
	case at == "" && f.url == "":
		return nil, nil
	case s.kind == transport.Stdio:
		return nil, fmt.Errorf("--transport stdio is for a command, not for %s", shownURL(at))
	}
	s.endpoint, err = transport.NewEndpoint(at, transport.HTTPOptions{Header: header, DialTimeout: f.timeout})
	return s, err
}

// kind returns the transport that --transport names; "" where that is to be
// found out, or follows from the target.
func (f *flags) kind() (transport.Kind, error) {
	switch f.transport {
	case transportHTTP, string(transport.HTTP):
		return transport.HTTP, nil
	case transportSSE:
		return transport.SSE, nil
	case transportStdio:
		return transport.Stdio, nil
	case transportAuto, "":
		return "", nil
	}
	return "", fmt.Errorf("--transport takes %s, %s, %s or %s, not %q", transportAuto, transportHTTP, transportSSE, transportStdio, f.transport)
}

func isURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// shownURL is a URL without its password.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Redacted()
}

// ours are header fields whose values the transports decide.
func ours(name string) bool {
	switch name {
	case "Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id", "Transfer-Encoding":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}

// readHeaders reads the values of --header. What it says of a bad one leaves
// out the value, which may be secret.
func readHeaders(lines []string) (http.Header, error) {
	var out http.Header
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok:
			return nil, errors.New("--header takes 'Name: value'; one has no colon")
		case !fieldName(name):
			return nil, fmt.Errorf("--header: %q is no name of a header field", name)
		case strings.ContainsFunc(value, control):
			return nil, fmt.Errorf("--header: the value of %s holds what a header field cannot", name)
		case ours(http.CanonicalHeaderKey(name)):
			return nil, fmt.Errorf("--header: %s is set by mcpcheck itself", name)
		}
		if out == nil {
			out = http.Header{}
		}
		out.Add(name, value)
	}
	return out, nil
}

// fieldName tells whether a text is a token, as a name of a header field must be.
func fieldName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// headerNames are the header fields that were given, without their values.
func (f *flags) headerNames() []string {
	var out []string
	for _, line := range f.headers {
		name, _, _ := strings.Cut(line, ":")
		out = append(out, name+": …")
	}
	return out
}

// words are how a command line names the site.
func (s *site) words() []string {
	if s.command == nil {
		return []string{s.endpoint.Shown()}
	}
	return append([]string{"--url", s.endpoint.Shown(), "--"}, s.command...)
}

// open starts the server where a command is given, and finds out how it is
// spoken to. It returns what was found in words, and what ends the server and
// tells of an end that it came to by itself.
func (s *site) open(ctx context.Context, f *flags) (target transport.Site, found string, end func() (early string), err error) {
	end = func() string { s.endpoint.Close(); return "" }
	target = transport.Site{Endpoint: s.endpoint, Kind: s.kind}
	o := f.session()
	if s.command != nil {
		guard, err := startGuard()
		if err != nil {
			return target, "", end, err
		}
		hosted, err := transport.StartAt(ctx, transport.Command{Argv: s.command, Env: f.env, Dir: f.cwd, Guard: guard}, s.endpoint, f.start)
		if err != nil {
			guard.Close()
			return target, "", end, err
		}
		target.Stderr = hosted.Stderr
		end = func() string {
			s.endpoint.Close()
			early := hosted.Ended()
			hosted.Close(o.Grace)
			guard.Close()
			return early
		}
	}
	if s.kind != "" {
		return target, fmt.Sprintf("transport: %s, as asked for", f.transport), end, nil
	}
	var says string
	if target.Kind, says, err = session.Detect(ctx, s.endpoint, o); err == nil {
		found = "transport: " + says
	}
	return target, found, end, err
}

// unreached is the report of a run whose target could not be spoken to at all.
func unreached(ctx context.Context, began time.Time, seed uint64) *reports.Run {
	run := &reports.Run{Format: 1, Started: began.UTC(), Seed: seed, Ended: reports.Complete, Target: reports.Target{Role: "server"}}
	run.MS = float64(time.Since(began).Microseconds()) / 1000
	if ctx.Err() != nil {
		run.Ended = reports.Interrupted
	}
	run.Count()
	return run
}
