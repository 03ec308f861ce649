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

// DetectTransport finds out which transport a URL serves. It follows the procedure of
// the specification for clients (basic/transports#backwards-compatibility, and
// basic/transports/streamable-http#backward-compatibility of 2026-07-28):
//
//  1. POST server/discover.
//  2. POST initialize, unless the first answer was one of streamable HTTP.
//  3. GET the endpoint event of HTTP+SSE, if the answer to initialize had status
//     400, 404 or 405, or an answer to a POST was an endpoint event.
//
// Each step has its own timeout. DetectTransport returns the transport with a
// description of the answers that show it, or an error that describes the answer to
// each step.
func DetectTransport(ctx context.Context, at *transport.Endpoint, o Options) (transport.Kind, string, error) {
	within := min(o.Timeout, o.StartTimeout)
	last, err := postDiscover(ctx, at, o, within)
	if err != nil {
		return "", "", err
	}
	steps := last.String()
	if !last.isStreamableHTTP() && !last.hasEndpointEvent {
		// The server may still be starting.
		raw := wire.EncodeCall(wire.IntID(2), "initialize", InitializeParams(spec.V2025_11_25, nil))
		last, err = tryPost(ctx, at, o, min(o.FirstAnswerTimeout(0), o.StartTimeout), raw, nil)
		if err != nil {
			return "", "", err
		}
		steps += ", " + last.String()
	}
	if last.isStreamableHTTP() {
		return transport.HTTP, "streamable HTTP: " + last.String(), nil
	}
	switch last.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", "", fmt.Errorf("%s: %s: give a token by --header 'Authorization: Bearer …'", at.Redacted(), last)
	default:
		if !last.hasEndpointEvent {
			return "", "", fmt.Errorf("%s serves no MCP: %s", at.Redacted(), steps)
		}
	}
	if err := awaitEndpointEvent(ctx, at, within); err != nil {
		return "", "", fmt.Errorf("%s serves no MCP: %s, and GET opened no stream of HTTP+SSE: %w", at.Redacted(),
			steps, err)
	}
	return transport.SSE, fmt.Sprintf("HTTP+SSE: %s, GET with a stream that names the endpoint", last), nil
}

// postDiscover posts server/discover of the newest revision.
func postDiscover(ctx context.Context, at *transport.Endpoint, o Options, within time.Duration) (*postResult, error) {
	newest := spec.Stateless.Newest()
	raw := wire.EncodeCall(wire.IntID(1), "server/discover", stateless{rev: newest}.addRequestMeta(nil))
	return tryPost(ctx, at, o, within, raw, http.Header{
		"Mcp-Method":           {"server/discover"},
		"Mcp-Protocol-Version": {string(newest)},
	})
}

// awaitEndpointEvent opens the stream of HTTP+SSE and waits for its endpoint event.
// It returns an error if none comes in time.
func awaitEndpointEvent(ctx context.Context, at *transport.Endpoint, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s := &transport.LegacySSE{Endpoint: at, Record: func(wire.Frame) int { return 0 }}
	if err := s.Open(ctx); err != nil {
		return err
	}
	defer s.Close()
	_, err := s.MessageURL(ctx)
	return err
}

// A postResult is the answer to a POST.
type postResult struct {
	request          wire.Message
	timeout          time.Duration
	timedOut         bool // before the whole answer came
	status           int  // 0 if no head of an answer came
	mediaType        string
	location         string
	message          wire.Message // the response; the zero message for none
	hasEndpointEvent bool         // the answer is a stream of HTTP+SSE
}

// tryPost posts a message and waits for the answer. It ends the session that the
// server may have opened for it.
func tryPost(
	ctx context.Context, at *transport.Endpoint, o Options, within time.Duration, raw []byte, header http.Header,
) (*postResult, error) {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for key, values := range header {
		h[key] = values
	}
	a := &postResult{request: wire.Parse(raw), timeout: within}
	step, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	reply, err := at.Do(step, transport.HTTPRequest{Method: http.MethodPost, Header: h, Body: raw})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s was not answered by %s: %w", a.request.Summary(), at.Redacted(), context.Cause(ctx))
	case err != nil && step.Err() != nil:
		a.timedOut = true
		return a, nil
	case err != nil:
		return nil, err
	}
	defer reply.Close()
	a.status, a.mediaType, a.location = reply.Status, reply.MediaType(), reply.Header.Get("Location")
	a.read(reply)
	a.timedOut = step.Err() != nil
	if id := reply.Header.Get(headerSessionID); id != "" {
		deleteSession(ctx, at, o, id)
	}
	return a, nil
}

// deleteSession ends a session. A server may refuse that.
func deleteSession(ctx context.Context, at *transport.Endpoint, o Options, id string) {
	ctx, cancel := context.WithTimeout(ctx, o.Grace)
	defer cancel()
	r := transport.HTTPRequest{Method: http.MethodDelete, Header: http.Header{headerSessionID: {id}}}
	if reply, err := at.Do(ctx, r); err == nil {
		reply.Close()
	}
}

// read reads an answer up to its response or endpoint event.
func (a *postResult) read(reply *transport.HTTPResponse) {
	if !reply.IsEventStream() {
		body, _, _ := reply.ReadAll()
		if m := wire.Parse(body); m.IsResponse() {
			a.message = m
		}
		return
	}
	for a.status == http.StatusOK && a.message.Raw == nil && !a.hasEndpointEvent {
		f, err := reply.NextEvent()
		if err != nil {
			return
		}
		if m := wire.Parse(f.Raw); f.IsDispatched() && m.IsResponse() {
			a.message = m
		}
		a.hasEndpointEvent = f.IsDispatched() && f.HTTP.Event.Type == "endpoint"
	}
}

// isStreamableHTTP reports whether the answer is one of streamable HTTP: any JSON-RPC
// response. With status 404 or 405 it must have the id of the request, since other
// endpoints write such errors as JSON-RPC too.
func (a *postResult) isStreamableHTTP() bool {
	notServed := a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed
	return a.message.IsResponse() && (!notServed || a.message.ID().Equal(a.request.ID()))
}

func (a *postResult) String() string {
	text := a.request.Method() + " by POST was "
	if a.status == 0 {
		return text + fmt.Sprintf("not answered within %s", a.timeout)
	}
	text += strings.TrimSpace(fmt.Sprintf("answered with HTTP status %d %s", a.status, http.StatusText(a.status)))
	if a.mediaType != "" {
		text += " (" + a.mediaType + ")"
	}
	switch {
	case a.message.IsResponse():
		text += " and " + a.message.Summary()
	case a.hasEndpointEvent:
		text += " and an endpoint event"
	case a.timedOut:
		text += fmt.Sprintf(" and no response in it within %s", a.timeout)
	case a.location != "":
		text += fmt.Sprintf(" to %s, which is not followed: give that URL", wire.Clip(a.location, 200))
	}
	return text
}
