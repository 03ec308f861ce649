package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// RawReply is a response to bytes.
type RawReply = transport.RawResponse

// Bytes returns the bytes of the HTTP/1.1 request by which the session would post a
// message, changed by the edits, with all header fields that the user gives. For
// another method than POST, raw is not used. A check changes the bytes as no HTTP
// client would and sends them by Raw.
func (h HTTP) Bytes(method, raw string, edits ...Edit) string {
	var r transport.HTTPRequest
	var err error
	if method == http.MethodPost {
		r, err = h.t.s.NewPostRequest(h.t.ctx, []byte(raw))
	} else {
		r, err = h.t.s.NewRequest(method)
	}
	var out []byte
	if err == nil {
		for _, edit := range edits {
			edit(&r)
		}
		out, err = h.t.s.EncodeHTTPRequest(r)
	}
	if err != nil {
		h.t.interrupted()
		h.t.NotObserved(fmt.Sprintf("no request could be made: %v", err), "")
	}
	return string(out)
}

// errNoRawAnswer is the cause when the wait for a response to bytes ends.
var errNoRawAnswer = errors.New("none came in time")

// Raw writes bytes to the server on a connection of their own, over TLS for an
// https URL, and returns the first response that it reads, unchanged. All of it may
// take as long as an answer to a request. A missing response is an error. Judges
// see neither.
func (h HTTP) Raw(request string) (*RawReply, error) {
	all, err := h.RawAll(h.t.Timeout(), 1, request)
	if len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// RawAll writes the pieces one after another and returns the responses that arrive
// in the given time, at most n. It returns an error beside fewer than n.
func (h HTTP) RawAll(within time.Duration, n int, pieces ...string) (replies []*RawReply, err error) {
	ctx, done := context.WithTimeoutCause(h.t.ctx, within, errNoRawAnswer)
	defer done()
	replies, err = h.t.rawHTTP(ctx, n, pieces)
	h.t.interrupted()
	return replies, err
}

func (t *T) rawHTTP(ctx context.Context, n int, pieces []string) (replies []*RawReply, err error) {
	t.out.crafted = true
	conn, err := t.s.OpenRawConn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, piece := range pieces {
		at, err := conn.Write(ctx, []byte(piece))
		t.mark = at
		if err != nil {
			break // a server that refuses early may answer and close
		}
	}
	for len(replies) < n {
		reply, err := conn.Read(ctx)
		if err != nil {
			return replies, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}
