package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// A notary is a small server over HTTP without any feature: streamable HTTP at
// /mcp, HTTP+SSE at /sse. It notes what is asked of it.
type notary struct {
	token string // that every request must carry as a bearer, if not ""

	mu       sync.Mutex
	sessions map[string]*office
	opened   int // over streamable HTTP
	deleted  int
}

func (n *notary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case n.token != "" && r.Header.Get("Authorization") != "Bearer "+n.token:
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != fmt.Sprintf("http://%v", r.Context().Value(http.LocalAddrContextKey)):
		http.Error(w, "a page of another site", http.StatusForbidden)
	case r.URL.Path == "/mcp" && !n.speaks(r.Header.Get("MCP-Protocol-Version")):
		http.Error(w, "no such version", http.StatusBadRequest)
	case r.URL.Path == "/moved":
		http.Redirect(w, r, "/mcp", http.StatusMovedPermanently)
	case r.URL.Path == "/silent":
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	case r.URL.Path == "/page":
		fmt.Fprint(w, "<html>hello</html>")
	case r.URL.Path == "/sse" && r.Method == http.MethodGet:
		n.tell(w, r)
	case r.URL.Path == "/messages" && r.Method == http.MethodPost:
		n.hear(w, r)
	case r.URL.Path == "/mcp" && r.Method == http.MethodPost:
		n.serve(w, r)
	case r.URL.Path == "/mcp" && r.Method == http.MethodDelete:
		n.forget(w, r)
	case r.URL.Path == "/mcp":
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		http.NotFound(w, r)
	}
}

// speaks tells whether a header names a version that is known, or none.
func (n *notary) speaks(version string) bool {
	return version == "" || slices.Contains(spec.Handshake.Revisions(), spec.Revision(version))
}

// An office is a session.
type office struct {
	said    chan string // over HTTP+SSE, what is still to be told
	batches bool        // its revision has batches
}

// open begins a session.
func (n *notary) open() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := "notary-" + rand.Text()
	if n.sessions == nil {
		n.sessions = map[string]*office{}
	}
	n.sessions[id] = &office{said: make(chan string, 100)}
	return id
}

func (n *notary) known(id string) *office {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions[id]
}

func (n *notary) forget(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := r.Header.Get("Mcp-Session-Id")
	if n.sessions[id] == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	delete(n.sessions, id)
	n.deleted++
	w.WriteHeader(http.StatusNoContent)
}

func (n *notary) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := r.Header.Get("Mcp-Session-Id")
	o := n.known(id)
	if id == "" && bytes.Contains(body, []byte(`"initialize"`)) {
		id = n.open()
		n.mu.Lock()
		n.opened++
		n.mu.Unlock()
		o = n.known(id)
		w.Header().Set("Mcp-Session-Id", id)
	}
	switch {
	case id == "":
		http.Error(w, "no session", http.StatusBadRequest)
		return
	case o == nil:
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	answer := o.reply(body)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case answer == "":
		w.Header().Del("Content-Type")
		w.WriteHeader(http.StatusAccepted)
	case strings.HasSuffix(answer, `"id":null}`):
		w.WriteHeader(http.StatusBadRequest)
	}
	fmt.Fprint(w, answer)
}

// tell is the stream of HTTP+SSE, hear the messages to it.
func (n *notary) tell(w http.ResponseWriter, r *http.Request) {
	id := n.open()
	said := n.known(id).said
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: endpoint\ndata: /messages?session=%s\n\n", id)
	for {
		w.(http.Flusher).Flush()
		select {
		case text := <-said:
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		case <-r.Context().Done():
			return
		}
	}
}

func (n *notary) hear(w http.ResponseWriter, r *http.Request) {
	o := n.known(r.URL.Query().Get("session"))
	if o == nil {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if answer := o.reply(body); answer != "" {
		o.said <- answer
	}
	w.WriteHeader(http.StatusAccepted)
}

// reply answers one message, or a batch.
func (o *office) reply(body []byte) string {
	failed := func(id json.RawMessage, code int, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":%q},"id":%s}`, code, text, id)
	}
	null := json.RawMessage("null")
	if !json.Valid(body) {
		return failed(null, -32700, "no JSON")
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return o.array(body)
	}
	var m struct {
		JSONRPC string
		ID      json.RawMessage
		Method  any
		Params  struct {
			ProtocolVersion          string
			Capabilities, ClientInfo json.RawMessage
		}
	}
	var exact map[string]json.RawMessage // encoding/json minds no case
	if json.Unmarshal(body, &m) != nil || json.Unmarshal(body, &exact) != nil || exact["method"] == nil || m.JSONRPC != "2.0" {
		if exact["result"] != nil || exact["error"] != nil {
			return ""
		}
		return failed(null, -32600, "no request")
	}
	if m.ID == nil {
		return ""
	}
	switch m.Method {
	case "initialize":
		if m.Params.ProtocolVersion == "" || m.Params.Capabilities == nil || m.Params.ClientInfo == nil {
			return failed(m.ID, -32602, "too few params")
		}
		version := m.Params.ProtocolVersion
		switch version {
		case "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
		default:
			version = "2025-11-25"
		}
		o.batches = version == "2025-03-26"
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"notary","version":"1"}}}`, m.ID, version)
	case "ping":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	}
	if _, text := m.Method.(string); !text {
		return failed(m.ID, -32600, "the method is no string")
	}
	return failed(m.ID, -32601, "no such method")
}

// array answers a batch.
func (o *office) array(body []byte) string {
	var elements []json.RawMessage
	_ = json.Unmarshal(body, &elements) // it is valid JSON
	var answers []string
	for _, e := range elements {
		if answer := o.reply(e); answer != "" {
			answers = append(answers, answer)
		}
	}
	switch {
	case len(elements) == 0 || !o.batches:
		return `{"jsonrpc":"2.0","error":{"code":-32600,"message":"an empty array"},"id":null}`
	case len(answers) == 0:
		return ""
	}
	return "[" + strings.Join(answers, ",") + "]"
}

// playHTTP is a peer that serves at an address, in the way of its role.
func playHTTP(role, address string) {
	switch role {
	case "peer-http-late":
		time.Sleep(300 * time.Millisecond)
	case "peer-http-dies":
		fmt.Fprintln(os.Stderr, "the address belongs to a walrus")
		os.Exit(3)
	case "peer-http-never":
		fmt.Fprintln(os.Stderr, "waiting for the walrus")
		time.Sleep(time.Minute)
	case "peer-http-family", "peer-http-family-never":
		child := exec.Command(os.Args[0], "peer-child")
		child.Stdin, _ = os.Open(os.DevNull)
		if err := child.Start(); err != nil {
			panic(err)
		}
		if err := os.WriteFile(os.Getenv("MCPCHECK_TEST_PID"), []byte(strconv.Itoa(child.Process.Pid)), 0o600); err != nil {
			panic(err)
		}
		if role == "peer-http-family-never" {
			time.Sleep(time.Minute)
		}
	}
	var serves http.Handler = &notary{}
	if role == "peer-http-brittle" {
		serves = brittle(server.NewWeb(server.Options{}))
	}
	if err := http.ListenAndServe(address, serves); !errors.Is(err, http.ErrServerClosed) {
		panic(err)
	}
}

// brittle ends the process when it is sent an escaped NUL.
func brittle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`\u0000`)) {
			fmt.Fprintln(os.Stderr, "panic: the walrus has met a NUL")
			os.Exit(7)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// free returns an address on which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func report(t *testing.T, args ...string) (result, *reports.Run) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "r.json")
	r := run(t, append([]string{"server", "--timeout", "2s", "--json", file}, args...)...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, r.out, r.errors)
	}
	told, err := reports.ReadJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("s3cret")) || strings.Contains(r.out+r.errors, "s3cret") {
		t.Errorf("a report holds the value of a header:\n%s%s", r.out, r.errors)
	}
	return r, told
}

// A server without any fault is found and conforms on each transport, and its
// sessions are ended at it.
func TestServersOverHTTPAreFoundAndJudged(t *testing.T) {
	for name, c := range map[string]struct {
		path      string
		args      []string
		transport string
		note      string
	}{
		"streamable HTTP found": {"/mcp", nil, "http", "initialize by POST was answered with HTTP status 200 OK (application/json)"},
		"HTTP+SSE found":        {"/sse", nil, "sse", "GET with a stream that names the endpoint"},
		"streamable HTTP":       {"/mcp", []string{"--transport", "streamable-http"}, "http", "as asked for"},
		"HTTP+SSE":              {"/sse", []string{"--transport", "sse"}, "sse", "as asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &notary{token: "s3cret"}
			site := httptest.NewServer(n)
			defer site.CloseClientConnections()
			r, told := report(t, append(c.args, "--skip", "authorization,security.requests.*,security.session.*", "--header", "Authorization: Bearer s3cret", "--header", "X-Api-Key: s3cret", site.URL+c.path)...)
			if r.code != exitConforms {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errors)
			}
			passed := 0
			for _, o := range told.Outcomes {
				if o.Verdict == reports.Pass {
					passed++
				}
				if o.Transport != c.transport {
					t.Fatalf("%s was judged over %s", o.ID, o.Transport)
				}
				if o.Verdict == reports.Warn || o.Verdict == reports.Broken {
					t.Errorf("%s at %s: %s: %s", o.ID, o.Revision, o.Verdict, o.Detail)
				}
			}
			if passed < 50 {
				t.Errorf("%d checks passed", passed)
			}
			if !strings.Contains(strings.Join(told.Notes, "\n"), c.note) {
				t.Errorf("no note says %q: %q", c.note, told.Notes)
			}
			if told.Target.URL != site.URL+c.path || told.Target.Argv != nil {
				t.Errorf("the target is %+v", told.Target)
			}
			if c.transport == "http" && (n.opened == 0 || n.deleted != n.opened) {
				t.Errorf("%d sessions were opened and %d ended", n.opened, n.deleted)
			}
		})
	}
}

// A server behind TLS is judged over HTTP/2, if the user has its certificate
// trusted.
func TestAServerBehindTLSIsJudged(t *testing.T) {
	var protocol atomic.Value
	n := &notary{}
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol.Store(r.Proto)
		n.ServeHTTP(w, r)
	}))
	site.EnableHTTP2 = true
	site.Config.ErrorLog = log.New(io.Discard, "", 0)
	site.StartTLS()
	defer site.Close()
	ca := certificate(t, site)
	if r := run(t, "server", site.URL+"/mcp"); r.code != exitUnreachable || !strings.Contains(r.errors+r.out, "--ca FILE") {
		t.Errorf("without trust: exit %d\n%s%s", r.code, r.out, r.errors)
	}
	_, told := report(t, "--ca", ca, "--only", "ping.answered,tools.*", site.URL+"/mcp")
	if !slices.ContainsFunc(told.Outcomes, func(o reports.Outcome) bool { return o.ID == "ping.answered" && o.Verdict == reports.Pass }) {
		t.Errorf("%+v", told.Outcomes)
	}
	if protocol.Load() != "HTTP/2.0" {
		t.Errorf("the server was spoken to over %v", protocol.Load())
	}
}

// certificate returns a PEM file with the certificate of a server.
func certificate(t *testing.T, site *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Whatever the command line or the URL has wrong is named.
func TestWhatIsWrongWithAURLIsNamed(t *testing.T) {
	site := httptest.NewServer(&notary{})
	t.Cleanup(site.Close)
	closed := httptest.NewServer(&notary{token: "x"})
	t.Cleanup(closed.Close)
	locked := httptest.NewTLSServer(&notary{})
	t.Cleanup(locked.Close)
	nobody := "http://" + free(t)
	self := func(role, address string) []string { return []string{"--", os.Args[0], role, address} }
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"nobody there":              {[]string{nobody + "/mcp"}, 3, "connection refused"},
		"a page":                    {[]string{site.URL + "/page"}, 3, "serves no MCP: server/discover by POST was answered with HTTP status 200 OK (text/html), initialize by POST was answered with HTTP status 200 OK (text/html)"},
		"no such page":              {[]string{site.URL + "/elsewhere"}, 3, "GET opened no stream of HTTP+SSE"},
		"moved":                     {[]string{site.URL + "/moved"}, 3, "to /mcp, which is not followed"},
		"protected":                 {[]string{closed.URL + "/mcp"}, 3, "--header 'Authorization: Bearer …'"},
		"--ca of no file":           {[]string{"--ca", "/no/such/ca.pem", locked.URL}, 2, "/no/such/ca.pem"},
		"--ca of no certificate":    {[]string{"--ca", "httppeer_test.go", locked.URL}, 2, "holds no certificate"},
		"--ca without TLS":          {[]string{"--ca", certificate(t, locked), site.URL}, 2, "--ca is for URLs of https"},
		"two URLs":                  {[]string{site.URL, site.URL}, 2, "is too much behind the URL"},
		"a URL of nothing":          {[]string{"http:///mcp"}, 2, "names no host"},
		"unknown transport":         {[]string{"--transport", "carrier-pigeon", site.URL}, 2, `not "carrier-pigeon"`},
		"stdio at a URL":            {[]string{"--transport", "stdio", site.URL}, 2, "--transport stdio is for a command"},
		"SSE of a command":          {[]string{"--transport", "sse", "--", "true"}, 2, "--transport sse needs a URL"},
		"header of a command":       {[]string{"--header", "A: b", "--", "true"}, 2, "--header is for servers over HTTP"},
		"header without colon":      {[]string{"--header", "s3cret", site.URL}, 2, "has no colon"},
		"header without name":       {[]string{"--header", "bad name: s3cret", site.URL}, 2, `"bad name" is no name of a header field`},
		"header of ours":            {[]string{"--header", "accept: s3cret", site.URL}, 2, "accept is set by mcpcheck itself"},
		"header with a line break":  {[]string{"--header", "X-A: s3cret\r\nB: c", site.URL}, 2, "the value of X-A holds"},
		"--url without command":     {[]string{"--url", site.URL}, 2, "say the command after --"},
		"--url and another URL":     {append([]string{"--url", site.URL, site.URL}, self("peer-http", "x")...), 2, "stands before --"},
		"--url of no HTTP":          {append([]string{"--url", "ftp://x/"}, self("peer-http", "x")...), 2, "is not of http or https"},
		"not startable":             {[]string{"--url", nobody, "--", "no-such-program-here"}, 3, "no-such-program-here"},
		"occupied":                  {append([]string{"--url", site.URL}, self("peer-http", "x")...), 3, "listens at " + site.URL + " already"},
		"ends before":               {append([]string{"--url", nobody}, self("peer-http-dies", "x")...), 3, "exit status 3; its standard error ended with: the address belongs to a walrus"},
		"never answers":             {[]string{"--start-timeout", "300ms", site.URL + "/silent"}, 3, site.URL + "/silent serves no MCP: server/discover by POST was not answered within 300ms, initialize by POST was not answered within 300ms"},
		"never listens":             {append([]string{"--url", nobody, "--start-timeout", "500ms"}, self("peer-http-never", "x")...), 3, "nobody listens there after 500ms; its standard error ended with: waiting for the walrus"},
		"a password in the address": {[]string{strings.Replace(nobody, "//", "//me:s3cret@", 1) + "/mcp"}, 3, "me:xxxxx@"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, append([]string{"server"}, c.args...)...)
			if text := r.out + r.errors; r.code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, "s3cret") {
				t.Errorf("exit %d, want %d saying %q\n%s", r.code, c.code, c.says, text)
			}
		})
	}
}

// A server that we start is waited for, judged, and ended with what it started.
func TestAServerIsStartedAndServesAtItsURL(t *testing.T) {
	for _, role := range []string{"peer-http-late", "peer-http-family"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			address, pid := free(t), filepath.Join(t.TempDir(), "pid")
			r, told := report(t, "--url", "http://"+address+"/mcp", "--only", "jsonrpc,lifecycle", "--env", "MCPCHECK_TEST_PID="+pid, "--", os.Args[0], role, address)
			if r.code != exitConforms {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errors)
			}
			if told.Target.URL != "http://"+address+"/mcp" || len(told.Target.Argv) != 3 {
				t.Errorf("the target is %+v", told.Target)
			}
			if c, err := net.Dial("tcp", address); err == nil {
				c.Close()
				t.Error("it still listens")
			}
			if text, err := os.ReadFile(pid); err == nil {
				child, _ := strconv.Atoi(string(text))
				awaitGone(t, child)
			}
		})
	}
}

// ^C while a server starts ends it, and what it started.
func TestAnInterruptEndsAServerThatStarts(t *testing.T) {
	address, pid := free(t), filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(binary, "server", "--url", "http://"+address+"/mcp", "--env", "MCPCHECK_TEST_PID="+pid, "--", os.Args[0], "peer-http-family-never", address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := 0
	for deadline := time.Now().Add(20 * time.Second); child == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(pid)
		child, _ = strconv.Atoi(string(text))
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil || child == 0 {
		t.Fatal(err, child)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	awaitGone(t, child)
}
