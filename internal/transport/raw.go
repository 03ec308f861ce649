package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Bytes returns a request as one of HTTP/1.1, with the header fields of the
// endpoint, to be changed and sent on a connection of its own. It asks for the
// end of the connection behind the answer.
func (e *Endpoint) Bytes(r HTTPRequest) []byte {
	to := r.URL
	if to == nil {
		to = e.URL
	}
	host := r.Host
	if host == "" {
		host = to.Host
	}
	header := http.Header{}
	for _, h := range []http.Header{asIs, e.opts.Header, r.Header} {
		for key, values := range h {
			header[textproto.CanonicalMIMEHeaderKey(key)] = values
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, to.RequestURI(), host)
	for _, key := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[key] {
			fmt.Fprintf(&b, "%s: %s\r\n", key, value)
		}
	}
	if r.Body != nil {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.Body))
	}
	b.WriteString("Connection: close\r\n\r\n")
	b.Write(r.Body)
	return b.Bytes()
}

// Raw is a connection for bytes that no client of HTTP would send. What goes
// over it is recorded as frames of the transport: to judges of messages it is
// none.
type Raw struct {
	e    *Endpoint
	log  *exchanges
	conn net.Conn
	head *io.LimitedReader // of the connection, bounded while a head is read
	in   *bufio.Reader     // of head
	sent []string          // methods of what was sent and not yet answered
	n    int
}

// Raw opens a connection for bytes. The caller closes it.
func (s *Streamable) Raw(ctx context.Context) (*Raw, error) { return raw(ctx, s.Endpoint, &s.log) }

// Raw opens a connection for bytes. The caller closes it.
func (s *LegacySSE) Raw(ctx context.Context) (*Raw, error) { return raw(ctx, s.Endpoint, &s.log) }

func raw(ctx context.Context, e *Endpoint, log *exchanges) (*Raw, error) {
	conn, err := e.Dial(ctx)
	if err != nil {
		return nil, err
	}
	head := &io.LimitedReader{R: conn}
	return &Raw{e: e, log: log, conn: conn, head: head, in: bufio.NewReader(head)}, nil
}

// Write writes bytes, which are recorded before they go, and returns the index
// of their frame.
func (r *Raw) Write(ctx context.Context, b []byte) (at int, err error) {
	defer r.until(ctx)()
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	method, rest, _ := strings.Cut(string(line), " ")
	to, _, _ := strings.Cut(rest, " ")
	r.n, at = r.log.bytes(wire.HTTP{Method: wire.Clip(method, 20), URL: wire.Clip(to, 200), Body: text(r.e.masked(b))})
	r.sent = append(r.sent, method)
	if _, err := r.conn.Write(b); err != nil {
		return at, fmt.Errorf("write to %s: %w", r.e.address(), stopped(ctx, err))
	}
	return at, nil
}

// masked returns bytes without the values of the header fields that the user
// gave, which nobody else may read.
func (e *Endpoint) masked(b []byte) []byte {
	for _, values := range e.opts.Header {
		for _, v := range values {
			if v != "" {
				b = bytes.ReplaceAll(b, []byte(v), []byte("…"))
			}
		}
	}
	return b
}

// A RawReply is one answer that came over a Raw.
type RawReply struct {
	Status int
	Proto  string // HTTP/1.1
	Header http.Header
	Body   []byte // at most as much as the limit of the endpoint
	// Whole: the body came to its end. Of an event stream no more is read than
	// to the end of its first block with data.
	Whole bool
}

// Read returns the next answer. It is an error if no head of one came, and none
// if the context ends while its body comes.
func (r *Raw) Read(ctx context.Context) (*RawReply, error) {
	defer r.until(ctx)()
	of := &http.Request{Method: http.MethodPost}
	if len(r.sent) > 0 {
		of.Method, r.sent = r.sent[0], r.sent[1:]
	}
	r.head.N = maxHead
	answer, err := http.ReadResponse(r.in, of)
	for err == nil && answer.StatusCode >= 100 && answer.StatusCode < 200 && answer.StatusCode != http.StatusSwitchingProtocols {
		answer, err = http.ReadResponse(r.in, of) // one that is only on the way
	}
	if err != nil {
		if r.head.N <= 0 {
			err = fmt.Errorf("its head is longer than %d bytes", maxHead)
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the server closed the connection")
		}
		err = fmt.Errorf("no answer from %s: %w", r.e.address(), stopped(ctx, err))
		r.log.failed(r.n, err)
		return nil, err
	}
	r.head.N = math.MaxInt64 // of a body no more is read than the limit
	defer answer.Body.Close()
	r.e.count(answer.StatusCode)
	reply := &Reply{Status: answer.StatusCode, Proto: answer.Proto, Header: answer.Header, body: answer.Body, limit: r.e.opts.Limit, cancel: func() {}}
	out := &RawReply{Status: reply.Status, Proto: reply.Proto, Header: reply.Header}
	out.Body, out.Whole = r.body(reply)
	r.log.whole(r.n, reply, out.Body)
	return out, nil
}

// body reads a body as far as it comes.
func (r *Raw) body(reply *Reply) (body []byte, whole bool) {
	var kept bytes.Buffer
	in := io.TeeReader(io.LimitReader(reply.body, int64(reply.limit)), &kept)
	if reply.Streams() {
		for events := NewEventReader(in, reply.limit); ; {
			if e, err := events.Next(); err != nil || e.Dispatched() && len(e.Data) > 0 {
				return kept.Bytes(), errors.Is(err, io.EOF)
			}
		}
	}
	_, err := io.Copy(io.Discard, in)
	return kept.Bytes(), err == nil
}

// until breaks off what waits on the connection when the context ends.
func (r *Raw) until(ctx context.Context) (done func()) {
	stop := context.AfterFunc(ctx, func() { r.conn.Close() })
	return func() { stop() }
}

// stopped returns why the context ended, if it has, else the error.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Close closes the connection.
func (r *Raw) Close() { r.conn.Close() }
