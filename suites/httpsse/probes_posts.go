package httpsse

import (
	"net/url"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

const (
	withSSE       = "basic/transports#http-with-sse"
	nothingPosted = "no message was posted"
)

// postProbes returns the probes of messages that the server has no reason to refuse: no
// clause states their header fields, or that they may be refused.
func postProbes() []check.Check {
	return []check.Check{
		{
			ID:    "http-sse.content-type.forms",
			Says:  "the server serves a POST of application/json with a charset, which many HTTP clients add",
			Level: spec.Robust,
			In:    only,
			On:    transport.OnSSE,
			Spec:  withSSE,
			Idle:  nothingPosted,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				expectMediaTypesServed(t, "application/json; charset=utf-8", "application/json;charset=UTF-8")
			},
		},
		{
			ID:    "http-sse.content-type.case",
			Says:  "the server compares the media type in Content-Type case-insensitively (RFC 9110 section 8.3.1)",
			Level: spec.Robust,
			In:    only,
			On:    transport.OnSSE,
			Spec:  withSSE,
			Idle:  nothingPosted,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) { expectMediaTypesServed(t, "Application/JSON") },
		},
		{
			ID: "http-sse.content-type.compared",
			Says: "a server that refuses text/plain refuses other media types that contain application/json, " +
				"which pages of other sites can post without a preflight",
			Level: spec.Robust,
			In:    only,
			On:    transport.OnSSE,
			Spec:  withSSE,
			Idle:  "the server serves a body of text/plain",
			Hint:  "refuse a POST of text/plain",
			Probe: func(t *check.T) {
				c := openConnection(t)
				defer c.stream.Close()
				c.initialize()
				if c.serves(check.With("Content-Type", "text/plain")) {
					return
				}
				const mediaType = "text/plain; x=application/json"
				if c.serves(check.With("Content-Type", mediaType)) {
					t.Fail("a refusal, as of text/plain", "a result", "%s with Content-Type: %s was served",
						t.Facts.BarrierMethod, mediaType)
				}
				t.Saw()
			},
		},
		{
			ID:    "http-sse.notification.cancelled",
			Says:  "the server accepts a cancellation of a request that it has answered, since the two may cross",
			Level: spec.Robust,
			In:    only,
			On:    transport.OnSSE,
			Spec:  "basic/utilities/cancellation#error-handling",
			Idle:  nothingPosted,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				expectAccepted(t, func(c *connection) string {
					return `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
						`"params":{"requestId":` + c.opening.Raw + `,"reason":"mcpcheck is late"}}`
				})
			},
		},
		{
			ID:    "http-sse.notification.progress",
			Says:  "the server accepts progress of a request that it no longer waits for, since the two may cross",
			Level: spec.Robust,
			In:    only,
			On:    transport.OnSSE,
			Spec:  "basic/utilities/progress#behavior-requirements",
			Idle:  nothingPosted,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				expectAccepted(t, func(*connection) string {
					return `{"jsonrpc":"2.0","method":"notifications/progress",` +
						`"params":{"progressToken":"mcpcheck-over","progress":1,"total":1}}`
				})
			},
		},
	}
}

// refusalProbes returns the probe of what a refusal does to a connection.
func refusalProbes() []check.Check {
	return []check.Check{
		{
			ID: "http-sse.refused.survived",
			Says: "the server keeps a connection when it refuses a message by a status: the client waits for other " +
				"answers on its stream",
			Level:    spec.Robust,
			In:       only,
			On:       transport.OnSSE,
			Spec:     withSSE,
			Malforms: true,
			Idle:     "the server refused no message by a status",
			Hint:     "nothing has to be done: a server may answer each message on the stream",
			Probe: func(t *check.T) {
				c := openConnection(t)
				defer c.stream.Close()
				c.initialize()
				for _, message := range []struct{ what, raw string }{
					{"a request with a numeric method", `{"jsonrpc":"2.0","id":` + t.NextID().Raw + `,"method":5}`},
					{"text that is not JSON", `{"jsonrpc":`},
				} {
					x := posting.RequireServerStatus(t, c.post(message.raw))
					if !posting.IsClientError(x.Status) {
						continue
					}
					if !c.settle() {
						t.Fail("an answer on the stream", "none", "after %s was refused with HTTP status %d, a "+
							"request was not answered on the stream of the connection", message.what, x.Status)
					}
					t.Saw()
				}
			},
		},
		{
			ID: "http-sse.session.unknown",
			Says: "the server refuses a message to an endpoint that it gave to no connection: no stream carries an" +
				" answer, so that a client that is not refused waits for ever",
			Level: spec.Robust,
			In:    only,
			On:    transport.OnSSE,
			Spec:  withSSE,
			Idle:  "the endpoints of two connections are the same",
			Hint:  "give each connection an endpoint of its own",
			// The endpoint has the form of those of the server. No clause states which status
			// refuses a message.
			Probe: func(t *check.T) {
				c := openConnection(t)
				defer c.stream.Close()
				c.initialize()
				other := openConnection(t)
				defer other.stream.Close()
				unknown := unknownEndpoint(c.endpoint, other.endpoint)
				if unknown == nil {
					return
				}
				const what = "a message to an endpoint of no connection"
				raw := posting.BarrierFrame(t, wire.StringID("mcpcheck-unknown"))
				x, err := t.HTTP().TryPost(raw, check.At(unknown))
				if err != nil {
					t.Fail("a status of failure", "no answer", "%s: %v", what, err)
				}
				if posting.IsSuccess(posting.RequireServerStatus(t, x)) {
					t.Fail("a status of failure", check.Describe(x), "%s was posted", what)
				}
				t.Saw()
			},
		},
	}
}

// unknownEndpoint returns an endpoint that differs from one of two connections in what
// differs between the two, and has its form; nil if the two are the same.
func unknownEndpoint(one, other *url.URL) *url.URL {
	a, b := one.RequestURI(), other.RequestURI()
	if a == b {
		return nil
	}
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := len(a)
	for shift := len(b) - len(a); end > start && end+shift > start && a[end-1] == b[end+shift-1]; {
		end--
	}
	changed := strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r < '9', r >= 'a' && r < 'f', r >= 'A' && r < 'F', r > 'f' && r < 'z', r > 'F' && r < 'Z':
			return r + 1
		case r == '9':
			return '0'
		case r == 'f' || r == 'z':
			return 'a'
		case r == 'F' || r == 'Z':
			return 'A'
		}
		return r
	}, a[start:end])
	to, err := one.Parse(a[:start] + changed + a[end:])
	if err != nil || to.RequestURI() == a || to.RequestURI() == b {
		return nil
	}
	return to
}

// serves reports whether a request with edits is answered on the stream by a result.
func (c *connection) serves(edits ...check.Edit) bool {
	id := wire.StringID("mcpcheck-form-" + c.t.NextID().Raw)
	x, err := c.t.HTTP().TryPost(posting.BarrierFrame(c.t, id), append(edits, check.At(c.endpoint))...)
	if err != nil {
		return false
	}
	if posting.RequireServerStatus(c.t, x); !posting.IsSuccess(x) {
		return false
	}
	m, ok := c.awaitAnswer(id)
	return ok && m.Kind == wire.Result
}

// expectMediaTypesServed fails the check unless requests with forms of the media type
// are served, where the usual form is.
func expectMediaTypesServed(t *check.T, forms ...string) {
	c := openConnection(t)
	defer c.stream.Close()
	c.initialize()
	if !c.serves() {
		t.NotObserved("a request with the usual header fields was not served",
			"answer "+t.Facts.BarrierMethod+" with a result")
	}
	for _, form := range forms {
		if !c.serves(check.With("Content-Type", form)) {
			t.Fail("a result on the stream", "none", "%s with Content-Type: %s was posted", t.Facts.BarrierMethod, form)
		}
		t.Saw()
	}
}

// expectAccepted fails the check if a notification is refused in a new connection. That
// a server refuses all of them is reported by http-sse.post.taken.
func expectAccepted(t *check.T, message func(*connection) string) {
	c := openConnection(t)
	defer c.stream.Close()
	if x := c.initialize(); !posting.IsSuccess(x) {
		t.NotObserved("notifications/initialized was answered with "+check.Describe(x),
			"answer notifications/initialized with a status of success")
	}
	notification := message(c)
	if x := posting.RequireServerStatus(t, c.post(notification)); !posting.IsSuccess(x) {
		t.Fail("a status of success", check.Describe(x), "%s was posted", wire.Parse([]byte(notification)).Summary())
	}
	t.Saw()
}
