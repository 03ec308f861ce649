package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A Target is the server or client under test. Command, URL and InProcess make one.
type Target struct {
	name    string
	server  func(*settings) (transport.Target, error)
	client  func(*settings) (script.Client, error)
	process bool           // sessions are processes
	opened  *engine.Engine // of the command line
}

// String returns the target as a person would name it.
func (t Target) String() string { return t.name }

// Command returns a target that is started by a command. A server is spoken to over
// stdio. In the arguments of a client "{server}" becomes the command of the scripted
// server, which needs BridgeMain; with "{url}" the client is given the URL of a
// scripted server over HTTP instead, see Transport.
func Command(argv ...string) Target {
	t := Target{name: transport.ShellQuote(argv), process: true}
	command := func(s *settings) (transport.Command, error) {
		if len(argv) == 0 {
			return transport.Command{}, errors.New("suites: Command needs the name of a program")
		}
		return transport.Command{Argv: argv, Env: s.env, Dir: s.dir}, nil
	}
	t.server = func(s *settings) (transport.Target, error) { return command(s) }
	t.client = func(s *settings) (script.Client, error) {
		c, err := command(s)
		if err != nil {
			return nil, err
		}
		if strings.Contains(strings.Join(argv, " "), script.URLPlaceholder) {
			kind := s.kind
			if kind == "" {
				kind = transport.HTTP
			}
			return script.HTTPCommand{Command: c, Kind: kind}, nil
		}
		if !bridgeReady {
			return nil, errors.New("suites: a client that starts its server needs BridgeMain: " +
				"call it first in TestMain or main")
		}
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return script.StdioCommand{Command: c, Bridge: []string{self, bridgeArgument}}, nil
	}
	return t
}

// URL returns a target that is a server at an http or https URL. Whether it serves
// streamable HTTP or HTTP+SSE is detected, unless Transport says it.
func URL(url string) Target {
	return Target{
		name: url,
		server: func(s *settings) (transport.Target, error) {
			endpoint, err := transport.NewEndpoint(url,
				transport.HTTPOptions{Header: s.header, TLS: s.tls, DialTimeout: s.engine.Session.Timeout})
			if err != nil {
				return nil, err
			}
			kind := s.kind
			if kind == "" {
				if kind, _, err = session.DetectTransport(context.Background(), endpoint,
					s.engine.Session); err != nil {
					return nil, err
				}
			}
			return transport.HTTPTarget{Endpoint: endpoint, Kind: kind}, nil
		},
		client: func(*settings) (script.Client, error) {
			return nil, fmt.Errorf("suites: %s is a server; a client is a Command or InProcess", url)
		},
	}
}

// InProcess returns a target that is a function of this process. A server reads
// messages from in and writes messages to out, one a line as over stdio, and returns
// when in ends or ctx is done. A client does the same, with a scripted server at the
// other end. The function is called once for each session, several times at once.
func InProcess(serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error) Target {
	run := func(ctx context.Context, in io.Reader, out io.Writer) error {
		return serve(ctx, readCloser(in), writeCloser(out))
	}
	return Target{
		name: "in process",
		server: func(*settings) (transport.Target, error) {
			return transport.InProcess{Name: "in process", Serve: run}, nil
		},
		client: func(*settings) (script.Client, error) {
			return script.StdioFunc{Name: "in process", Run: func(ctx context.Context, server transport.Starter) error {
				return connect(ctx, server, serve)
			}}, nil
		},
	}
}

func readCloser(r io.Reader) io.ReadCloser {
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

func writeCloser(w io.Writer) io.WriteCloser {
	if wc, ok := w.(io.WriteCloser); ok {
		return wc
	}
	return nopWriteCloser{w}
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

func init() {
	engine.OfTarget = func(target, options any, client bool, rev spec.Revision) (*engine.Engine, error) {
		return newEngine(target.(Target), options.([]Option), client, rev)
	}
	engine.AsTarget = func(e *engine.Engine) any { return Target{name: "opened", opened: e} }
	engine.Opened = func(target any) *engine.Engine { return target.(Target).opened }
}
