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

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An httpLink is a link to a server at a URL. Each message is a POST of its own.
// Over streamable HTTP the response to a POST is JSON or a stream of events
// (basic/transports#streamable-http); over HTTP+SSE all messages of the server are
// on the one stream of the session (basic/transports#http-with-sse of 2024-11-05).
type httpLink struct {
	c        *conn
	endpoint *url.URL
	sse      bool
	client   *http.Client
	ctx      context.Context
	stop     context.CancelFunc
	work     sync.WaitGroup

	mu           sync.Mutex
	sessionID    string                // that the server assigned, or ""
	revision     spec.Revision         // that initialize negotiated, or ""
	headerParams map[string][]argument // by tool: the arguments that headers repeat
	postURL      *url.URL              // of messages
}

func newHTTPLink(c *conn, endpoint string, kind transport.Kind) (*httpLink, error) {
	u, err := url.Parse(endpoint)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = errors.New("it is no URL of http or https")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	l := &httpLink{c: c, endpoint: u, postURL: u, sse: kind == transport.SSE, headerParams: map[string][]argument{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.client = &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return l, nil
}

// open opens the stream of the session over HTTP+SSE, and waits for its first
// event, which names the URL of the POSTs.
func (l *httpLink) open(context.Context) error {
	if !l.sse {
		return nil
	}
	response, err := l.do(l.ctx, http.MethodGet, l.endpoint, http.Header{"Accept": {"text/event-stream"}}, nil)
	if err != nil {
		return err
	}
	events := newEventReader(response.Body)
	first, err := events.next()
	if err == nil && (response.StatusCode != http.StatusOK || first.kind != "endpoint") {
		err = fmt.Errorf("HTTP status %d, and a first event of type %q", response.StatusCode, first.kind)
	}
	if err != nil {
		response.Body.Close()
		return fmt.Errorf("%s is no endpoint of HTTP+SSE: %w", l.endpoint.Redacted(), err)
	}
	to, err := l.endpoint.Parse(first.data)
	if err != nil || to.Scheme != l.endpoint.Scheme || to.Host != l.endpoint.Host {
		response.Body.Close()
		return fmt.Errorf("the server names %q for messages, which has another origin", first.data)
	}
	l.postURL = to
	l.work.Go(func() {
		defer close(l.c.closed)
		defer response.Body.Close()
		for {
			e, err := events.next()
			if err != nil {
				return
			}
			l.receiveEvent(e)
		}
	})
	return nil
}

// receiveEvent passes the messages of an event on.
func (l *httpLink) receiveEvent(e event) {
	if e.data == "" || e.kind != "" && e.kind != "message" {
		return
	}
	for _, m := range wire.Parse([]byte(e.data)).Elements() {
		l.c.receive(m)
	}
}

// do makes one HTTP request.
func (l *httpLink) do(
	ctx context.Context, method string, to *url.URL, header http.Header, body []byte,
) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, to.String(), content)
	if err != nil {
		return nil, err
	}
	request.Header = header
	return l.client.Do(request)
}

// send posts one message. It returns once a request is written, and once the server
// has accepted a message that needs no response.
func (l *httpLink) send(m Message) error {
	parsed := wire.Parse(m.Raw)
	header := l.header(parsed)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if parsed.Kind == wire.Request || parsed.Kind == wire.Batch {
		l.startRequest(parsed, header)
		return nil
	}
	response, err := l.do(l.ctx, http.MethodPost, l.postURL, header, m.Raw)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if m.Method == "notifications/initialized" && response.StatusCode < http.StatusBadRequest && !l.sse {
		l.listen()
	}
	return nil // an error status of a notification or response fails no request
}

// startRequest posts a request on a goroutine of its own and returns once it is
// written, or over HTTP+SSE once the server has accepted it.
func (l *httpLink) startRequest(m wire.Message, header http.Header) {
	written := make(chan struct{})
	setWritten := sync.OnceFunc(func() { close(written) })
	ctx := l.ctx
	if !l.sse {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { setWritten() },
		})
	}
	l.work.Go(func() {
		defer setWritten()
		if err := l.postRequest(ctx, m, header); err != nil {
			for _, part := range m.Elements() {
				l.c.resolve(part.ID(), outcome{err: err})
			}
		}
	})
	<-written
}

// postRequest posts a request and receives its response. It returns an error if no
// response will come.
func (l *httpLink) postRequest(ctx context.Context, m wire.Message, header http.Header) error {
	response, err := l.do(ctx, http.MethodPost, l.postURL, header, m.Raw)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if id := response.Header.Get("Mcp-Session-Id"); id != "" && m.Method() == "initialize" &&
		response.StatusCode == http.StatusOK {
		l.setSessionID(id)
	}
	mediaType, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	if strings.EqualFold(strings.TrimSpace(mediaType), "text/event-stream") {
		return l.receiveStream(m, response)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, transport.DefaultLineLimit))
	if err != nil {
		return err
	}
	if l.sse && response.StatusCode < http.StatusMultipleChoices {
		return nil // the response is on the stream of the session
	}
	parsed := wire.Parse(body)
	if !parsed.IsResponse() && parsed.Kind != wire.Batch {
		return fmt.Errorf("HTTP status %s", response.Status)
	}
	for _, part := range parsed.Elements() {
		if part.Kind == wire.Error && !part.ID().IsValid() {
			return fmt.Errorf("HTTP status %s: %s", response.Status, part.Summary())
		}
		l.learnHeaderParams(m, part)
		l.c.receive(part)
	}
	return nil
}

func (l *httpLink) setSessionID(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessionID = id
}

func (l *httpLink) setRevision(rev spec.Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision = rev
}

// close ends the session by DELETE, if the server assigned it an id
// (basic/transports#session-management), and every stream.
func (l *httpLink) close(context.Context) {
	if header := l.header(wire.Message{}); header.Get("Mcp-Session-Id") != "" {
		ctx, cancel := context.WithTimeout(l.ctx, l.c.options.Grace)
		defer cancel()
		// A server may refuse it with 405 and keep the session.
		if response, err := l.do(ctx, http.MethodDelete, l.endpoint, header, nil); err == nil {
			response.Body.Close()
		}
	}
	l.stop()
	l.work.Wait()
	l.client.CloseIdleConnections()
}
