package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// requestInput asks the client by requests of the server's own
// (client/roots, client/sampling, client/elicitation of the handshake
// revisions), one after the other.
func (r *Request) inputByRequests(ctx context.Context, asks []Ask, more func(answers map[string]Object) []Ask) inputResult {
	in := inputResult{answers: map[string]Object{}}
	for len(asks) > 0 {
		a := asks[0]
		switch {
		case !a.isSupportedBy(r.Client) || !slices.Contains(r.Revision.Facts().ServerRequests, a.Method):
			return inputResult{missing: fmt.Sprintf("This needs a client that declares the capability %s.", a.capability())}
		case !r.Session.Ready():
			// basic/lifecycle#initialization: no requests but ping before.
			return inputResult{missing: "The client has not yet sent notifications/initialized."}
		}
		if known := r.Session.knownRoots(); a.Method == "roots/list" && known != nil {
			in.answers[a.Key] = known
			asks = remainingAsks(asks, in, more)
			continue
		}
		changes := 0
		if a.Method == "roots/list" {
			changes = r.Session.beginRootsRequest()
		}
		answer, err := r.Ask(ctx, a.Method, a.paramsAt(r.Revision))
		if err != nil {
			return inputResult{missing: fmt.Sprintf("The client did not answer %s: %v.", a.Method, err)}
		}
		if why := a.checkAnswer(answer); why != "" {
			return inputResult{missing: fmt.Sprintf("The client's answer to %s %s.", a.Method, why)}
		}
		if a.Method == "roots/list" && r.Client.notifiesRootsChanges() {
			r.Session.keepRoots(answer, changes)
		}
		in.answers[a.Key] = answer
		asks = remainingAsks(asks, in, more)
	}
	return in
}

// next returns what is left to ask once the first of the asks was answered.
func remainingAsks(asks []Ask, in inputResult, more func(answers map[string]Object) []Ask) []Ask {
	if len(asks) > 1 {
		return asks[1:]
	}
	return more(in.answers)
}

// Ask sends a request to the client and returns its result. It fails with the
// client's error, when the client takes longer than Options.Patience, and when
// the request on whose behalf it asks is cancelled; then the client is told
// that the answer is not needed any more (basic/utilities/cancellation).
func (r *Request) Ask(ctx context.Context, method string, params Object) (Object, error) {
	r.Park()
	return r.whileInputRequired(func() (Object, error) { return r.requestClient(ctx, method, r.withRelatedTask(params)) })
}

func (r *Request) requestClient(ctx context.Context, method string, params Object) (Object, error) {
	c := r.conn
	answer := make(chan wire.Message, 1)
	c.mu.Lock()
	c.requestCount++
	id := fmt.Sprintf("desk-%d", c.requestCount)
	c.awaitedResponses[wire.StringID(id).Key()] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.awaitedResponses, wire.StringID(id).Key())
		c.mu.Unlock()
	}()
	if !c.send(Frame{Raw: requestMessage(id, method, params), Kind: wire.Request, Method: method, Request: r}) {
		return nil, errCancelled
	}
	patience := time.NewTimer(c.options.Patience)
	defer patience.Stop()
	select {
	case m := <-answer:
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

// abandon tells the client that a request of the server is void, unless its
// answer has come meanwhile (basic/utilities/cancellation#behavior-requirements).
// An answer that comes now is taken up behind the notification.
func (r *Request) cancelClientRequest(id, method, reason string) {
	c, key := r.conn, wire.StringID(id).Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.awaitedResponses[key] == nil {
		return
	}
	delete(c.awaitedResponses, key)
	c.send(Frame{
		Raw:  notificationMessage("notifications/cancelled", r.withRelatedTask(Object{"requestId": id, "reason": reason})),
		Kind: wire.Notification, Method: "notifications/cancelled", Cancels: method, exchange: r.exchange,
	})
}

// answered takes a response of the client; one that nobody waits for is
// ignored. Stateless clients send none (basic/patterns/index).
func (c *conn) handleResponse(m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.awaitedResponses[m.ID().Key()]
	if waiting == nil || m.Flaw() != nil {
		return
	}
	delete(c.awaitedResponses, m.ID().Key())
	waiting <- m
}

// relist asks again for the roots after the client announced a change, if
// they had been asked for (client/roots#root-list-changes).
func (c *conn) refreshRoots() {
	if !spec.Handshake.Has(c.session.Revision()) || !c.session.forgetRoots() {
		return
	}
	t := &job{yielded: make(chan struct{})}
	r := &Request{Method: "roots/list", Revision: c.session.Revision(), Session: c.session, conn: c, job: t}
	changes := c.session.beginRootsRequest()
	c.startJob(t, func() {
		if o, err := r.Ask(c.ctx, "roots/list", nil); err == nil && checkRoots(o) == "" {
			c.session.keepRoots(o, changes)
		}
	})
}
