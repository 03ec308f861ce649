package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// remote is a link to a server at a URL. Each message is a POST of its own. Over
// streamable HTTP its answer is JSON or a stream of events
// (basic/transports#streamable-http), over HTTP+SSE the one stream of the session
// has all answers (basic/transports#http-with-sse of 2024-11-05).
type remote struct {
	c      *conn
	at     *url.URL
	sse    bool
	client *http.Client
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	session string              // id that the server gave, or ""
	rev     spec.Revision       // that was agreed on by initialize, or ""
	params  map[string][]copied // arguments of tools that go into headers
	to      *url.URL            // where messages are posted
}

func newRemote(c *conn, at string, kind transport.Kind) (*remote, error) {
	u, err := url.Parse(at)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = errors.New("it is no URL of http or https")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	r := &remote{c: c, at: u, to: u, sse: kind == transport.SSE, params: map[string][]copied{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.client = &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return r, nil
}

// open opens the stream of the session over HTTP+SSE, and waits until its first
// event has told where messages go.
func (r *remote) open(ctx context.Context) error {
	if !r.sse {
		return nil
	}
	answer, err := r.do(r.ctx, http.MethodGet, r.at, http.Header{"Accept": {"text/event-stream"}}, nil)
	if err != nil {
		return err
	}
	events := newEvents(answer.Body)
	first, err := events.next()
	if err == nil && (answer.StatusCode != http.StatusOK || first.kind != "endpoint") {
		err = fmt.Errorf("HTTP status %d, and a first event of type %q", answer.StatusCode, first.kind)
	}
	if err != nil {
		answer.Body.Close()
		return fmt.Errorf("%s is no endpoint of HTTP+SSE: %w", r.at.Redacted(), err)
	}
	to, err := r.at.Parse(first.data)
	if err != nil || to.Scheme != r.at.Scheme || to.Host != r.at.Host {
		answer.Body.Close()
		return fmt.Errorf("the server has messages posted to %q, which is elsewhere", first.data)
	}
	r.to = to
	r.work.Go(func() {
		defer close(r.c.gone)
		defer answer.Body.Close()
		for {
			e, err := events.next()
			if err != nil {
				return
			}
			r.take(e)
		}
	})
	return nil
}

func (r *remote) take(e event) {
	if e.data == "" || e.kind != "" && e.kind != "message" {
		return
	}
	for _, m := range wire.Parse([]byte(e.data)).Elements() {
		r.c.take(m)
	}
}

// do makes one request of HTTP.
func (r *remote) do(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, to.String(), content)
	if err != nil {
		return nil, err
	}
	request.Header = header
	return r.client.Do(request)
}

// send posts one message. It returns once a request was sent, and once the server
// has taken what asks for nothing.
func (r *remote) send(m Message) error {
	parsed := wire.Parse(m.Raw)
	header := r.header(parsed)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if parsed.Kind == wire.Request || parsed.Kind == wire.Batch {
		written := make(chan struct{})
		wrote := sync.OnceFunc(func() { close(written) })
		ctx := r.ctx
		if !r.sse { // there the server says at once that it has it
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { wrote() }})
		}
		r.work.Go(func() {
			defer wrote()
			if err := r.ask(ctx, parsed, header); err != nil {
				for _, part := range parsed.Elements() {
					r.c.settle(part.ID(), reply{err: err})
				}
			}
		})
		<-written
		return nil
	}
	answer, err := r.do(r.ctx, http.MethodPost, r.to, header, m.Raw)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	if m.Method == "notifications/initialized" && answer.StatusCode < http.StatusBadRequest && !r.sse {
		r.listen()
	}
	return nil // what the server makes of it is its business
}

// ask posts a request and takes its answer. An error tells that none will come.
func (r *remote) ask(ctx context.Context, m wire.Message, header http.Header) error {
	answer, err := r.do(ctx, http.MethodPost, r.to, header, m.Raw)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" && m.Method() == "initialize" && answer.StatusCode == http.StatusOK {
		r.mu.Lock()
		r.session = id
		r.mu.Unlock()
	}
	if kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";"); strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
		return r.stream(m, answer)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, transport.DefaultLineLimit))
	if err != nil {
		return err
	}
	if r.sse && answer.StatusCode < http.StatusMultipleChoices {
		return nil // it is answered on the stream
	}
	said := wire.Parse(body)
	if !said.IsResponse() && said.Kind != wire.Batch {
		return fmt.Errorf("HTTP status %s", answer.Status)
	}
	for _, part := range said.Elements() {
		if part.Kind == wire.Error && !part.ID().Usable() {
			return fmt.Errorf("HTTP status %s: %s", answer.Status, part.Summary())
		}
		r.learn(m, part)
		r.c.take(part)
	}
	return nil
}

// stream takes what comes on the stream of a request. One that ends before the
// answer is taken up again where the server gave its events ids
// (basic/transports#resumability-and-redelivery).
func (r *remote) stream(m wire.Message, answer *http.Response) error {
	until := time.Now().Add(r.c.o.Timeout)
	last, wait := "", 100*time.Millisecond
	for {
		events := newEvents(answer.Body)
		for {
			e, err := events.next()
			if err != nil {
				break
			}
			if e.id != "" {
				last = e.id
			}
			if e.retry > 0 {
				wait = e.retry
			}
			if said := wire.Parse([]byte(e.data)); said.IsResponse() && said.ID().Equal(m.ID()) || said.Kind == wire.Batch {
				r.learn(m, said)
				r.take(e)
				return nil
			}
			r.take(e)
		}
		answer.Body.Close()
		if last == "" || time.Now().Add(wait).After(until) {
			return errors.New("the stream ended before it")
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-r.ctx.Done():
			pause.Stop()
			return r.ctx.Err()
		}
		header := r.header(wire.Message{})
		header.Set("Accept", "text/event-stream")
		header.Set("Last-Event-ID", last)
		var err error
		if answer, err = r.do(r.ctx, http.MethodGet, r.at, header, nil); err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("the stream ended before it, and was not taken up again: HTTP status %s", answer.Status)
		}
	}
}

// listen opens the stream for what the server says of itself; one without answers
// 405 (basic/transports#listening-for-messages-from-the-server).
func (r *remote) listen() {
	header := r.header(wire.Message{})
	header.Set("Accept", "text/event-stream")
	r.work.Go(func() {
		answer, err := r.do(r.ctx, http.MethodGet, r.at, header, nil)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		events := newEvents(answer.Body)
		for answer.StatusCode == http.StatusOK {
			e, err := events.next()
			if err != nil {
				return
			}
			r.take(e)
		}
	})
}

func (r *remote) speaks(rev spec.Revision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rev = rev
}

// close ends the session by DELETE, where the server gave it an id
// (basic/transports#session-management), and every stream.
func (r *remote) close(context.Context) {
	header := r.header(wire.Message{})
	if header.Get("Mcp-Session-Id") != "" {
		ctx, cancel := context.WithTimeout(r.ctx, r.c.o.Grace)
		defer cancel()
		if request, err := http.NewRequestWithContext(ctx, http.MethodDelete, r.at.String(), nil); err == nil {
			request.Header = header
			// A server may refuse it with 405, and keep the session.
			if answer, err := r.client.Do(request); err == nil {
				answer.Body.Close()
			}
		}
	}
	r.stop()
	r.work.Wait()
	r.client.CloseIdleConnections()
}
