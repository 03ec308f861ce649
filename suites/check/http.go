package check

import (
	"fmt"
	"net/http"
	"net/url"
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

// Response waits for the first response in an answer, as long as for that to a
// request.
func (t *T) Response(x *Exchange) (wire.Message, bool) {
	return t.Among(x, t.Timeout(), wire.Message.IsResponse)
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
