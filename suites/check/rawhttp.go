package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// RawReply is an answer to bytes.
type RawReply = transport.RawReply

// RawPost returns the bytes of HTTP/1.1 by which the session would post a
// message, but for the edits, with all header fields that the user gives for
// every request. A check changes them as no client of HTTP would, and sends
// them by RawHTTP.
func (t *T) RawPost(raw string, edits ...Edit) string {
	r, err := t.s.Posting(t.ctx, []byte(raw))
	return t.bytes(r, err, edits)
}

// RawAsk returns the bytes of a request of another method, such as GET.
func (t *T) RawAsk(method string, edits ...Edit) string {
	r, err := t.s.Asking(method)
	return t.bytes(r, err, edits)
}

func (t *T) bytes(r transport.HTTPRequest, err error, edits []Edit) string {
	var out []byte
	if err == nil {
		for _, edit := range edits {
			edit(&r)
		}
		out, err = t.s.Bytes(r)
	}
	if err != nil {
		t.interrupted()
		t.NotObserved(fmt.Sprintf("no request could be made: %v", err), "")
	}
	return string(out)
}

// errNoRawAnswer is why the wait for an answer to bytes ended.
var errNoRawAnswer = errors.New("none came in time")

// RawHTTP writes bytes to the server on a connection of their own, under TLS
// where the URL is of https, and returns the first answer that it reads, as it
// stands. All of it may take as long as the answer to a request. That no answer
// came is an error. Neither is a message to judges.
func (t *T) RawHTTP(request string) (*RawReply, error) {
	all, err := t.RawHTTPs(t.Timeout(), 1, request)
	if len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// RawHTTPs writes bytes one piece after another and returns as many answers as
// came, at most n, within a time. Fewer than n are an error beside them.
func (t *T) RawHTTPs(within time.Duration, n int, pieces ...string) (replies []*RawReply, err error) {
	ctx, done := context.WithTimeoutCause(t.ctx, within, errNoRawAnswer)
	defer done()
	replies, err = t.rawHTTP(ctx, n, pieces)
	t.interrupted()
	return replies, err
}

func (t *T) rawHTTP(ctx context.Context, n int, pieces []string) (replies []*RawReply, err error) {
	conn, err := t.s.Raw(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, piece := range pieces {
		at, err := conn.Write(ctx, []byte(piece))
		t.mark = at
		if err != nil {
			break // who refuses early may close behind an answer
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
