package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// inputByRequests obtains input by requests of the server (client/roots,
// client/sampling, client/elicitation of the handshake revisions), one after the
// other.
func (r *Request) inputByRequests(ctx context.Context, requests []InputRequest, more moreInputRequests) inputResult {
	answers := map[string]Object{}
	for len(requests) > 0 {
		a := requests[0]
		answer, failure := r.requestInput(ctx, a)
		if failure != "" {
			return inputResult{failure: failure}
		}
		answers[a.Key] = answer
		if requests = requests[1:]; len(requests) == 0 {
			requests = more(answers)
		}
	}
	return inputResult{answers: answers}
}

// requestInput obtains one answer, or returns why it cannot. It sends a request,
// unless the answer is a list of roots that the session keeps.
func (r *Request) requestInput(ctx context.Context, a InputRequest) (answer Object, failure string) {
	switch {
	case !a.isSupportedBy(r.Client) || !slices.Contains(r.Revision.Facts().ServerRequests, a.Method):
		return nil, fmt.Sprintf("This needs a client that declares the capability %s.", a.capability())
	case !r.Session.Ready():
		// basic/lifecycle#initialization: no requests but ping before.
		return nil, "The client has not yet sent notifications/initialized."
	}
	changes := 0
	if a.Method == "roots/list" {
		if known := r.Session.knownRoots(); known != nil {
			return known, ""
		}
		changes = r.Session.beginRootsRequest()
	}
	answer, err := r.SendRequest(ctx, a.Method, a.paramsAt(r.Revision))
	if err != nil {
		return nil, fmt.Sprintf("The client did not answer %s: %v.", a.Method, err)
	}
	if why := a.checkAnswer(answer); why != "" {
		return nil, fmt.Sprintf("The client's answer to %s %s.", a.Method, why)
	}
	if a.Method == "roots/list" && r.Client.notifiesRootsChanges() {
		r.Session.keepRoots(answer, changes)
	}
	return answer, ""
}

// SendRequest sends a request to the client and returns its result. It fails with the
// client's error, when the client takes longer than Options.Patience, and when the
// request that it is made for is cancelled; then it cancels its own request
// (basic/utilities/cancellation).
func (r *Request) SendRequest(ctx context.Context, method string, params Object) (Object, error) {
	r.Yield()
	return r.whileInputRequired(func() (Object, error) {
		return r.requestClient(ctx, method, r.withRelatedTask(params))
	})
}

func (r *Request) requestClient(ctx context.Context, method string, params Object) (Object, error) {
	c := r.conn
	id, response := c.expectResponse()
	defer c.forgetResponse(id)
	f := Frame{Raw: requestMessage(id, method, params), Kind: wire.Request, Method: method, Request: r}
	if !c.send(f) {
		return nil, errCancelled
	}
	patience := time.NewTimer(c.options.Patience)
	defer patience.Stop()
	select {
	case m := <-response:
		return clientResult(m)
	case <-c.closing:
		return nil, fmt.Errorf("it closed the connection")
	case <-patience.C:
		r.cancelClientRequest(id, method, "no answer in time")
		return nil, fmt.Errorf("no answer within %s", c.options.Patience)
	case <-ctx.Done():
		r.cancelClientRequest(id, method, "the call was cancelled")
		return nil, context.Cause(ctx)
	}
}

// clientResult returns the result in a response of the client.
func clientResult(m wire.Message) (Object, error) {
	if m.Kind == wire.Error {
		return nil, fmt.Errorf("%s", wire.Clip(m.Error().Get("message").String(), 200))
	}
	if !m.Result().IsObject() {
		return nil, fmt.Errorf("its result is %s", wire.TypeName(m.Result()))
	}
	o, err := decode(m.Result().Raw)
	if err != nil {
		return nil, fmt.Errorf("its result cannot be read: %w", err)
	}
	return o, nil
}

// expectResponse returns the id of the next request of the server, and the channel
// of its response.
func (c *conn) expectResponse() (id string, response <-chan wire.Message) {
	awaited := make(chan wire.Message, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requestCount++
	id = fmt.Sprintf("desk-%d", c.requestCount)
	c.awaitedResponses[wire.StringID(id).Key()] = awaited
	return id, awaited
}

func (c *conn) forgetResponse(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.awaitedResponses, wire.StringID(id).Key())
}

// cancelClientRequest notifies the client that a request of the server is
// cancelled, unless its response has arrived
// (basic/utilities/cancellation#behavior-requirements). The lock delays a response
// that arrives now until the notification is sent.
func (r *Request) cancelClientRequest(id, method, reason string) {
	c, key := r.conn, wire.StringID(id).Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.awaitedResponses[key] == nil {
		return
	}
	delete(c.awaitedResponses, key)
	f := notificationFrame("notifications/cancelled", r.withRelatedTask(Object{"requestId": id, "reason": reason}))
	f.Cancels, f.exchange = method, r.exchange
	c.send(f)
}

// handleResponse handles a response of the client; one that is not awaited is
// ignored. Stateless clients send none (basic/patterns/index).
func (c *conn) handleResponse(m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	response := c.awaitedResponses[m.ID().Key()]
	if response == nil || m.FormatError() != nil {
		return
	}
	delete(c.awaitedResponses, m.ID().Key())
	response <- m
}

// refreshRoots requests the roots again after the client announced a change, if
// they were requested before (client/roots#root-list-changes).
func (c *conn) refreshRoots() {
	if !spec.Handshake.Has(c.session.Revision()) || !c.session.forgetRoots() {
		return
	}
	j := &job{yielded: make(chan struct{})}
	r := &Request{Method: "roots/list", Revision: c.session.Revision(), Session: c.session, conn: c, job: j}
	changes := c.session.beginRootsRequest()
	c.startJob(j, func() {
		if o, err := r.SendRequest(c.ctx, "roots/list", nil); err == nil && checkRoots(o) == "" {
			c.session.keepRoots(o, changes)
		}
	})
}

// notifiesRootsChanges reports whether the client declared roots.listChanged.
func (p Peer) notifiesRootsChanges() bool {
	o, _ := p.Capabilities["roots"].(Object)
	return o["listChanged"] == true
}
