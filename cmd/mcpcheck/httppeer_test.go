package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// A miniServer is a server over HTTP without any capability: streamable HTTP at
// /mcp, HTTP+SSE at /sse. It counts its sessions.
type miniServer struct {
	token string // required in every request, unless it is ""

	mu       sync.Mutex
	sessions map[string]*miniSession
	opened   int // over streamable HTTP
	deleted  int
}

func (n *miniServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case n.token != "" && r.Header.Get("Authorization") != "Bearer "+n.token:
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "no token", http.StatusUnauthorized)
	case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != fmt.Sprintf("http://%v",
		r.Context().Value(http.LocalAddrContextKey)):
		http.Error(w, "another origin", http.StatusForbidden)
	case r.URL.Path == "/mcp" && !isKnownVersion(r.Header.Get("MCP-Protocol-Version")):
		http.Error(w, "no such version", http.StatusBadRequest)
	case r.URL.Path == "/moved":
		http.Redirect(w, r, "/mcp", http.StatusMovedPermanently)
	case r.URL.Path == "/silent":
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	case r.URL.Path == "/page":
		fmt.Fprint(w, "<html>hello</html>")
	case r.URL.Path == "/sse" && r.Method == http.MethodGet:
		n.serveEvents(w, r)
	case r.URL.Path == "/messages" && r.Method == http.MethodPost:
		n.serveMessage(w, r)
	case r.URL.Path == "/mcp" && r.Method == http.MethodPost:
		n.serve(w, r)
	case r.URL.Path == "/mcp" && r.Method == http.MethodDelete:
		n.endSession(w, r)
	case r.URL.Path == "/mcp":
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		http.NotFound(w, r)
	}
}

// isKnownVersion reports whether a header names a known version, or none.
func isKnownVersion(version string) bool {
	return version == "" || slices.Contains(spec.Handshake.Revisions(), spec.Revision(version))
}

type miniSession struct {
	answers    chan string // over HTTP+SSE, those that the stream has not sent
	hasBatches bool        // its revision has batches
}

func (n *miniServer) open() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := "session-" + rand.Text()
	if n.sessions == nil {
		n.sessions = map[string]*miniSession{}
	}
	n.sessions[id] = &miniSession{answers: make(chan string, 100)}
	return id
}

func (n *miniServer) session(id string) *miniSession {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions[id]
}

func (n *miniServer) endSession(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := r.Header.Get("Mcp-Session-Id")
	switch {
	case id == "":
		http.Error(w, "no session", http.StatusBadRequest)
		return
	case n.sessions[id] == nil:
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	delete(n.sessions, id)
	n.deleted++
	w.WriteHeader(http.StatusNoContent)
}

func (n *miniServer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := r.Header.Get("Mcp-Session-Id")
	o := n.session(id)
	if id == "" && bytes.Contains(body, []byte(`"initialize"`)) {
		id = n.open()
		n.mu.Lock()
		n.opened++
		n.mu.Unlock()
		o = n.session(id)
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

// serveEvents serves the stream of HTTP+SSE.
func (n *miniServer) serveEvents(w http.ResponseWriter, r *http.Request) {
	id := n.open()
	answers := n.session(id).answers
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: endpoint\ndata: /messages?session=%s\n\n", id)
	for {
		w.(http.Flusher).Flush()
		select {
		case text := <-answers:
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		case <-r.Context().Done():
			return
		}
	}
}

// serveMessage takes a message of HTTP+SSE, which the stream answers.
func (n *miniServer) serveMessage(w http.ResponseWriter, r *http.Request) {
	o := n.session(r.URL.Query().Get("session"))
	if o == nil {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if answer := o.reply(body); answer != "" {
		o.answers <- answer
	}
	w.WriteHeader(http.StatusAccepted)
}

// reply answers one message, or a batch.
func (o *miniSession) reply(body []byte) string {
	errorResponse := func(id json.RawMessage, code int, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":%q},"id":%s}`, code, text, id)
	}
	null := json.RawMessage("null")
	if !json.Valid(body) {
		return errorResponse(null, -32700, "not JSON")
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return o.replyBatch(body)
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
	var exact map[string]json.RawMessage // encoding/json ignores case in the names of fields
	if json.Unmarshal(body, &m) != nil || json.Unmarshal(body, &exact) != nil || exact["method"] == nil ||
		m.JSONRPC != "2.0" {
		if exact["result"] != nil || exact["error"] != nil {
			return ""
		}
		return errorResponse(null, -32600, "not a request")
	}
	if m.ID == nil {
		return ""
	}
	switch m.Method {
	case "initialize":
		if m.Params.ProtocolVersion == "" || m.Params.Capabilities == nil || m.Params.ClientInfo == nil {
			return errorResponse(m.ID, -32602, "too few params")
		}
		version := m.Params.ProtocolVersion
		switch version {
		case "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
		default:
			version = "2025-11-25"
		}
		o.hasBatches = version == "2025-03-26"
		return fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"mini",`+
				`"version":"1"}}}`, m.ID, version)
	case "ping":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	}
	if _, text := m.Method.(string); !text {
		return errorResponse(m.ID, -32600, "the method is not a string")
	}
	return errorResponse(m.ID, -32601, "no such method")
}

// replyBatch answers a batch.
func (o *miniSession) replyBatch(body []byte) string {
	var elements []json.RawMessage
	_ = json.Unmarshal(body, &elements) // it is valid JSON
	var answers []string
	for _, e := range elements {
		if answer := o.reply(e); answer != "" {
			answers = append(answers, answer)
		}
	}
	switch {
	case len(elements) == 0 || !o.hasBatches:
		return `{"jsonrpc":"2.0","error":{"code":-32600,"message":"an empty array"},"id":null}`
	case len(answers) == 0:
		return ""
	}
	return "[" + strings.Join(answers, ",") + "]"
}

// servePeer runs a target that serves at an address.
func servePeer(role, address string) {
	switch role {
	case "peer-http-late":
		time.Sleep(300 * time.Millisecond)
	case "peer-http-exits":
		fmt.Fprintln(os.Stderr, "started with the token tok3n")
		os.Exit(3)
	case "peer-http-never":
		fmt.Fprintln(os.Stderr, "waiting for the database")
		time.Sleep(time.Minute)
	case "peer-http-family", "peer-http-family-never":
		startChild()
		if role == "peer-http-family-never" {
			time.Sleep(time.Minute)
		}
	}
	var handler http.Handler = &miniServer{}
	switch role {
	case "peer-http-crashes":
		handler = exitOn(`\u0000`, "panic: a NUL in the input", server.NewHTTPHandler(server.Options{}))
	case "peer-http-exits-on-read":
		handler = exitOn(`"resources/read"`, "panic: no such file", server.NewHTTPHandler(server.Options{}))
	}
	if err := http.ListenAndServe(address, handler); !errors.Is(err, http.ErrServerClosed) {
		panic(err)
	}
}

// exitOn ends the process, with a last line on standard error, when a request holds a
// text.
func exitOn(text, last string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(text)) {
			fmt.Fprintln(os.Stderr, last)
			os.Exit(7)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
