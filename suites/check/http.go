package check

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Exchange is one request of HTTP and its answer, as far as it has come.
type Exchange = transport.Exchange

// An Edit changes a request of HTTP before it is sent.
type Edit func(r *transport.HTTPRequest)

// With sets a header field.
func With(key string, values ...string) Edit {
	return func(r *transport.HTTPRequest) { r.Header[http.CanonicalHeaderKey(key)] = values }
}

// Without leaves out a header field, also one that the user gives for every
// request.
func Without(key string) Edit {
	return func(r *transport.HTTPRequest) { r.Header[http.CanonicalHeaderKey(key)] = nil }
}

// Host names another host than that of the URL.
func Host(name string) Edit { return func(r *transport.HTTPRequest) { r.Host = name } }

// At sends the request to another URL.
func At(to *url.URL) Edit { return func(r *transport.HTTPRequest) { r.URL = to } }

// Strange sends the request without the header fields that the user gives, such
// as a token.
func Strange() Edit { return func(r *transport.HTTPRequest) { r.Strange = true } }

// Post sends bytes by POST as the session would post them, but for the edits, and
// returns once the head of the answer came. Neither is a message to judges, so
// that what is to be refused says nothing of the session. No answer breaks the
// rule.
func (t *T) Post(raw string, edits ...Edit) *Exchange {
	r, err := t.s.Posting(t.ctx, []byte(raw))
	return t.exchange(r, err, edits)
}

// Ask sends a request of another method, such as GET or DELETE, with the header
// fields that all requests of the session have, but for the edits. No answer
// breaks the rule.
func (t *T) Ask(method string, edits ...Edit) *Exchange {
	r, err := t.s.Asking(method)
	return t.exchange(r, err, edits)
}

// TryPost is Post that returns why there was no answer.
func (t *T) TryPost(raw string, edits ...Edit) (*Exchange, error) {
	r, err := t.s.Posting(t.ctx, []byte(raw))
	return t.tryExchange(r, err, edits)
}

// TryAsk is Ask that returns why there was no answer.
func (t *T) TryAsk(method string, edits ...Edit) (*Exchange, error) {
	r, err := t.s.Asking(method)
	return t.tryExchange(r, err, edits)
}

// A Posting is one request of several that are sent side by side.
type Posting struct {
	Method string // "" for POST
	Raw    string // what is posted
	Edits  []Edit
}

// Together sends several requests at once, as by TryPost or TryAsk, and returns
// their exchanges in the order given once the head of each answer came, nil where
// none did.
func (t *T) Together(posts []Posting) []*Exchange {
	out := make([]*Exchange, len(posts))
	var all sync.WaitGroup
	for i, p := range posts {
		all.Go(func() {
			var r transport.HTTPRequest
			var err error
			if p.Method == "" {
				r, err = t.s.Posting(t.ctx, []byte(p.Raw))
			} else {
				r, err = t.s.Asking(p.Method)
			}
			if err != nil {
				return
			}
			for _, edit := range p.Edits {
				edit(&r)
			}
			if x, err := t.s.Exchange(t.ctx, r); err == nil {
				out[i] = x
			}
		})
	}
	all.Wait()
	t.interrupted()
	return out
}

// PostAt is TryPost at another address of the machine that the server is on, under
// the name that the server is called by.
func (t *T) PostAt(address netip.Addr, raw string, edits ...Edit) (*Exchange, error) {
	r, err := t.s.Posting(t.ctx, []byte(raw))
	var x *Exchange
	if err == nil {
		for _, edit := range edits {
			edit(&r)
		}
		x, err = t.s.ExchangeAt(t.ctx, address, r)
	}
	if err == nil {
		t.mark = x.At
	}
	t.interrupted()
	return x, err
}

// Addresses returns the addresses by which other machines reach this one.
func (t *T) Addresses() []netip.Addr { return t.s.Addresses() }

// Endpoint returns the URL of the server; nil where it is not over HTTP.
func (t *T) Endpoint() *url.URL { return t.s.Endpoint() }

// OnLoopback tells whether the URL of the server names the loopback interface:
// then pages of a browser on this machine can reach it, and nobody else.
func (t *T) OnLoopback() bool {
	u := t.Endpoint()
	if u == nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func (t *T) tryExchange(r transport.HTTPRequest, err error, edits []Edit) (*Exchange, error) {
	if err == nil {
		for _, edit := range edits {
			edit(&r)
		}
		var x *Exchange
		if x, err = t.s.Exchange(t.ctx, r); err == nil {
			t.mark = x.At
			return x, nil
		}
	}
	t.interrupted()
	return nil, err
}

func (t *T) exchange(r transport.HTTPRequest, err error, edits []Edit) *Exchange {
	x, err := t.tryExchange(r, err, edits)
	if err != nil {
		t.Fail("an answer", err.Error(), "%s was not answered: %v", r.Method, err)
	}
	return x
}

// Whole waits until an answer has come to its end, at most as long as for an
// answer to a request, and tells whether it has.
func (t *T) Whole(x *Exchange) bool {
	x.Await(t.ctx, t.Timeout(), func(*Exchange) bool { return false })
	t.interrupted()
	_, over := x.Over()
	return over
}

// Until waits, at most so long, until an answer is as wished, and tells whether it
// is.
func (t *T) Until(x *Exchange, within time.Duration, wished func(x *Exchange) bool) bool {
	ok := x.Await(t.ctx, within, wished)
	t.interrupted()
	return ok
}

// Among waits, at most so long, for a message in an answer.
func (t *T) Among(x *Exchange, within time.Duration, match func(wire.Message) bool) (found wire.Message, ok bool) {
	ok = x.Await(t.ctx, within, func(x *Exchange) bool {
		for _, m := range x.Messages() {
			if match(m) {
				found = m
				return true
			}
		}
		return false
	})
	t.interrupted()
	return found, ok
}

// Status returns the status of HTTP with which what we sent at a frame was
// answered, 0 if there was none so far.
func (t *T) Status(at int) int {
	all := t.s.AllFrom(max(at, 0))
	if at < 0 || len(all) == 0 || all[0].From != wire.Client || all[0].HTTP == nil {
		return 0
	}
	for _, e := range all {
		if e.From == wire.Server && e.HTTP != nil && e.HTTP.Exchange == all[0].HTTP.Exchange && e.HTTP.Status != 0 {
			return e.HTTP.Status
		}
	}
	return 0
}

// Come waits, at most so long, until an answer is as wished, and tells whether it
// is.
func (t *T) Come(x *Exchange, within time.Duration, wished func(x *Exchange) bool) bool {
	defer t.interrupted()
	return x.Await(t.ctx, within, wished)
}

// Response waits for the first response in an answer, as long as for that to a
// request.
func (t *T) Response(x *Exchange) (wire.Message, bool) {
	return t.Among(x, t.Timeout(), wire.Message.IsResponse)
}

// MarkExchange names the request at fault. One of another session, as what Memo
// remembers may be, stays unmarked.
func (t *T) MarkExchange(x *Exchange) {
	if here := t.s.AllFrom(x.At); len(here) > 0 && x.Begins(here[0].Frame) {
		t.mark = x.At
	}
}

// SessionID returns the id that the server gave the session, or "".
func (t *T) SessionID() string { return t.s.SessionID() }

// Told is an answer in words: its status, its media type and what it says.
func Told(x *Exchange) string {
	text := fmt.Sprintf("HTTP status %d", x.Status)
	if name := http.StatusText(x.Status); name != "" {
		text += " " + name
	}
	if kind := x.MediaType(); kind != "" {
		text += " (" + kind + ")"
	}
	if all := x.Messages(); len(all) > 0 && all[0].IsResponse() && all[0].Get("jsonrpc").Exists() {
		text += " and " + all[0].Summary()
	}
	return text
}
