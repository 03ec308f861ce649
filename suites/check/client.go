package check

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// HostRequest is one thing that a server requests from the client, and HostReply the
// answer of the client; the zero HostReply is no answer.
type (
	HostRequest = session.HostRequest
	HostReply   = session.HostReply
)

// An InputRequest is one thing that a server requested from its client: by a request of
// its own, or by an entry of an input_required result (basic/patterns/mrtr).
type InputRequest struct {
	Method string
	Params gjson.Result
	Key    string     // of the entry; "" for a request
	Frame  wire.Entry // the request, or the result that holds the entry
}

// InputRequests returns what a message requests from the client. It leaves out pings.
func InputRequests(e wire.Entry) []InputRequest {
	m := e.Message
	switch {
	case m.Kind == wire.Request && m.Method() != "ping":
		return []InputRequest{{Method: m.Method(), Params: m.Params(), Frame: e}}
	case session.IsInputRequired(m):
		var out []InputRequest
		m.Result().Get("inputRequests").ForEach(func(key, entry gjson.Result) bool {
			out = append(out, InputRequest{
				Method: entry.Get("method").String(), Params: entry.Get("params"), Key: key.String(), Frame: e,
			})
			return true
		})
		return out
	}
	return nil
}

// InputRequests returns what the judged side, a server, requested from the client, in
// order.
func (j *J) InputRequests() []InputRequest {
	return Derived(j, "input requests of the server", func() []InputRequest {
		var out []InputRequest
		for _, e := range j.Sent() {
			out = append(out, InputRequests(e)...)
		}
		return out
	})
}

// Requests returns what the server requested from a frame on.
func (c Client) Requests(from int) []InputRequest {
	var out []InputRequest
	for e := range c.t.s.Walk(from) {
		if e.From != wire.Server {
			continue
		}
		for _, part := range e.Message.Elements() {
			one := e
			one.Message = part
			out = append(out, InputRequests(one)...)
		}
	}
	return out
}

// Answer has f answer what the server requests until the body ends, in place of the
// host that agrees to everything. f is called on another goroutine. If f returns the
// zero HostReply, the body may answer by Send.
func (c Client) Answer(f func(HostRequest) HostReply) {
	c.t.s.OverrideHost(f)
	*c.t.undo = append(*c.t.undo, func() { c.t.s.OverrideHost(nil) })
}

// Invoke sends a request and answers what the server requests on its behalf, in the way
// of the era, until the answer is complete. It returns the last answer.
func (c Client) Invoke(method string, params Params) Reply {
	return c.t.reply(c.t.s.RequestWithInput(c.t.ctx, method, params))
}

// Continue goes on from a first answer until the answer is complete.
func (c Client) Continue(method string, params Params, first wire.Entry) Reply {
	return c.t.reply(c.t.s.SupplyInput(c.t.ctx, method, params, first))
}

// Retry returns the params of the next round of a request after an interim result, with
// the answers of the host; ok is false if it answered nothing that was requested.
func (c Client) Retry(params Params, interim gjson.Result) (retry Params, ok bool) {
	return c.t.s.RetryParams(params, interim)
}

// Capabilities returns what we declare as the client of this session.
func (c Client) Capabilities() Params { return c.t.s.ClientCapabilities() }
