// Package client is a small conforming MCP client of all published revisions, over
// stdio, streamable HTTP and HTTP+SSE. It opens a session, lists what the server
// offers, calls a read-only tool, reads a resource, gets a prompt, and closes. It
// shares no code with the checks that judge it, and deviates only by its Hooks.
//
// A conn correlates requests with their responses and answers the requests of the
// server. It sends through a link: a processLink for a server on stdio (stdio.go),
// an httpLink for one at a URL (http.go). A session is a conn at one revision:
// session.open finds the revision by server/discover or initialize, and
// session.useFeatures sends the requests of ordinary use (features.go).
package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The identity that the client sends.
const (
	Name    = "mcpcheck-reference-client"
	Version = "0.1.0"
)

// Options configures a client and holds the hooks that make it deviate.
type Options struct {
	// Revisions are those that the client speaks; nil means all.
	Revisions []spec.Revision
	// HandshakeFirst makes a client that speaks a stateless revision open with
	// initialize, instead of probing with server/discover.
	HandshakeFirst bool
	// Timeout bounds the wait for one response, Probe that for the response to the
	// probe, and Grace each step of ending the server.
	Timeout, Probe, Grace time.Duration
	// Log receives a line for each step; nil for none.
	Log func(format string, args ...any)

	Hooks
}

// DefaultOptions returns the options for ordinary use.
func DefaultOptions() Options {
	return Options{Timeout: 30 * time.Second, Probe: 5 * time.Second, Grace: 2 * time.Second}
}

// Run starts the server, uses its features and ends it. It returns an error if
// server and client have no revision in common, or if a request fails.
func Run(ctx context.Context, server transport.Starter, o Options) error {
	o.setDefaults()
	stream, err := server.Start(ctx)
	if err != nil {
		return err
	}
	c := newConn(o)
	c.link = &processLink{stream: stream, c: c}
	return c.run(ctx)
}

// RunURL does the same with a server at a URL, over HTTP+SSE if kind is that, and
// else over streamable HTTP.
func RunURL(ctx context.Context, url string, kind transport.Kind, o Options) error {
	o.setDefaults()
	c := newConn(o)
	l, err := newHTTPLink(c, url, kind)
	if err != nil {
		return err
	}
	c.link = l
	return c.run(ctx)
}

// setDefaults replaces the zero values that have a default.
func (o *Options) setDefaults() {
	if o.Revisions == nil {
		o.Revisions = spec.Revisions()
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
}

// run uses the features of the server, and closes the connection.
func (c *conn) run(ctx context.Context) error {
	defer c.link.close(ctx)
	s := &session{conn: c}
	if err := c.link.open(ctx); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	c.options.Log("connected to %s %s at %s", s.info.Get("name").String(), s.info.Get("version").String(), s.revision)
	return s.useFeatures(ctx)
}

// speaks reports whether the client speaks a version.
func (o Options) speaks(version string) (spec.Revision, bool) {
	accept := func(v string) bool {
		for _, r := range o.Revisions {
			if string(r) == v {
				return true
			}
		}
		return false
	}
	return spec.Revision(version), wrapped(accept, o.AcceptVersion)(version)
}

// newest returns the newest revision of an era that the client speaks, or "".
func (o Options) newest(era spec.Set) spec.Revision {
	var own spec.Set
	for _, r := range o.Revisions {
		own |= spec.Only(r)
	}
	return (own & era).Newest()
}

// A requestError is the error response to a request.
type requestError struct {
	method   string
	response wire.Message
}

func (e *requestError) Error() string {
	return fmt.Sprintf("server answered %s with %s", e.method, e.response.Summary())
}

var errClosed = errors.New("server closed the connection")
