// Package client is an honest little MCP client of all published revisions, over
// stdio, streamable HTTP and HTTP+SSE: it opens a session, looks at what the server offers, calls a
// read-only tool, reads a resource, gets a prompt, and closes. It shares no
// code with what judges it.
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

// The identity that the client gives.
const (
	Name    = "mcpcheck-reference-client"
	Version = "0.1.0"
)

// Options say what the client speaks and how long it waits.
type Options struct {
	// Revisions it speaks; nil for all.
	Revisions []spec.Revision
	// LegacyFirst opens with initialize also where a stateless revision is
	// spoken, instead of probing.
	LegacyFirst bool
	// Timeout bounds the wait for one answer, Probe that for the answer to
	// the probe for a stateless server, Grace each step of ending the server.
	Timeout, Probe, Grace time.Duration
	// Log is told each step; nil for nobody.
	Log func(format string, args ...any)

	Seams
}

// Defaults are the options of a client for use.
func Defaults() Options {
	return Options{Timeout: 30 * time.Second, Probe: 5 * time.Second, Grace: 2 * time.Second}
}

// Run starts the server, makes the tour and ends it. It returns an error if
// server and client have no revision in common or the server fails it.
func Run(ctx context.Context, server transport.Starter, o Options) error {
	o.complete()
	stream, err := server.Start(ctx)
	if err != nil {
		return err
	}
	c := newConn(o)
	c.over(&child{stream: stream, c: c})
	return c.run(ctx)
}

// RunAt does the same with a server that serves at a URL: over HTTP+SSE, or else
// over streamable HTTP.
func RunAt(ctx context.Context, url string, kind transport.Kind, o Options) error {
	o.complete()
	c := newConn(o)
	r, err := newRemote(c, url, kind)
	if err != nil {
		return err
	}
	c.over(r)
	return c.run(ctx)
}

// complete puts the defaults where nothing was said.
func (o *Options) complete() {
	if o.Revisions == nil {
		o.Revisions = spec.Revisions()
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
}

// run makes the tour, and ends the connection.
func (c *conn) run(ctx context.Context) error {
	defer c.close(ctx)
	o := c.o
	s := &session{conn: c, o: o}
	if err := c.link.open(ctx); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	o.Log("connected to %s %s at %s", s.info.Get("name").String(), s.info.Get("version").String(), s.rev)
	return s.tour(ctx)
}

// speaks tells whether the client speaks a version.
func (o Options) speaks(version string) (spec.Revision, bool) {
	accept := func(v string) bool {
		for _, r := range o.Revisions {
			if string(r) == v {
				return true
			}
		}
		return false
	}
	if o.Accept != nil {
		accept = o.Accept(accept)
	}
	return spec.Revision(version), accept(version)
}

// newest returns the newest revision of an era that the client speaks, or "".
func (o Options) newest(era spec.Set) spec.Revision {
	var own spec.Set
	for _, r := range o.Revisions {
		own |= spec.Only(r)
	}
	return (own & era).Newest()
}

// An Unserved error tells that a server refused a request.
type Unserved struct {
	Method string
	Answer wire.Message
}

func (e *Unserved) Error() string {
	return fmt.Sprintf("server answered %s with %s", e.Method, e.Answer.Summary())
}

var errClosed = errors.New("server closed the connection")
