package fault

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// headersFaults are the faults of basic/transports/streamable-http#request-metadata.
func headersFaults() []Fault {
	all := slices.Concat(headerVersions(), headerMethods(), headerNames(), encodedNames(),
		headerRefusals(), headerArguments())
	return append(overHTTP(all...), headerAnnotations()...)
}

const (
	methodField = "Mcp-Method"
	nameField   = "Mcp-Name"
)

// nameOf returns what Mcp-Name must repeat of a message, "" for nothing.
func nameOf(m wire.Message) string {
	switch m.Method() {
	case "tools/call", "prompts/get":
		return m.Params().Get("name").String()
	case "resources/read":
		return m.Params().Get("uri").String()
	}
	return ""
}

// nameValueOf returns the value of Mcp-Name that repeats it.
func nameValueOf(m wire.Message) string { return transport.EncodeFieldValue(nameOf(m)) }

// onHeaders changes the headers of stateless requests before the server compares
// them: it does not refuse a header that was corrected.
func onHeaders(edit func(h http.Header, m wire.Message)) apply {
	return onHTTPRequest(isStateless, func(r *http.Request) {
		m, _ := statelessRequest(r)
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

// fillIn adds a header field to stateless requests without it; "" is nothing to add.
func fillIn(field string, value func(m wire.Message) string) apply {
	return onHeaders(func(h http.Header, m wire.Message) {
		if v := value(m); v != "" && len(h.Values(field)) == 0 {
			h.Set(field, v)
		}
	})
}

// compareFolded compares a header field with a value without regard to case.
func compareFolded(field string, value func(m wire.Message) string) apply {
	return onHeaderField(field, func(v string, m wire.Message) string {
		if right := value(m); strings.EqualFold(v, right) {
			return right
		}
		return v
	})
}

// headerMismatch answers stateless requests that match with error -32020, by which
// the server refuses headers.
func headerMismatch(matches func(h http.Header, m wire.Message) bool, why string) apply {
	return whenHTTP(
		func(r *http.Request) bool { m, ok := statelessRequest(r); return ok && matches(r.Header, m) },
		func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
			m, _ := statelessRequest(r)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			e := server.Object{"code": spec.HeaderMismatch, "message": why}
			writeTo(w, wire.Encode(server.Object{"jsonrpc": "2.0", "id": json.RawMessage(m.ID().Raw), "error": e}))
		})
}

// isEncoded reports whether the value of a header stands between the marks of Base64.
func isEncoded(value string) bool {
	return strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=")
}

// headerVersions are faults of MCP-Protocol-Version.
func headerVersions() []Fault {
	differs := func(r *http.Request, m wire.Message) bool {
		v, header := versionOf(m), r.Header.Get(versionField)
		return v != "" && header != "" && header != v
	}
	missing := func(r *http.Request, _ wire.Message) bool { return r.Header.Get(versionField) == "" }
	serveHeader := func(r *http.Request) {
		m, _ := posted(r)
		setBody(r, replaceBytes(m, versionOf(m), r.Header.Get(versionField)))
	}
	return []Fault{
		{
			Name:     "version-header-optional",
			Does:     "takes a missing version header from _meta, and speaks only the stateless revision",
			CaughtBy: []string{"headers.version.missing"},
			Apply:    combine(statelessOnly, fillIn(versionField, versionOf)),
		},
		{
			Name:     "version-header-missing-is-200",
			Does:     "refuses a request without MCP-Protocol-Version with status 200",
			CaughtBy: []string{"headers.version.missing"},
			Apply:    combine(statelessOnly, onHTTPError(spec.HeaderMismatch, missing, withStatus(http.StatusOK))),
		},
		{
			Name:     "version-header-missing-is-invalid",
			Does:     "refuses a request without MCP-Protocol-Version with error -32600",
			CaughtBy: []string{"headers.version.missing"},
			Apply:    combine(statelessOnly, onHTTPError(spec.HeaderMismatch, missing, withCode(spec.InvalidRequest))),
		},
		{
			Name:     "version-of-the-header-alone",
			Does:     "serves a request in the version of its header and ignores that of _meta",
			CaughtBy: []string{"headers.version.mismatch"},
			Apply: onHTTPRequest(func(r *http.Request) bool {
				m, ok := posted(r)
				return ok && differs(r, m) && spec.Stateless.Has(spec.Revision(r.Header.Get(versionField)))
			}, serveHeader),
		},
		{
			Name: "version-mismatch-is-409", Does: "refuses a request with two versions with status 409",
			Breaks:   []string{"headers-protocol-version-mismatch-rejected"},
			CaughtBy: []string{"headers.version.mismatch"},
			Apply:    onHTTPError(spec.HeaderMismatch, differs, withStatus(http.StatusConflict)),
		},
		{
			Name: "version-mismatch-is-invalid", Does: "refuses a request with two versions with error -32602",
			Breaks:   []string{"headers-protocol-version-mismatch-rejected"},
			CaughtBy: []string{"headers.version.mismatch"},
			Apply:    onHTTPError(spec.HeaderMismatch, differs, withCode(spec.InvalidParams)),
		},
	}
}

// headerMethods are faults of Mcp-Method, and of the names of all headers.
func headerMethods() []Fault {
	return []Fault{
		{
			Name: "method-header-optional", Does: "serves requests without Mcp-Method",
			CaughtBy: []string{"headers.method.missing"},
			Apply:    fillIn(methodField, wire.Message.Method),
		},
		{
			Name: "method-header-unread", Does: "ignores Mcp-Method",
			CaughtBy: []string{"headers.method.mismatch"},
			Also:     map[string]string{"headers.values.case": "the method in another case is another value"},
			Apply:    onHeaderField(methodField, func(_ string, m wire.Message) string { return m.Method() }),
		},
		{
			Name: "method-header-known-method", Does: "accepts any method that it has in Mcp-Method",
			CaughtBy: []string{"headers.method.mismatch"},
			Apply: onHeaderField(methodField, func(v string, m wire.Message) string {
				if slices.Contains([]string{"tools/list", "server/discover", "resources/list"}, v) {
					return m.Method()
				}
				return v
			}),
		},
		{
			Name: "method-header-any-case", Does: "compares Mcp-Method without regard to case",
			CaughtBy: []string{"headers.values.case"},
			Apply:    compareFolded(methodField, wire.Message.Method),
		},
		{
			Name: "header-names-one-spelling", Does: "reads the headers of the protocol in one spelling only",
			CaughtBy: []string{"headers.names.case"},
			Apply: onConnectionBytes(func(b []byte) []byte {
				for _, odd := range []string{"\r\nmcp-mETHOD:", "\r\nmCP-PROTOCOL-version:", "\r\nmcp-NAME:"} {
					b = bytes.Replace(b, []byte(odd), []byte(strings.Replace(odd, "\r\nm", "\r\nx", 1)), 1)
				}
				return b
			}),
		},
		{
			Name: "header-whitespace-kept", Does: "takes the white space around a value for part of it",
			CaughtBy: []string{"headers.whitespace"},
			Apply: onConnectionBytes(func(b []byte) []byte {
				return bytes.ReplaceAll(b, []byte(":   "), []byte(": _ "))
			}),
		},
	}
}

// headerNames are faults of Mcp-Name.
func headerNames() []Fault {
	return []Fault{
		{
			Name: "name-header-optional", Does: "serves requests without Mcp-Name",
			CaughtBy: []string{"headers.name.missing"},
			Apply:    fillIn(nameField, nameValueOf),
		},
		nameOptionalFor("prompts", "prompts/get"),
		nameOptionalFor("tools", "tools/call"),
		nameOptionalFor("resources", "resources/read"),
		{
			Name: "name-header-unread", Does: "ignores Mcp-Name",
			CaughtBy: []string{"headers.name.mismatch"},
			Also: map[string]string{
				"headers.values.case":  "the name in another case is another value",
				"headers.name.markers": "a name behind invalid marks of Base64 is another value",
			},
			Apply: onHeaderField(nameField, func(_ string, m wire.Message) string { return nameValueOf(m) }),
		},
		{
			Name: "name-header-begins-with-name", Does: "accepts an Mcp-Name that begins with the name",
			CaughtBy: []string{"headers.name.mismatch"},
			Apply: onHeaderField(nameField, func(v string, m wire.Message) string {
				if name := nameOf(m); name != "" && strings.HasPrefix(v, name) {
					return name
				}
				return v
			}),
		},
		{
			Name: "name-header-any-case", Does: "compares Mcp-Name without regard to case",
			CaughtBy: []string{"headers.values.case"},
			Apply:    compareFolded(nameField, nameOf),
		},
	}
}

// nameOptionalFor returns the fault of a server that requires no Mcp-Name of one method.
func nameOptionalFor(feature, method string) Fault {
	return Fault{
		Name: "name-header-optional-of-" + feature, Does: "serves " + method + " without Mcp-Name",
		CaughtBy: []string{"headers.name.missing"},
		Apply: fillIn(nameField, func(m wire.Message) string {
			if m.Method() == method {
				return nameValueOf(m)
			}
			return ""
		}),
	}
}

// encodedNames are faults in how an encoded Mcp-Name is read, and in where one is
// required.
func encodedNames() []Fault {
	const wrongName = "Mcp-Name does not hold the name"
	return []Fault{
		{
			Name: "name-header-literal", Does: "does not decode an encoded Mcp-Name",
			CaughtBy: []string{"headers.name.encoded"},
			Apply: headerMismatch(func(h http.Header, m wire.Message) bool {
				return nameOf(m) != "" && isEncoded(h.Get(nameField))
			}, wrongName),
		},
		{
			Name: "name-header-decoded-as-latin-1", Does: "decodes the bytes of an encoded Mcp-Name as Latin-1",
			CaughtBy: []string{"headers.name.encoded"},
			Apply: headerMismatch(func(h http.Header, m wire.Message) bool {
				return isEncoded(h.Get(nameField)) && strings.ContainsFunc(nameOf(m), func(c rune) bool {
					return c > '~'
				})
			}, wrongName),
		},
		{
			Name: "name-header-marks-any-case", Does: "accepts the marks of Base64 in any case",
			CaughtBy: []string{"headers.name.markers"},
			Apply: onHeaderField(nameField, func(v string, _ wire.Message) string {
				if mark := "=?base64?"; len(v) > len(mark) && strings.EqualFold(v[:len(mark)], mark) {
					return mark + v[len(mark):]
				}
				return v
			}),
		},
		{
			Name: "name-header-of-lists", Does: "requires an Mcp-Name of resources/templates/list",
			CaughtBy: []string{"headers.name.not-required"},
			Apply: headerMismatch(func(h http.Header, m wire.Message) bool {
				return m.Method() == "resources/templates/list" && h.Get(nameField) == ""
			}, "The header Mcp-Name is missing"),
		},
	}
}

// headerRefusals are faults in how wrong headers are refused.
func headerRefusals() []Fault {
	of := func(methods ...string) func(r *http.Request, m wire.Message) bool {
		return func(r *http.Request, m wire.Message) bool {
			right := r.Header.Get(versionField) == versionOf(m)
			return right && (len(methods) == 0 || slices.Contains(methods, m.Method()))
		}
	}
	type matcher = func(r *http.Request, m wire.Message) bool
	fault := func(name, does, caughtBy string, matches matcher, edit func(a *httpAnswer)) Fault {
		return newFault(name, does, caughtBy, onHTTPError(spec.HeaderMismatch, matches, edit))
	}
	const status, code = "headers.refusal.status", "headers.refusal.code"
	return []Fault{
		fault("header-mismatch-is-200", "refuses wrong headers with status 200", status, of(),
			withStatus(http.StatusOK)),
		fault("method-mismatch-is-404", "refuses a wrong Mcp-Method with status 404", status, of("server/discover"),
			withStatus(http.StatusNotFound)),
		fault("name-mismatch-is-422", "refuses a wrong Mcp-Name of a resource with status 422", status,
			of("resources/read"),
			withStatus(http.StatusUnprocessableEntity)),
		fault("header-mismatch-is-invalid-params", "refuses wrong headers with error -32602", code, of(),
			withCode(spec.InvalidParams)),
		fault("name-mismatch-is-invalid-request", "refuses a wrong Mcp-Name with error -32600", code,
			of("tools/call", "resources/read", "prompts/get"), withCode(spec.InvalidRequest)),
		fault("header-mismatch-in-plain-text", "refuses wrong headers with status 400 and plain text", code, of(),
			withAnswer(http.StatusBadRequest, "text/plain", "The headers do not match the body\n")),
	}
}

// onConnectionBytes changes the bytes that come on connections, read by read, to
// as many others or fewer. A head comes in one read, since a client writes it so.
func onConnectionBytes(edit func(read []byte) []byte) apply {
	return func(o *server.Options) {
		o.HTTP.Connections = func(next net.Listener) net.Listener { return editingListener{next, edit} }
	}
}

type editingListener struct {
	net.Listener
	edit func(read []byte) []byte
}

func (l editingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return editingConn{c, l.edit}, nil
}

type editingConn struct {
	net.Conn
	edit func(read []byte) []byte
}

func (c editingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return copy(b, c.edit(b[:n])), err
}
