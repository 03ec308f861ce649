package httpsse

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// A connection is one of HTTP+SSE that a probe opened by an exchange of its own,
// so that it may be closed, crossed or spoilt without harm to the session that
// checks share.
type connection struct {
	t  *check.T
	x  *check.Exchange // its stream
	to *url.URL        // of the endpoint event
}

// listening is what a client asks for a stream with.
var listening = check.With("Accept", "text/event-stream")

// connect opens a connection; where none can be opened nothing is observed, since
// that has checks of its own. The caller closes its stream.
func connect(t *check.T) *connection {
	c, why := tryConnect(t)
	if c == nil {
		t.NotObserved("a second connection could not be opened: "+why, "")
	}
	return c
}

// tryConnect opens a connection, or says why there is none.
func tryConnect(t *check.T, edits ...check.Edit) (c *connection, why string) {
	return connectWithin(t, t.Timeout(), edits...)
}

// connectWithin does the same, where the endpoint event must come within a time.
func connectWithin(t *check.T, within time.Duration, edits ...check.Edit) (c *connection, why string) {
	var from *url.URL
	x, err := t.HTTP().TryRequest(http.MethodGet, append(edits, listening, func(r *transport.HTTPRequest) { from = r.URL })...)
	switch {
	case err != nil:
		return nil, err.Error()
	case !posting.Ok2xx(x) || !x.Streams():
		x.Close()
		return nil, check.Describe(x)
	}
	if from == nil {
		from = t.HTTP().URL()
	}
	var named string
	ok := t.HTTP().Await(x, within, func(x *check.Exchange) bool {
		for _, e := range x.Events() {
			if e.Dispatched() && e.Type == "endpoint" {
				named = string(e.Data)
				return true
			}
		}
		// A stream that begins with a message is none of this transport.
		return slices.ContainsFunc(x.Events(), transport.Event.Dispatched)
	})
	to, err := from.Parse(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(named)) // as the session does
	if !ok || named == "" || err != nil || to.Host != from.Host || to.Scheme != from.Scheme {
		x.Close()
		return nil, "its stream names no endpoint of this server"
	}
	return &connection{t, x, to}, ""
}

// left closes the connection, and is always true.
func (c *connection) left() bool {
	c.x.Close()
	return true
}

// post posts a message to the connection; what comes of it is said on its stream.
func (c *connection) post(raw string) {
	if _, err := c.t.HTTP().TryPost(raw, check.At(c.to)); err != nil {
		c.t.NotObserved("a message could not be posted: "+err.Error(), "")
	}
}

// open speaks the opening.
func (c *connection) open() {
	id := wire.StringID("mcpcheck-open")
	c.post(c.t.Frame(id, "initialize", check.InitializeParams(string(c.t.Rev))))
	if m, ok := c.t.HTTP().AwaitMessage(c.x, c.t.Timeout(), check.ResponseTo(id)); !ok || m.Kind != wire.Result {
		c.t.Fail("a result on its stream", "none", "initialize of a connection beside the session is not answered on the stream of it")
	}
	c.post(posting.Initialized)
}

// settle waits until a request that is posted now is answered, so that what was
// said before has come.
func (c *connection) settle() {
	id := c.t.NextID()
	c.post(posting.Barrier(c.t, wire.StringID("mcpcheck-settle-"+id.Raw)))
	c.t.HTTP().AwaitMessage(c.x, c.t.Timeout(), check.ResponseTo(wire.StringID("mcpcheck-settle-"+id.Raw)))
}

// olderInitialize is the first message of a client that knows HTTP+SSE alone.
func olderInitialize(id wire.ID) []byte {
	return session.Frame(id, "initialize", session.Initialize(spec.V2024_11_05, nil))
}

// loopbackOnly ends the body where it is not known whom the server should let
// in.
func loopbackOnly(t *check.T) {
	if !check.IsLoopback(t.HTTP().URL()) {
		t.NotObserved("the server is not spoken to over the loopback interface: whom else it lets in is for its operator to say", "give a URL with localhost or 127.0.0.1")
	}
}

// A strangerOfSSE is what makes a request one that a page of another site had a
// browser send.
type strangerOfSSE struct {
	what  string
	edits []check.Edit
}

// strangersOfSSE are origins of other sites, also such as a careless comparison
// takes for one of this server: on its port, with its name at the beginning or
// at the end of theirs, and of a name that was rebound to the server, which then
// stands in Host as well.
func strangersOfSSE(t *check.T) (out []strangerOfSSE) {
	port := t.HTTP().URL().Port()
	for _, origin := range posting.ForeignOrigins(port) {
		out = append(out, strangerOfSSE{"Origin " + origin, []check.Edit{check.With("Origin", origin)}})
	}
	rebound := "evil.example"
	if port != "" {
		rebound += ":" + port
	}
	return append(out, strangerOfSSE{"Origin and Host " + rebound, []check.Edit{check.With("Origin", "http://"+rebound), check.Host(rebound)}})
}

// noteLenience notes what no clause judges: a Host alone that is none of the
// server's, and origins that may or may not be meant.
func noteLenience(t *check.T, served func(...check.Edit) bool) {
	for _, l := range []struct {
		what string
		edit check.Edit
	}{
		{"Origin null", check.With("Origin", "null")},
		{"an Origin of another port of this machine", check.With("Origin", "http://localhost:1")},
		{"a foreign Host and no Origin", check.Host("evil.example:" + t.HTTP().URL().Port())},
	} {
		if served(l.edit) {
			t.Note("a request with %s is served", l.what)
		}
	}
}
