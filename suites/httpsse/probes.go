package httpsse

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// probes returns the probes of basic/transports#http-with-sse of 2024-11-05, and of
// #backwards-compatibility of later revisions.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "http-sse.post.taken",
			Says:  "the server accepts messages posted to the endpoint of a connection and answers on its stream",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-post-endpoint", "http-sse-endpoint-uri"},
			Idle:  "no message was posted",
			Hint:  expect.HintReply,
			// The opening runs on a connection of its own, since the session of the checks
			// goes on after some failures, such as a refused notification.
			Probe: func(t *check.T) {
				c := openConnection(t)
				defer c.stream.Close()
				id := wire.StringID("mcpcheck-own-" + t.NextID().Raw)
				for _, message := range []struct{ method, raw string }{
					{"initialize", t.Frame(id, "initialize", check.InitializeParams(string(t.Rev)))},
					{"notifications/initialized", posting.InitializedFrame},
					{t.Facts.BarrierMethod, posting.BarrierFrame(t, wire.StringID("mcpcheck-own-"+t.NextID().Raw))},
				} {
					expectTaken(c, message.method, message.raw)
					t.Saw()
				}
			},
		},
		{
			ID:    "http-sse.clients.apart",
			Says:  "the server answers two connections that use the same request id each on its own stream, once",
			Level: spec.Should,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-multiple-clients"},
			Idle:  "no two connections were open",
			Hint:  "let the server serve several connections at once",
			// The two requests have results that cannot be mistaken for each other: an empty
			// one and a list.
			Probe: func(t *check.T) {
				expectSecondStream(t)
				first, second := openConnection(t), openConnection(t)
				defer first.stream.Close()
				defer second.stream.Close()
				first.initialize()
				second.initialize()
				first.requireOwnAnswers(second)
				list := capabilityWithList(t)
				id := wire.StringID("mcpcheck-same")
				first.post(t.Frame(id, t.Facts.BarrierMethod, nil))
				second.post(t.Frame(id, list+"/list", nil))
				isList := func(m wire.Message) bool { return m.Result().Get(list).Exists() }
				expectOneAnswer(first, "the first", id, func(m wire.Message) bool { return !isList(m) })
				expectOneAnswer(second, "the second", id, isList)
				t.Saw()
			},
		},
		{
			ID:    "http-sse.clients.ended",
			Says:  "the server answers a message for an ended connection on no other connection",
			Level: spec.Should,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-multiple-clients"},
			Idle:  "no POST for an ended connection was answered",
			Hint:  "answer a POST for a connection that has ended, for example with status 404",
			// No clause states which status refuses such a message.
			Probe: func(t *check.T) {
				other := openConnection(t)
				defer other.stream.Close()
				other.initialize()
				ended := openConnection(t)
				ended.initialize()
				ended.requireOwnAnswers(other)
				ended.stream.Close()
				var ids []wire.ID
				for i := range endedTries {
					id := wire.StringID(fmt.Sprintf("mcpcheck-gone-%d", i))
					ids = append(ids, id)
					x, err := t.HTTP().TryPost(posting.BarrierFrame(t, id), check.At(ended.endpoint))
					settled := other.settle()
					if err != nil {
						t.Note("a POST for an ended connection is not answered: %v", err)
						break
					}
					if settled {
						t.Saw()
					}
					if !posting.IsSuccess(x) {
						break
					}
					if i == endedTries-1 {
						t.Note("a POST for an ended connection is answered with status %d", x.Status)
					}
				}
				for _, m := range other.stream.Snapshot().Messages() {
					if m.IsResponse() && slices.ContainsFunc(ids, m.ID().Equal) {
						t.Fail("nothing", m.Summary(),
							"a message for an ended connection was answered on another one: %s", m.Summary())
					}
				}
			},
		},
		{
			ID:    "http-sse.hosted.post",
			Says:  "a server that keeps the HTTP+SSE stream for older clients keeps its POST endpoint too",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"http-sse-backcompat-server-hosts-both"},
			Idle:  "the server has no HTTP+SSE stream at its URL or beside it, which only older clients need",
			Hint:  "serve HTTP+SSE for older clients at the same URL, or at sse beside it",
			// Servers that have both transports keep the stream at the URL itself or beside it
			// as sse. The stream is optional.
			Probe: func(t *check.T) {
				base := *t.HTTP().URL()
				for _, at := range []string{base.Path, "sse"} {
					to, err := base.Parse(at)
					if err != nil {
						continue
					}
					c, _ := tryConnection(t, min(t.Timeout(), endpointLimit),
						check.At(to), check.Without(posting.SessionField), check.Without(posting.VersionField))
					if c == nil {
						continue
					}
					defer c.stream.Close()
					if t.Facts.Stateless {
						t.Note("the server still has HTTP+SSE, at %s, which this revision deprecates", to.Path)
					}
					id := wire.StringID("mcpcheck-older")
					expectTaken(c, "initialize", string(wire.EncodeCall(id, "initialize",
						session.InitializeParams(spec.V2024_11_05, nil))))
					t.Saw()
					return
				}
			},
		},
	}
}

// endedTries is how many messages are posted for an ended connection: the server may
// learn of its end a little later.
const endedTries = 5

// endpointLimit is how soon a stream must begin with its endpoint event to be taken
// for one of HTTP+SSE: other streams may stay silent for ever.
const endpointLimit = time.Second

// expectTaken posts a message to a connection. The server must answer the POST with a
// status of success, and a request on the stream.
func expectTaken(c *connection, method, raw string) {
	x, err := c.t.HTTP().TryPost(raw, check.At(c.endpoint),
		check.Without(posting.SessionField), check.Without(posting.VersionField))
	switch {
	case err != nil:
		c.t.Fail("a status of success", err.Error(), "a POST of %s to the endpoint %s was not answered: %v",
			method, c.endpoint.Path, err)
	case !posting.IsSuccess(x):
		c.t.Fail("a status of success", check.Describe(x), "%s was posted to the endpoint %s", method, c.endpoint.Path)
	}
	id := wire.Parse([]byte(raw)).ID()
	if !id.IsPresent() {
		return
	}
	if _, ok := c.awaitAnswer(id); !ok {
		c.t.Fail("an answer on the stream", "none", "%s was posted to the endpoint %s and not answered on its stream",
			method, c.endpoint.Path)
	}
}

// expectSecondStream fails the check if no stream can be opened beside that of the
// session, which shows that the server opens streams.
func expectSecondStream(t *check.T) {
	x, err := t.HTTP().TryRequest(http.MethodGet, posting.AcceptStream())
	switch {
	case err != nil:
		t.Fail("a second stream", err.Error(), "while a session is open no other stream could be opened: %v", err)
	case !posting.IsSuccess(x):
		t.Fail("a second stream", check.Describe(x), "while a session is open a GET opened no other stream")
	}
	x.Close()
}

// expectOneAnswer fails the check unless one answer to a request comes on the stream
// of its connection, and a result is the one of this request.
func expectOneAnswer(c *connection, name string, id wire.ID, isOwn func(result wire.Message) bool) {
	if _, ok := c.awaitAnswer(id); !ok {
		c.t.Fail("an answer on its stream", "none", "a request on %s of two connections was not answered on its stream",
			name)
	}
	c.settle()
	var got []string
	for _, m := range c.stream.Snapshot().Messages() {
		if !check.ResponseTo(id)(m) {
			continue
		}
		got = append(got, m.Summary())
		if m.Kind == wire.Result && !isOwn(m) || len(got) > 1 {
			c.t.Fail("one answer, to its own request", strings.Join(got, ", "),
				"%s of two connections got the answer to the other's request of the same id, or several answers", name)
		}
	}
}

// capabilityWithList returns a declared capability that has a list.
func capabilityWithList(t *check.T) string {
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if t.Declares(capability) {
			return capability
		}
	}
	t.NotObserved("the server declares nothing that has a list, so that all its answers are alike",
		"declare tools, prompts or resources")
	return ""
}
