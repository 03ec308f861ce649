package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// RawConn is a connection to the server for bytes that no HTTP client would send.
// They are recorded as frames without a message, so that no check takes them for
// messages.
type RawConn struct {
	endpoint  *Endpoint
	log       *exchangeLog
	conn      net.Conn
	headLimit *io.LimitedReader // of conn; limits the head of an answer
	in        *bufio.Reader     // of headLimit
	methods   []string          // of the requests without an answer so far
	number    int               // of the last exchange
}

// OpenRawConn opens a connection for bytes. The caller closes it.
func (s *exchanger) OpenRawConn(ctx context.Context) (*RawConn, error) {
	conn, err := s.endpoint.dial(ctx)
	if err != nil {
		return nil, err
	}
	head := &io.LimitedReader{R: conn}
	return &RawConn{endpoint: s.endpoint, log: &s.log, conn: conn, headLimit: head, in: bufio.NewReader(head)}, nil
}

// Write records bytes, writes them, and returns the index of their frame.
func (r *RawConn) Write(ctx context.Context, b []byte) (at int, err error) {
	defer r.closeOnDone(ctx)()
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	method, rest, _ := strings.Cut(string(line), " ")
	to, _, _ := strings.Cut(rest, " ")
	body := recordedText(r.endpoint.withoutSecrets(b))
	h := &wire.HTTP{Method: wire.Clip(method, 20), URL: wire.Clip(to, 200), Body: body}
	r.number, at = r.log.begin(wire.Frame{From: wire.Client, HTTP: h})
	r.methods = append(r.methods, method)
	if _, err := r.conn.Write(b); err != nil {
		return at, fmt.Errorf("write to %s: %w", r.endpoint.hostPort(), contextCause(ctx, err))
	}
	return at, nil
}

// withoutSecrets replaces the header values that the user gave: they may be
// secrets.
func (e *Endpoint) withoutSecrets(b []byte) []byte {
	for _, values := range e.opts.Header {
		for _, v := range values {
			if v != "" {
				b = bytes.ReplaceAll(b, []byte(v), []byte("…"))
			}
		}
	}
	return b
}

// RawResponse is one answer that came over a RawConn.
type RawResponse struct {
	Status int
	Header http.Header
	Body   []byte // up to the limit of the endpoint; of an event stream up to its first block with data
}

// Read returns the next answer. It returns an error if no head of an answer comes.
// If the context ends while the body comes, it returns the body so far.
func (r *RawConn) Read(ctx context.Context) (*RawResponse, error) {
	defer r.closeOnDone(ctx)()
	of := &http.Request{Method: http.MethodPost}
	if len(r.methods) > 0 {
		of.Method, r.methods = r.methods[0], r.methods[1:]
	}
	r.headLimit.N = maxHead
	answer, err := http.ReadResponse(r.in, of)
	for err == nil && isInterim(answer.StatusCode) {
		answer, err = http.ReadResponse(r.in, of)
	}
	if err != nil {
		if r.headLimit.N <= 0 {
			err = fmt.Errorf("its head is longer than %d bytes", maxHead)
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the server closed the connection")
		}
		err = fmt.Errorf("no answer from %s: %w", r.endpoint.hostPort(), contextCause(ctx, err))
		r.log.recordFailure(r.number, err)
		return nil, err
	}
	r.headLimit.N = math.MaxInt64 // readBody has a limit of its own
	defer answer.Body.Close()
	r.endpoint.countStatus(answer.StatusCode)
	reply := &HTTPResponse{
		Status: answer.StatusCode, Header: answer.Header, body: answer.Body, limit: r.endpoint.opts.ReadLimit,
	}
	body := readBody(reply)
	r.log.recordAnswer(r.number, reply, body)
	return &RawResponse{Status: reply.Status, Header: reply.Header, Body: body}, nil
}

// isInterim reports whether another head follows an answer with this status (RFC
// 9110 section 15.2). None follows 101 Switching Protocols.
func isInterim(status int) bool {
	return status >= 100 && status < 200 && status != http.StatusSwitchingProtocols
}

// readBody reads a body as far as it comes; of an event stream, up to the end of
// its first block with data.
func readBody(reply *HTTPResponse) []byte {
	var kept bytes.Buffer
	in := io.TeeReader(io.LimitReader(reply.body, int64(reply.limit)), &kept)
	if !reply.IsEventStream() {
		_, _ = io.Copy(io.Discard, in) // what came is the body, also where the connection broke
		return kept.Bytes()
	}
	for events := NewEventReader(in, reply.limit); ; {
		if f, err := events.Next(); err != nil || f.IsDispatched() && len(f.Raw) > 0 {
			return kept.Bytes()
		}
	}
}

// closeOnDone closes the connection when the context ends, until the returned
// function is called.
func (r *RawConn) closeOnDone(ctx context.Context) (stop func()) {
	cancel := context.AfterFunc(ctx, func() { r.conn.Close() })
	return func() { cancel() }
}

// contextCause returns why the context ended; err if it has not.
func contextCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Close closes the connection.
func (r *RawConn) Close() { r.conn.Close() }
