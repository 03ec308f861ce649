package check

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// rawHandle returns the handle of a probe whose session is at a URL, over
// streamable HTTP and with nothing sent.
func rawHandle(t *testing.T, url string, o transport.HTTPOptions) *T {
	t.Helper()
	at, err := transport.NewEndpoint(url, o)
	if err != nil {
		t.Fatal(err)
	}
	so := session.DefaultOptions()
	so.Timeout, so.Grace = 300*time.Millisecond, 100*time.Millisecond
	l := session.NewLauncher(transport.HTTPTarget{Endpoint: at, Kind: transport.HTTP}, so)
	t.Cleanup(l.Close)
	p := session.NewPool(l, spec.V2025_11_25)
	s, err := p.Unopened(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &T{
		Rev: s.Rev, Facts: s.Rev.Facts(), ctx: t.Context(), s: s, pool: p, out: &Outcome{}, mark: -1, others: &[]*T{},
	}
}

// serveBytes accepts connections and serves each by a function.
func serveBytes(t *testing.T, serve func(c net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/mcp?at=quay"
}

// readHead reads a request up to the empty line.
func readHead(c net.Conn) (string, *bufio.Reader) {
	in := bufio.NewReader(c)
	var all strings.Builder
	for {
		line, err := in.ReadString('\n')
		all.WriteString(line)
		if err != nil || line == "\r\n" {
			return all.String(), in
		}
	}
}

func TestRawSendsAndReturnsBytesUnchanged(t *testing.T) {
	got := make(chan string, 1)
	h := rawHandle(t, serveBytes(t, func(c net.Conn) {
		all, in := readHead(c)
		body := make([]byte, 5)
		io.ReadFull(in, body)
		got <- all + string(body)
		fmt.Fprint(c, "HTTP/1.1 100 Continue\r\n\r\n"+
			"HTTP/1.0 418 Teapot\r\nX-Odd: \xff\r\nContent-Length: 4\r\n\r\nteaX")
	}), transport.HTTPOptions{Header: http.Header{"Authorization": {"Bearer s3cret"}}})
	raw := strings.Replace(h.HTTP().Bytes(http.MethodPost, "hello", With("Mcp-Name", "a")), "Mcp-Name: a",
		"Mcp-Name: a\xff\x01", 1)
	reply, err := h.HTTP().Raw(raw)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Status != 418 || reply.Header.Get("X-Odd") != "\xff" || string(reply.Body) != "teaX" {
		t.Errorf("got %+v", reply)
	}
	sent := <-got
	for _, want := range []string{
		"POST /mcp?at=quay HTTP/1.1\r\n", "Mcp-Name: a\xff\x01\r\n", "Authorization: Bearer s3cret\r\n",
		"Content-Length: 5\r\n", "\r\n\r\nhello",
	} {
		if !strings.Contains(sent, want) {
			t.Errorf("%q is not in %q", want, sent)
		}
	}
	var shown strings.Builder
	answered := func(f wire.Frame) bool { return f.From == wire.Server && f.HTTP.Status == 418 }
	for limit := time.Now().Add(10 * time.Second); !slices.ContainsFunc(h.s.Transcript.Frames(0),
		answered); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the answer is not recorded") // the answer is recorded concurrently
		}
	}
	for _, f := range h.s.Transcript.Frames(0) {
		if !f.IsTransportOnly() {
			t.Errorf("a message was recorded: %s", f.AppendJSON(nil))
		}
		shown.Write(f.AppendJSON(nil))
	}
	if strings.Contains(shown.String(), "s3cret") || !strings.Contains(shown.String(), "Mcp-Name") ||
		!strings.Contains(shown.String(), `"status":418`) {
		t.Errorf("recorded is %s", shown.String())
	}
}

func TestRawAllReadsResponsesInOrder(t *testing.T) {
	h := rawHandle(t, serveBytes(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for i := range 2 {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 20%d Fine\r\nContent-Length: 0\r\n\r\n", i)
		}
	}), transport.HTTPOptions{})
	replies, err := h.HTTP().RawAll(time.Minute, 3, h.HTTP().Bytes("GET", ""), h.HTTP().Bytes("GET", ""))
	if len(replies) != 2 || replies[0].Status != 200 || replies[1].Status != 201 {
		t.Errorf("got %v", replies)
	}
	if err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("the third: %v", err)
	}
}

// A missing answer, or the missing end of one, is awaited until the deadline.
func TestRawStopsAtTheTimeout(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	h := rawHandle(t, serveBytes(t, func(c net.Conn) {
		if all, _ := readHead(c); strings.HasPrefix(all, "GET") {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
		}
		<-hold
	}), transport.HTTPOptions{})
	if reply, err := h.HTTP().Raw(h.HTTP().Bytes(http.MethodPost, "hello")); err == nil ||
		!strings.Contains(err.Error(), errNoRawAnswer.Error()) {
		t.Errorf("%+v, %v", reply, err)
	}
	reply, err := h.HTTP().Raw(h.HTTP().Bytes("GET", ""))
	if err != nil || string(reply.Body) != "half" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// An event stream that stays open is read to its first message.
func TestRawReadsAStreamToItsFirstMessage(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	h := rawHandle(t, serveBytes(t, func(c net.Conn) {
		readHead(c)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"+
			": here\n\nid: 1\ndata:\n\ndata: {}\n\n")
		<-hold
	}), transport.HTTPOptions{})
	reply, err := h.HTTP().RawAll(time.Minute, 1, h.HTTP().Bytes("GET", ""))
	if err != nil || !strings.HasSuffix(string(reply[0].Body), "data: {}\n\n") {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestRawSpeaksTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	h := rawHandle(t, server.URL, transport.HTTPOptions{TLS: &tls.Config{RootCAs: roots}})
	reply, err := h.HTTP().Raw(h.HTTP().Bytes(http.MethodPost, "hello"))
	if err != nil || reply.Status != http.StatusAccepted {
		t.Errorf("%+v, %v", reply, err)
	}
}

// The end of the run ends the body.
func TestRawEndsWithTheRun(t *testing.T) {
	h := rawHandle(t, serveBytes(t, func(c net.Conn) { readHead(c); io.Copy(io.Discard, c) }), transport.HTTPOptions{})
	ctx, stop := context.WithCancel(t.Context())
	h.ctx = ctx
	stop()
	h.body(func(h *T) { h.HTTP().Raw(h.HTTP().Bytes("GET", "")); t.Error("the body goes on") })
	if h.out.State != NotRun {
		t.Errorf("the state is %d", h.out.State)
	}
}
