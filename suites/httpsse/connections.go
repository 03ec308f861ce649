package httpsse

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// A connection is a connection of HTTP+SSE that a probe opened by exchanges of its
// own: closing it does no harm to the session that checks share.
type connection struct {
	t        *check.T
	stream   *check.PendingExchange
	endpoint *url.URL // of the endpoint event
	opening  wire.ID  // of the request initialize
}

// openConnection opens a connection. Without one the check is not observed, since
// other checks judge the opening. The caller closes its stream.
func openConnection(t *check.T) *connection {
	c, why := tryConnection(t, t.Timeout())
	if c == nil {
		t.NotObserved("a second connection could not be opened: "+why,
			"let the server serve several connections at once")
	}
	return c
}

// tryConnection opens a connection whose endpoint event comes within a time, or
// returns why there is none.
func tryConnection(t *check.T, within time.Duration, edits ...check.Edit) (c *connection, why string) {
	var from *url.URL
	edits = append(edits, posting.AcceptStream(), func(r *transport.HTTPRequest) { from = r.URL })
	x, err := t.HTTP().TryRequest(http.MethodGet, edits...)
	switch {
	case err != nil:
		return nil, err.Error()
	case !posting.IsSuccess(x) || !x.IsEventStream():
		x.Close()
		return nil, check.Describe(x)
	}
	if from == nil {
		from = t.HTTP().URL()
	}
	endpoint := awaitEndpoint(t, x, within, from)
	if endpoint == nil {
		x.Close()
		return nil, "its stream names no endpoint of this server"
	}
	return &connection{t: t, stream: x, endpoint: endpoint}, ""
}

// awaitEndpoint returns the URL that the endpoint event of a stream names; nil if
// there is none of the same server within a time.
func awaitEndpoint(t *check.T, x *check.PendingExchange, within time.Duration, from *url.URL) *url.URL {
	var named string
	ok := t.HTTP().Await(x, within, func(known *wire.Exchange) bool {
		events := known.Events()
		for _, e := range events {
			if e.IsDispatched() && e.HTTP.Event.Type == "endpoint" {
				named = string(e.Raw)
				return true
			}
		}
		// A stream that begins with a message is not of this transport.
		return slices.ContainsFunc(events, func(e wire.Entry) bool { return e.IsDispatched() })
	})
	// The session removes line breaks and tabs too.
	to, err := from.Parse(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(named))
	if !ok || named == "" || err != nil || to.Host != from.Host || to.Scheme != from.Scheme {
		return nil
	}
	return to
}

// post posts a message to the connection and returns the answer to the POST; that to the
// message comes on the stream.
func (c *connection) post(raw string) *check.PendingExchange {
	x, err := c.t.HTTP().TryPost(raw, check.At(c.endpoint))
	if err != nil {
		c.t.NotObserved("a message could not be posted: "+err.Error(), "answer a POST to the URI of the endpoint event")
	}
	return x
}

// awaitAnswer returns the response with an id on the stream, if one comes.
func (c *connection) awaitAnswer(id wire.ID) (wire.Message, bool) {
	return c.t.HTTP().AwaitMessage(c.stream, c.t.Timeout(), check.ResponseTo(id))
}

// initialize performs the opening of the protocol, and returns the answer to the POST of
// notifications/initialized. Each connection has an id of its own: a server may handle a
// cancellation of the request of one connection when that of the next has arrived.
func (c *connection) initialize() *check.PendingExchange {
	c.opening = wire.StringID("mcpcheck-open-" + c.t.NextID().Raw)
	c.post(c.t.Frame(c.opening, "initialize", check.InitializeParams(string(c.t.Rev))))
	if m, ok := c.awaitAnswer(c.opening); !ok || m.Kind != wire.Result {
		c.t.Fail("a result on its stream", "none", "initialize on a second connection was not answered on its stream")
	}
	return c.post(posting.InitializedFrame)
}

// settle posts a request and reports whether it was answered: messages that the
// server sent before have arrived then.
func (c *connection) settle() bool {
	_, ok := c.awaitAnswer(c.request())
	return ok
}

// request posts a request and returns its id.
func (c *connection) request() wire.ID {
	id := wire.StringID("mcpcheck-settle-" + c.t.NextID().Raw)
	c.post(posting.BarrierFrame(c.t, id))
	return id
}

// requireOwnAnswers ends the body if the answer to a request of one connection comes on
// another one too, which jsonrpc.response.id reports.
func (c *connection) requireOwnAnswers(other *connection) {
	id := c.request()
	if _, ok := c.awaitAnswer(id); !ok {
		return
	}
	other.settle()
	if slices.ContainsFunc(other.stream.Snapshot().Messages(), check.ResponseTo(id)) {
		c.t.NotObserved("the answers of each connection come on all, which jsonrpc.response.id reports",
			"send an answer on the stream of its own connection alone")
	}
}
