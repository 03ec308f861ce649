package script

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/processes"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A Client is a client under test.
type Client interface {
	fmt.Stringer
	// Transport returns the transport of the client.
	Transport() transport.Kind
	// WithGuard returns the client with a guard that ends its processes should this
	// process be killed. It calls start only for a client that is a process, and
	// returns a nil guard for every other.
	WithGuard(start func() (*processes.Guard, error)) (Client, *processes.Guard, error)
	// starterFor returns what starts the client with the scripted server of the
	// harness as its server.
	starterFor(h *harness) (transport.Starter, error)
}

// ServerPlaceholder stands for the command of the server in the arguments of a
// client.
const ServerPlaceholder = "{server}"

// URLPlaceholder stands for the URL of the server in the arguments of a client.
const URLPlaceholder = "{url}"

// StdioCommand is a client over stdio that is a program. ServerPlaceholder stands for
// the command of the server in its arguments.
type StdioCommand struct {
	transport.Command
	Bridge []string // a command that calls RunBridge with the address that is appended to it
}

// WithGuard returns the client with a guard.
func (c StdioCommand) WithGuard(start func() (*processes.Guard, error)) (Client, *processes.Guard, error) {
	guard, err := start()
	if err != nil {
		return nil, nil, err
	}
	c.Guard = guard
	return c, guard, nil
}

func (c StdioCommand) starterFor(h *harness) (transport.Starter, error) {
	address, err := h.listenUnix()
	if err != nil {
		return nil, err
	}
	command := c.Command
	command.Argv, err = ExpandCommand(command.Argv, slices.Concat(c.Bridge, []string{address}))
	return command, err
}

// HTTPCommand is a client over HTTP that is a program. The URL of the server is one
// of its arguments.
type HTTPCommand struct {
	transport.Command
	Kind transport.Kind // HTTP or SSE
}

// Transport returns the kind.
func (c HTTPCommand) Transport() transport.Kind { return c.Kind }

// WithGuard returns the client with a guard.
func (c HTTPCommand) WithGuard(start func() (*processes.Guard, error)) (Client, *processes.Guard, error) {
	guard, err := start()
	if err != nil {
		return nil, nil, err
	}
	c.Guard = guard
	return c, guard, nil
}

func (c HTTPCommand) starterFor(h *harness) (transport.Starter, error) {
	url, err := h.listenHTTP(c.Kind)
	if err != nil {
		return nil, err
	}
	command := c.Command
	command.Argv, err = ExpandURL(command.Argv, url)
	command.Env = slices.Concat(h.opts.Env, command.Env)
	return command, err
}

// StdioFunc is a client over stdio that is a function of this process.
type StdioFunc struct {
	Name string
	// Run runs the client once with a server that it may start.
	Run func(ctx context.Context, server transport.Starter) error
}

func (c StdioFunc) String() string { return c.Name }

// Transport returns stdio.
func (c StdioFunc) Transport() transport.Kind { return transport.Stdio }

// WithGuard returns the client unchanged: it is no process.
func (c StdioFunc) WithGuard(func() (*processes.Guard, error)) (Client, *processes.Guard, error) {
	return c, nil, nil
}

func (c StdioFunc) starterFor(h *harness) (transport.Starter, error) {
	return transport.InProcess{Name: c.Name, Serve: func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		return c.Run(ctx, h.target())
	}}, nil
}

// HTTPFunc is a client over HTTP that is a function of this process.
type HTTPFunc struct {
	Name string
	Kind transport.Kind // HTTP or SSE
	// Run runs the client once with the server at a URL.
	Run func(ctx context.Context, url string) error
}

func (c HTTPFunc) String() string { return c.Name }

// Transport returns the kind.
func (c HTTPFunc) Transport() transport.Kind { return c.Kind }

// WithGuard returns the client unchanged: it is no process.
func (c HTTPFunc) WithGuard(func() (*processes.Guard, error)) (Client, *processes.Guard, error) {
	return c, nil, nil
}

func (c HTTPFunc) starterFor(h *harness) (transport.Starter, error) {
	url, err := h.listenHTTP(c.Kind)
	if err != nil {
		return nil, err
	}
	return transport.InProcess{Name: c.Name, Serve: func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		return c.Run(ctx, url)
	}}, nil
}

// ExpandURL puts the URL of the server into the arguments of a client: in place of
// {url}, or as the last argument if no argument contains {url}.
func ExpandURL(argv []string, url string) ([]string, error) {
	var out []string
	found := false
	for _, a := range argv {
		if strings.Contains(a, ServerPlaceholder) {
			return nil, fmt.Errorf("%s in %q: over HTTP the client is given a URL: "+
				"write %s, or nothing to have it come last", ServerPlaceholder, a, URLPlaceholder)
		}
		found = found || strings.Contains(a, URLPlaceholder)
		out = append(out, strings.ReplaceAll(a, URLPlaceholder, url))
	}
	if !found {
		out = append(out, url)
	}
	return out, nil
}

// ExpandCommand puts the command of the server into the arguments of a client. An
// argument that is the placeholder becomes the arguments of the command. In a longer
// argument the placeholder becomes one string that a shell splits into them.
func ExpandCommand(argv, server []string) ([]string, error) {
	var out []string
	found := false
	for _, a := range argv {
		switch {
		case a == ServerPlaceholder:
			out = append(out, server...)
			found = true
		case strings.Contains(a, ServerPlaceholder):
			out = append(out, strings.ReplaceAll(a, ServerPlaceholder, transport.ShellQuote(server)))
			found = true
		case strings.Contains(a, URLPlaceholder):
			return nil, fmt.Errorf("%s in %q: over stdio the client is given a command: "+
				"write %s, or say --transport streamable-http", URLPlaceholder, a, ServerPlaceholder)
		default:
			out = append(out, a)
		}
	}
	if !found {
		return nil, fmt.Errorf("the command of the client does not contain the command of the server: "+
			"write %s among its arguments", ServerPlaceholder)
	}
	return out, nil
}
