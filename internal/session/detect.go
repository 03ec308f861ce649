package session

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Detect finds out which transport a URL serves, as the specification tells a
// client to (basic/transports#backwards-compatibility, and
// basic/transports/streamable-http#backward-compatibility of 2026-07-28): a
// server/discover by POST, else initialize by POST, else, where that was
// answered with 400, 404 or 405, a GET for the endpoint event of HTTP+SSE. It
// returns what was found in words, or an error that says what each step came to.
func Detect(ctx context.Context, at *transport.Endpoint, o Options) (transport.Kind, string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("nothing came within %s", o.StartTimeout))
	defer cancel()
	newest := spec.V2026_07_28
	discover, err := try(ctx, at, Frame(wire.IntID(1), "server/discover", stateless{rev: newest}.stamp(nil)), http.Header{
		"Mcp-Method":           {"server/discover"},
		"Mcp-Protocol-Version": {string(newest)},
	})
	if err != nil {
		return "", "", err
	}
	if discover.speaks() {
		return transport.HTTP, "streamable HTTP: server/discover by POST was answered with " + discover.String(), nil
	}
	initialize, err := try(ctx, at, Frame(wire.IntID(2), "initialize", Initialize(spec.V2025_11_25, nil)), nil)
	if err != nil {
		return "", "", err
	}
	if initialize.speaks() {
		return transport.HTTP, "streamable HTTP: initialize by POST was answered with " + initialize.String(), nil
	}
	switch initialize.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", "", fmt.Errorf("%s: initialize by POST was answered with %s: give a token by --header 'Authorization: Bearer …'", at.Shown(), initialize)
	default:
		return "", "", fmt.Errorf("%s serves no MCP: initialize by POST was answered with %s", at.Shown(), initialize)
	}
	old := &transport.LegacySSE{Endpoint: at, Record: func(wire.Frame) int { return 0 }}
	err = old.Open(ctx)
	if err == nil {
		defer old.Close()
		if _, err = old.To(ctx); err == nil {
			return transport.SSE, fmt.Sprintf("HTTP+SSE: initialize by POST was answered with %s, GET with a stream whose first event names the endpoint", initialize), nil
		}
	}
	return "", "", fmt.Errorf("%s serves no MCP: server/discover by POST was answered with %s, initialize by POST with %s, and GET opened no stream of HTTP+SSE: %w", at.Shown(), discover, initialize, err)
}

// An attempt is what a POST was answered with.
type attempt struct {
	id       wire.ID // of the request
	status   int
	media    string
	location string
	message  wire.Message
}

// try posts a message. It ends the session that an answer may have opened.
func try(ctx context.Context, at *transport.Endpoint, raw []byte, header http.Header) (*attempt, error) {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for key, values := range header {
		h[key] = values
	}
	reply, err := at.Do(ctx, transport.HTTPRequest{Method: http.MethodPost, Header: h, Body: raw})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s was not answered by %s: %w", wire.Parse(raw).Summary(), at.Shown(), context.Cause(ctx))
	case err != nil:
		return nil, err
	}
	defer reply.Close()
	a := &attempt{id: wire.Parse(raw).ID(), status: reply.Status, media: reply.MediaType(), location: reply.Header.Get("Location")}
	switch {
	case reply.Streams():
		for a.status == http.StatusOK && a.message.Raw == nil {
			e, err := reply.Next()
			if err != nil {
				return a, nil
			}
			if m := wire.Parse(e.Data); e.Dispatched() && m.IsResponse() {
				a.message = m
			}
		}
	default:
		body, _, _ := reply.All()
		if m := wire.Parse(body); m.IsResponse() {
			a.message = m
		}
	}
	if id := reply.Header.Get("Mcp-Session-Id"); id != "" {
		// Whether the server lets a client end it is not asked here.
		if gone, err := at.Do(ctx, transport.HTTPRequest{Method: http.MethodDelete, Header: http.Header{"Mcp-Session-Id": {id}}}); err == nil {
			gone.Close()
		}
	}
	return a, nil
}

// speaks tells whether the answer came from an endpoint of streamable HTTP: a
// message of JSON-RPC, whatever it says. Where nothing is found there, or POST is
// not allowed, it must be an answer to the request: other endpoints give their
// refusal that form too.
func (a *attempt) speaks() bool {
	elsewhere := a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed
	return a.message.IsResponse() && (!elsewhere || a.message.ID().Equal(a.id))
}

func (a *attempt) String() string {
	text := strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", a.status, http.StatusText(a.status)))
	if a.media != "" {
		text += " (" + a.media + ")"
	}
	switch {
	case a.message.IsResponse():
		text += " and " + a.message.Summary()
	case a.location != "":
		text += fmt.Sprintf(" to %s, which is not followed: give that URL", wire.Clip(a.location, 200))
	}
	return text
}
