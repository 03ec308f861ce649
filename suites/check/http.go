package check

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Exchange is one request of HTTP that a probe sends. Its Snapshot is the exchange as
// far as the response has arrived.
type PendingExchange = transport.PendingExchange

// An Edit changes a request of HTTP before it is sent.
type Edit func(r *transport.HTTPRequest)

// With sets a header field.
func With(key string, values ...string) Edit {
	return func(r *transport.HTTPRequest) { r.Header[http.CanonicalHeaderKey(key)] = values }
}

// Without removes a header field, also one that the user gives for every request.
func Without(key string) Edit {
	return func(r *transport.HTTPRequest) { r.Header[http.CanonicalHeaderKey(key)] = nil }
}

// Host replaces the host of the URL in the Host header field.
func Host(name string) Edit { return func(r *transport.HTTPRequest) { r.Host = name } }

// At sends the request to another URL.
func At(to *url.URL) Edit { return func(r *transport.HTTPRequest) { r.URL = to } }

// WithoutGivenHeaders removes the header fields that the user gives, such as a
// token.
func WithoutGivenHeaders() Edit {
	return func(r *transport.HTTPRequest) { r.OmitEndpointHeader = true }
}

// Post sends bytes by POST as the session would post them, changed by the edits,
// and returns when the head of the response has arrived. Judges do not see the
// request and its response, since a request that the server should refuse says
// nothing about the session. A missing response fails the check.
func (h HTTP) Post(raw string, edits ...Edit) *PendingExchange {
	r, err := h.t.s.NewPostRequest(h.t.ctx, []byte(raw))
	return h.t.exchange(r, err, edits)
}

// Request sends a request of another method, such as GET or DELETE, with the
// header fields of the session, changed by the edits. A missing response fails the
// check.
func (h HTTP) Request(method string, edits ...Edit) *PendingExchange {
	r, err := h.t.s.NewRequest(method)
	return h.t.exchange(r, err, edits)
}

// TryPost is like Post but returns why there is no response.
func (h HTTP) TryPost(raw string, edits ...Edit) (*PendingExchange, error) {
	r, err := h.t.s.NewPostRequest(h.t.ctx, []byte(raw))
	return h.t.tryExchange(r, err, edits)
}

// TryRequest is like Request but returns why there is no response.
func (h HTTP) TryRequest(method string, edits ...Edit) (*PendingExchange, error) {
	r, err := h.t.s.NewRequest(method)
	return h.t.tryExchange(r, err, edits)
}

// A Posting is one request of several that are sent side by side.
type Posting struct {
	Method string // "" for POST
	Raw    string // what is posted
	Edits  []Edit
}

// Together sends several requests at once and returns their exchanges in the order
// given when the head of each response has arrived; nil for a request without one.
func (h HTTP) Together(posts []Posting) []*PendingExchange {
	h.t.interrupted()
	h.t.out.crafted = true
	defer h.t.s.ExpectExchanges(len(posts))()
	out := make([]*PendingExchange, len(posts))
	var all sync.WaitGroup
	for i, p := range posts {
		all.Go(func() {
			var r transport.HTTPRequest
			var err error
			if p.Method == "" {
				r, err = h.t.s.NewPostRequest(h.t.ctx, []byte(p.Raw))
			} else {
				r, err = h.t.s.NewRequest(p.Method)
			}
			if err != nil {
				return
			}
			for _, edit := range p.Edits {
				edit(&r)
			}
			if x, err := h.t.s.StartExchange(h.t.ctx, r); err == nil {
				out[i] = x
			}
		})
	}
	all.Wait()
	h.t.interrupted()
	return out
}

// PostAt is like TryPost but connects to another address of the server's machine;
// the request keeps the name of the server.
func (h HTTP) PostAt(address netip.Addr, raw string, edits ...Edit) (*PendingExchange, error) {
	h.t.out.crafted = true
	r, err := h.t.s.NewPostRequest(h.t.ctx, []byte(raw))
	var x *PendingExchange
	if err == nil {
		for _, edit := range edits {
			edit(&r)
		}
		x, err = h.t.s.StartExchangeAt(h.t.ctx, address, r)
	}
	if err == nil {
		h.t.mark = x.FrameIndex
	}
	h.t.interrupted()
	return x, err
}

// Addresses returns the addresses under which other machines reach this one.
func (h HTTP) Addresses() []netip.Addr { return h.t.s.LocalAddresses() }

// URL returns the URL of the server, or nil if the transport is not HTTP.
func (h HTTP) URL() *url.URL { return h.t.s.Endpoint() }

func (t *T) tryExchange(r transport.HTTPRequest, err error, edits []Edit) (*PendingExchange, error) {
	t.interrupted()
	t.out.crafted = true
	if err == nil {
		for _, edit := range edits {
			edit(&r)
		}
		var x *PendingExchange
		if x, err = t.s.StartExchange(t.ctx, r); err == nil {
			t.mark = x.FrameIndex
			return x, nil
		}
	}
	t.interrupted()
	return nil, err
}

func (t *T) exchange(r transport.HTTPRequest, err error, edits []Edit) *PendingExchange {
	x, err := t.tryExchange(r, err, edits)
	if err != nil {
		t.Fail("an answer", err.Error(), "%s was not answered: %v", r.Method, err)
	}
	return x
}

// Complete waits for the end of a response, at most as long as for an answer to a
// request, and reports whether it has ended.
func (h HTTP) Complete(x *PendingExchange) bool {
	return h.Await(x, h.t.Timeout(), (*wire.Exchange).HasEnded)
}

// Await waits until a condition on an exchange holds, for at most the given time,
// and reports whether it holds.
func (h HTTP) Await(x *PendingExchange, within time.Duration, condition func(known *wire.Exchange) bool) bool {
	ok := x.Await(h.t.ctx, within, condition)
	h.t.interrupted()
	return ok
}

// AwaitMessage returns the first message of a response that matches; ok is false
// if none arrives in the given time.
func (h HTTP) AwaitMessage(x *PendingExchange, within time.Duration,
	match func(wire.Message) bool) (found wire.Message, ok bool) {
	ok = h.Await(x, within, func(known *wire.Exchange) bool {
		all := known.Messages()
		at := slices.IndexFunc(all, match)
		if at >= 0 {
			found = all[at]
		}
		return at >= 0
	})
	return found, ok
}

// Status returns the HTTP status of the response to what we sent in a frame, or 0
// if there is none so far.
func (h HTTP) Status(at int) int {
	if x := h.t.s.ExchangeFrom(at); x != nil {
		return x.Status()
	}
	return 0
}

// Response returns the first JSON-RPC response of an HTTP response; ok is false if
// none arrives in the time for an answer.
func (h HTTP) Response(x *PendingExchange) (wire.Message, bool) {
	return h.AwaitMessage(x, h.t.Timeout(), wire.Message.IsResponse)
}

// Mark names the request at fault. A request of another session, which a shared
// result may hold, stays unmarked.
func (h HTTP) Mark(x *PendingExchange) {
	if here, ok := h.t.s.Entry(x.FrameIndex); ok && x.IsRequestFrame(here.Frame) {
		h.t.mark = x.FrameIndex
	}
}

// SessionID returns the id that the server gave the session, or "".
func (h HTTP) SessionID() string { return h.t.s.SessionID() }

// Describe returns a response in words: its status, its media type and its first
// message.
func Describe(x *PendingExchange) string {
	text := fmt.Sprintf("HTTP status %d", x.Status)
	if name := http.StatusText(x.Status); name != "" {
		text += " " + name
	}
	if kind := x.MediaType(); kind != "" {
		text += " (" + kind + ")"
	}
	if all := x.Snapshot().Messages(); len(all) > 0 && all[0].IsResponse() && all[0].Get("jsonrpc").Exists() {
		text += " and " + all[0].Summary()
	}
	return text
}

// IsLoopback reports whether a URL names the loopback interface, which pages in a
// browser on this machine reach and other machines do not. A nil URL does not.
func IsLoopback(u *url.URL) bool {
	if u == nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Settle waits until the exchange is complete in which we sent a frame, at most as
// long as for an answer; another exchange may have ended before it. On stdio it
// returns at once.
func (h HTTP) Settle(at int) { h.t.s.AwaitExchangeEnd(h.t.ctx, at, h.t.s.AnswerTimeout()) }

// Refused reports whether HTTP alone refused what was sent in a frame: a failure
// status without a message, by which a server says that it cannot accept it
// (basic/transports#sending-messages-to-the-server).
func (h HTTP) Refused(at int) bool { return h.t.s.FailureStatus(at) != nil }

// RequireAccepted ends the body if HTTP alone refused what was sent in a frame: the
// rule is about a message that is not required then.
func RequireAccepted(t *T, at int) {
	if r := t.s.FailureStatus(at); r != nil {
		t.NotObserved(fmt.Sprintf("what was sent was refused with %v", r),
			"accept it with a status of success, or answer it")
	}
}
