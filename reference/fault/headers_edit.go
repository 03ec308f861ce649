package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// modern leaves the server the revisions without a handshake alone: what a
// server of both eras may do for clients of the other is wrong there.
func modern(o *server.Options) { o.Revisions = spec.Stateless }

// stateless returns the request in a POST of a stateless revision.
func stateless(r *http.Request) (m wire.Message, ok bool) {
	m, ok = posted(r)
	return m, ok && m.Kind == wire.Request && versionOf(m) != ""
}

func versionOf(m wire.Message) string {
	return wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).String()
}

// nameOf is what Mcp-Name has to repeat, "" for nothing.
func nameOf(m wire.Message) string {
	switch m.Method() {
	case "tools/call", "prompts/get":
		return m.Params().Get("name").String()
	case "resources/read":
		return m.Params().Get("uri").String()
	}
	return ""
}

// onHeaders changes the headers of stateless requests before the server looks
// at them: what is mended is not refused.
func onHeaders(edit func(h http.Header, m wire.Message)) apply {
	return onRequestOf(
		func(r *http.Request) bool { _, ok := stateless(r); return ok },
		func(r *http.Request) {
			m, _ := stateless(r)
			edit(r.Header, m)
		})
}

// onHeaderField changes a header field of stateless requests that have it.
func onHeaderField(field string, edit func(value string, m wire.Message) string) apply {
	return onHeaders(func(h http.Header, m wire.Message) {
		if values := h.Values(field); len(values) == 1 {
			h.Set(field, edit(values[0], m))
		}
	})
}

// lacking fills in a header field of stateless requests that lack it; "" is
// nothing to fill in.
func lacking(field string, value func(m wire.Message) string) apply {
	return onHeaders(func(h http.Header, m wire.Message) {
		if v := value(m); v != "" && len(h.Values(field)) == 0 {
			h.Set(field, v)
		}
	})
}

// onArgument changes the header of an argument of check_branch in calls of it;
// value is that of the argument.
func onArgument(header string, edit func(h http.Header, value gjson.Result)) apply {
	path := map[string]string{"Branch": "branch", "Copies": "copies", "Urgent": "urgent", "Desk": "to.desk"}[header]
	return onHeaders(func(h http.Header, m wire.Message) {
		if m.Method() == "tools/call" && m.Params().Get("name").String() == "check_branch" {
			edit(h, m.Params().Get("arguments."+path))
		}
	})
}

// refuse answers stateless requests that fit with error -32020, as one refuses
// what headers do not repeat.
func refuse(fits func(h http.Header, m wire.Message) bool, why string) apply {
	return whenHTTP(
		func(r *http.Request) bool { m, ok := stateless(r); return ok && fits(r.Header, m) },
		func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
			m, _ := stateless(r)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID().Raw, spec.HeaderMismatch, why)
		})
}

// onRefusal changes the answers that refuse a request with a status of failure
// and an error of a code.
func onRefusal(code int, fits func(r *http.Request, m wire.Message) bool, edit func(a *whole)) apply {
	return whenHTTP(
		func(r *http.Request) bool { m, ok := posted(r); return ok && fits(r, m) },
		func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			h := &failureHeld{ResponseWriter: w}
			next.ServeHTTP(h, r)
			if h.held == nil {
				return
			}
			if c, ok := wire.Parse(h.held.body.Bytes()).Code(); ok && c == code {
				edit(h.held)
			}
			for key, values := range h.held.header {
				w.Header()[key] = values
			}
			w.WriteHeader(h.held.status)
			_, _ = w.Write(h.held.body.Bytes()) // who cannot be written to has left
		})
}

// failureHeld keeps an answer with a status of failure back, and lets others pass.
type failureHeld struct {
	http.ResponseWriter
	held *whole
}

func (w *failureHeld) WriteHeader(status int) {
	if status >= 400 {
		w.held = &whole{header: w.Header().Clone(), status: status}
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *failureHeld) Write(b []byte) (int, error) {
	if w.held != nil {
		return w.held.body.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

func (w *failureHeld) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// withStatus makes another status of a refusal.
func withStatus(status int) func(a *whole) { return func(a *whole) { a.status = status } }

// withCode makes another code of a refusal.
func withCode(code int) func(a *whole) {
	return func(a *whole) {
		body := bytes.Replace(a.body.Bytes(), fmt.Appendf(nil, `"code":%d`, spec.HeaderMismatch), fmt.Appendf(nil, `"code":%d`, code), 1)
		a.set(a.status, "application/json", bytes.Clone(body))
	}
}

// onRaw changes what comes on connections, piece by piece. A head comes in one
// piece, since a client writes it so.
func onRaw(edit func(piece []byte) []byte) apply {
	return func(o *server.Options) {
		o.HTTP.Connections = func(next net.Listener) net.Listener { return editing{next, edit} }
	}
}

type editing struct {
	net.Listener
	edit func(piece []byte) []byte
}

func (l editing) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return edited{c, l.edit}, nil
}

type edited struct {
	net.Conn
	edit func(piece []byte) []byte
}

// Read changes a piece without making it longer.
func (c edited) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return copy(b, c.edit(b[:n])), err
}

// onSchema changes the inputSchema of a tool as it is listed, not as the server
// uses it.
func onSchema(tool string, edit func(schema, properties server.Object)) apply {
	return onTool(tool, func(t server.Object) {
		var schema server.Object
		if err := json.Unmarshal(encode(t["inputSchema"]), &schema); err != nil {
			panic(fmt.Sprintf("fault: the schema of %s: %v", tool, err))
		}
		properties, _ := schema["properties"].(server.Object)
		edit(schema, properties)
		t["inputSchema"] = schema
	})
}

// property edits a property of the schema of check_branch.
func property(name string, edit func(p server.Object)) apply {
	return onSchema("check_branch", func(_, properties server.Object) { edit(properties[name].(server.Object)) })
}

// marked tells whether the value of a header stands between marks of Base64.
func marked(value string) bool {
	return strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=")
}
