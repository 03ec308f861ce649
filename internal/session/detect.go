package session

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Detect finds out which transport a URL serves, as the specification tells a
// client to (basic/transports#backwards-compatibility, and
// basic/transports/streamable-http#backward-compatibility of 2026-07-28): a
// server/discover by POST, else initialize by POST, also where the first was
// met with silence, else, where that was answered with 400, 404 or 405, a GET for
// the endpoint event of HTTP+SSE. An endpoint event in answer to a POST leaves
// only the GET. Each step has a time of its own. It returns what was found in
// words, or an error that says what each step came to.
func Detect(ctx context.Context, at *transport.Endpoint, o Options) (transport.Kind, string, error) {
	newest := spec.V2026_07_28
	within := min(o.Timeout, o.StartTimeout)
	last, err := try(ctx, at, o, within, Frame(wire.IntID(1), "server/discover", stateless{rev: newest}.stamp(nil)), http.Header{
		"Mcp-Method":           {"server/discover"},
		"Mcp-Protocol-Version": {string(newest)},
	})
	if err != nil {
		return "", "", err
	}
	if last.speaks() {
		return transport.HTTP, "streamable HTTP: " + last.String(), nil
	}
	steps := last.String()
	if !last.endpoint {
		// As long as the first answer of an instance may take: it may be starting.
		last, err = try(ctx, at, o, min(o.First(0), o.StartTimeout), Frame(wire.IntID(2), "initialize", Initialize(spec.V2025_11_25, nil)), nil)
		if err != nil {
			return "", "", err
		}
		if last.speaks() {
			return transport.HTTP, "streamable HTTP: " + last.String(), nil
		}
		steps += ", " + last.String()
	}
	switch last.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", "", fmt.Errorf("%s: %s: give a token by --header 'Authorization: Bearer …'", at.Shown(), last)
	default:
		if !last.endpoint {
			return "", "", fmt.Errorf("%s serves no MCP: %s", at.Shown(), steps)
		}
	}
	if err := standing(ctx, at, within); err != nil {
		return "", "", fmt.Errorf("%s serves no MCP: %s, and GET opened no stream of HTTP+SSE: %w", at.Shown(), steps, err)
	}
	return transport.SSE, fmt.Sprintf("HTTP+SSE: %s, GET with a stream that names the endpoint", last), nil
}

// standing opens the stream of HTTP+SSE by GET, and returns why no endpoint was
// named on it in time.
func standing(ctx context.Context, at *transport.Endpoint, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s := &transport.LegacySSE{Endpoint: at, Record: func(wire.Frame) int { return 0 }}
	if err := s.Open(ctx); err != nil {
		return err
	}
	defer s.Close()
	_, err := s.To(ctx)
	return err
}

// An attempt is what a POST was answered with.
type attempt struct {
	of       wire.Message // the request
	within   time.Duration
	late     bool // not all came within that: nothing at all, if there is no status
	status   int
	media    string
	location string
	message  wire.Message
	endpoint bool // an endpoint event of HTTP+SSE came
}

// try posts a message, and waits so long for the answer. It ends the session that
// this may have opened.
func try(ctx context.Context, at *transport.Endpoint, o Options, within time.Duration, raw []byte, header http.Header) (*attempt, error) {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for key, values := range header {
		h[key] = values
	}
	a := &attempt{of: wire.Parse(raw), within: within}
	step, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	reply, err := at.Do(step, transport.HTTPRequest{Method: http.MethodPost, Header: h, Body: raw})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s was not answered by %s: %w", a.of.Summary(), at.Shown(), context.Cause(ctx))
	case err != nil && step.Err() != nil:
		a.late = true
		return a, nil
	case err != nil:
		return nil, err
	}
	defer reply.Close()
	a.status, a.media, a.location = reply.Status, reply.MediaType(), reply.Header.Get("Location")
	a.read(reply)
	a.late = step.Err() != nil
	if id := reply.Header.Get("Mcp-Session-Id"); id != "" {
		// Whether the server lets a client end it is not asked here.
		end, done := context.WithTimeout(ctx, o.Grace)
		defer done()
		if gone, err := at.Do(end, transport.HTTPRequest{Method: http.MethodDelete, Header: http.Header{"Mcp-Session-Id": {id}}}); err == nil {
			gone.Close()
		}
	}
	return a, nil
}

// read reads an answer as far as it tells what it came from.
func (a *attempt) read(reply *transport.Reply) {
	if !reply.Streams() {
		body, _, _ := reply.All()
		if m := wire.Parse(body); m.IsResponse() {
			a.message = m
		}
		return
	}
	for a.status == http.StatusOK && a.message.Raw == nil && !a.endpoint {
		e, err := reply.Next()
		if err != nil {
			return
		}
		if m := wire.Parse(e.Data); e.Dispatched() && m.IsResponse() {
			a.message = m
		}
		a.endpoint = e.Dispatched() && e.Type == "endpoint"
	}
}

// speaks tells whether the answer came from an endpoint of streamable HTTP: a
// message of JSON-RPC, whatever it says. Where nothing is found there, or POST is
// not allowed, it must be an answer to the request: other endpoints give their
// refusal that form too.
func (a *attempt) speaks() bool {
	elsewhere := a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed
	return a.message.IsResponse() && (!elsewhere || a.message.ID().Equal(a.of.ID()))
}

func (a *attempt) String() string {
	text := a.of.Method() + " by POST was "
	if a.status == 0 {
		return text + fmt.Sprintf("not answered within %s", a.within)
	}
	text += strings.TrimSpace(fmt.Sprintf("answered with HTTP status %d %s", a.status, http.StatusText(a.status)))
	if a.media != "" {
		text += " (" + a.media + ")"
	}
	switch {
	case a.message.IsResponse():
		text += " and " + a.message.Summary()
	case a.endpoint:
		text += " and an endpoint event"
	case a.late:
		text += fmt.Sprintf(" and no response in it within %s", a.within)
	case a.location != "":
		text += fmt.Sprintf(" to %s, which is not followed: give that URL", wire.Clip(a.location, 200))
	}
	return text
}
