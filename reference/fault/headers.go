package fault

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// headers are the faults of basic/transports/streamable-http#request-metadata.
func headers() []Fault {
	all := slices.Concat(versionHeaders(), methodHeaders(), nameHeaders(), headerRefusals(), argumentHeaders())
	for i := range all {
		all[i].In, all[i].Over = spec.Stateless, transport.HTTP
	}
	return append(all, headerAnnotations()...)
}

// versionHeaders are those of MCP-Protocol-Version.
func versionHeaders() []Fault {
	differs := func(r *http.Request, m wire.Message) bool {
		v := versionOf(m)
		return v != "" && r.Header.Get("MCP-Protocol-Version") != "" && r.Header.Get("MCP-Protocol-Version") != v
	}
	missing := func(r *http.Request, _ wire.Message) bool { return r.Header.Get("MCP-Protocol-Version") == "" }
	return []Fault{
		{
			Name: "version-header-optional", Does: "takes the version from _meta where the header is missing, and has no revision without that header",
			CaughtBy: []string{"headers.version.missing"},
			Apply:    all(modern, lacking("MCP-Protocol-Version", versionOf)),
		},
		{
			Name: "version-header-missing-is-200", Does: "refuses a request without MCP-Protocol-Version with status 200",
			CaughtBy: []string{"headers.version.missing"},
			Apply:    all(modern, onRefusal(spec.HeaderMismatch, missing, withStatus(http.StatusOK))),
		},
		{
			Name: "version-header-missing-is-invalid", Does: "refuses a request without MCP-Protocol-Version with error -32600",
			CaughtBy: []string{"headers.version.missing"},
			Apply:    all(modern, onRefusal(spec.HeaderMismatch, missing, withCode(spec.InvalidRequest))),
		},
		{
			Name: "version-of-the-header-alone", Does: "serves a request by the version in its header, whatever _meta says",
			CaughtBy: []string{"headers.version.mismatch"},
			Apply: onHTTP(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if m, ok := posted(r); ok && differs(r, m) && spec.Stateless.Has(spec.Revision(r.Header.Get("MCP-Protocol-Version"))) {
						body := bytes.Replace(m.Raw, []byte(versionOf(m)), []byte(r.Header.Get("MCP-Protocol-Version")), 1)
						r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
					}
					next.ServeHTTP(w, r)
				})
			}),
		},
		{
			Name: "version-mismatch-is-409", Does: "refuses a request with two versions with status 409",
			Breaks:   []string{"headers-protocol-version-mismatch-rejected"},
			CaughtBy: []string{"headers.version.mismatch"},
			Apply:    onRefusal(spec.HeaderMismatch, differs, withStatus(http.StatusConflict)),
		},
		{
			Name: "version-mismatch-is-invalid", Does: "refuses a request with two versions with error -32602",
			Breaks:   []string{"headers-protocol-version-mismatch-rejected"},
			CaughtBy: []string{"headers.version.mismatch"},
			Apply:    onRefusal(spec.HeaderMismatch, differs, withCode(spec.InvalidParams)),
		},
	}
}

// methodHeaders are those of Mcp-Method, and of the names of all headers.
func methodHeaders() []Fault {
	return []Fault{
		{
			Name: "method-header-optional", Does: "serves requests without Mcp-Method",
			CaughtBy: []string{"headers.method.missing"},
			Apply:    lacking("Mcp-Method", wire.Message.Method),
		},
		{
			Name: "method-header-unread", Does: "serves requests whatever Mcp-Method says",
			CaughtBy: []string{"headers.method.mismatch"},
			Also:     map[string]string{"headers.values.case": "the method in another case is another value too"},
			Apply:    onHeaderField("Mcp-Method", func(_ string, m wire.Message) string { return m.Method() }),
		},
		{
			Name: "method-header-known-method", Does: "takes any method of its own in Mcp-Method",
			CaughtBy: []string{"headers.method.mismatch"},
			Apply: onHeaderField("Mcp-Method", func(v string, m wire.Message) string {
				if slices.Contains([]string{"tools/list", "server/discover", "resources/list"}, v) {
					return m.Method()
				}
				return v
			}),
		},
		{
			Name: "method-header-any-case", Does: "compares Mcp-Method without regard to case",
			CaughtBy: []string{"headers.values.case"},
			Apply: onHeaderField("Mcp-Method", func(v string, m wire.Message) string {
				if strings.EqualFold(v, m.Method()) {
					return m.Method()
				}
				return v
			}),
		},
		{
			Name: "header-names-one-spelling", Does: "knows the names of the headers of this protocol in one spelling only",
			CaughtBy: []string{"headers.names.case"},
			Apply: onRaw(func(b []byte) []byte {
				for _, odd := range []string{"\r\nmcp-mETHOD:", "\r\nmCP-PROTOCOL-version:", "\r\nmcp-NAME:"} {
					b = bytes.Replace(b, []byte(odd), []byte(strings.Replace(odd, "\r\nm", "\r\nx", 1)), 1)
				}
				return b
			}),
		},
		{
			Name: "header-whitespace-kept", Does: "takes the white space around a value for a part of it",
			CaughtBy: []string{"headers.whitespace"},
			Apply:    onRaw(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(":   "), []byte(": _ ")) }),
		},
	}
}

// nameHeaders are those of Mcp-Name.
func nameHeaders() []Fault {
	return []Fault{
		{
			Name: "name-header-optional", Does: "serves requests without Mcp-Name",
			CaughtBy: []string{"headers.name.missing"},
			Apply:    lacking("Mcp-Name", func(m wire.Message) string { return transport.FieldValue(nameOf(m)) }),
		},
		{
			Name: "name-header-optional-of-prompts", Does: "gets prompts without Mcp-Name",
			CaughtBy: []string{"headers.name.missing"},
			Apply: lacking("Mcp-Name", func(m wire.Message) string {
				if m.Method() == "prompts/get" {
					return transport.FieldValue(nameOf(m))
				}
				return ""
			}),
		},
		{
			Name: "name-header-unread", Does: "serves requests whatever Mcp-Name says",
			CaughtBy: []string{"headers.name.mismatch"},
			Also: map[string]string{
				"headers.values.case": "the name in another case is another value too",
				"headers.name.marks":  "a name behind marks that are none is another value too",
			},
			Apply: onHeaderField("Mcp-Name", func(_ string, m wire.Message) string { return transport.FieldValue(nameOf(m)) }),
		},
		{
			Name: "name-header-begins-with-name", Does: "takes an Mcp-Name that begins with the name",
			CaughtBy: []string{"headers.name.mismatch"},
			Apply: onHeaderField("Mcp-Name", func(v string, m wire.Message) string {
				if name := nameOf(m); name != "" && strings.HasPrefix(v, name) {
					return name
				}
				return v
			}),
		},
		{
			Name: "name-header-any-case", Does: "compares Mcp-Name without regard to case",
			CaughtBy: []string{"headers.values.case"},
			Apply: onHeaderField("Mcp-Name", func(v string, m wire.Message) string {
				if name := nameOf(m); strings.EqualFold(v, name) {
					return name
				}
				return v
			}),
		},
		{
			Name: "name-header-literal", Does: "compares Mcp-Name as it stands, also where it is encoded",
			CaughtBy: []string{"headers.name.encoded"},
			Apply: refuse(func(h http.Header, m wire.Message) bool { return nameOf(m) != "" && marked(h.Get("Mcp-Name")) },
				"Mcp-Name does not hold the name"),
		},
		{
			Name: "name-header-decoded-as-latin-1", Does: "takes the bytes of an encoded Mcp-Name for characters of Latin-1",
			CaughtBy: []string{"headers.name.encoded"},
			Apply: refuse(func(h http.Header, m wire.Message) bool {
				return marked(h.Get("Mcp-Name")) && strings.ContainsFunc(nameOf(m), func(c rune) bool { return c > '~' })
			}, "Mcp-Name does not hold the name"),
		},
		{
			Name: "name-header-marks-any-case", Does: "takes the marks of Base64 in any case",
			CaughtBy: []string{"headers.name.marks"},
			Apply: onHeaderField("Mcp-Name", func(v string, _ wire.Message) string {
				if mark := "=?base64?"; len(v) > len(mark) && strings.EqualFold(v[:len(mark)], mark) {
					return mark + v[len(mark):]
				}
				return v
			}),
		},
		{
			Name: "name-header-of-lists", Does: "lists templates of resources with an Mcp-Name only",
			CaughtBy: []string{"headers.name.elsewhere"},
			Apply: refuse(func(h http.Header, m wire.Message) bool {
				return m.Method() == "resources/templates/list" && h.Get("Mcp-Name") == ""
			}, "The header Mcp-Name is missing"),
		},
	}
}

// headerRefusals are those of how it is told that headers are wrong.
func headerRefusals() []Fault {
	of := func(methods ...string) func(r *http.Request, m wire.Message) bool {
		return func(r *http.Request, m wire.Message) bool {
			right := r.Header.Get("MCP-Protocol-Version") == versionOf(m)
			return right && (len(methods) == 0 || slices.Contains(methods, m.Method()))
		}
	}
	return []Fault{
		{
			Name: "header-mismatch-is-200", Does: "refuses wrong headers with status 200",
			CaughtBy: []string{"headers.refusal.status"},
			Apply:    onRefusal(spec.HeaderMismatch, of(), withStatus(http.StatusOK)),
		},
		{
			Name: "method-mismatch-is-404", Does: "refuses a wrong Mcp-Method with status 404",
			CaughtBy: []string{"headers.refusal.status"},
			Apply:    onRefusal(spec.HeaderMismatch, of("server/discover"), withStatus(http.StatusNotFound)),
		},
		{
			Name: "name-mismatch-is-422", Does: "refuses a wrong Mcp-Name of a resource with status 422",
			CaughtBy: []string{"headers.refusal.status"},
			Apply:    onRefusal(spec.HeaderMismatch, of("resources/read"), withStatus(http.StatusUnprocessableEntity)),
		},
		{
			Name: "header-mismatch-is-invalid-params", Does: "refuses wrong headers with error -32602",
			CaughtBy: []string{"headers.refusal.code"},
			Apply:    onRefusal(spec.HeaderMismatch, of(), withCode(spec.InvalidParams)),
		},
		{
			Name: "name-mismatch-is-invalid-request", Does: "refuses a wrong Mcp-Name with error -32600",
			CaughtBy: []string{"headers.refusal.code"},
			Apply:    onRefusal(spec.HeaderMismatch, of("tools/call", "resources/read", "prompts/get"), withCode(spec.InvalidRequest)),
		},
		{
			Name: "header-mismatch-in-plain-text", Does: "refuses wrong headers with status 400 and a sentence, without any message",
			CaughtBy: []string{"headers.refusal.code"},
			Apply: onRefusal(spec.HeaderMismatch, of(), func(a *whole) {
				a.set(http.StatusBadRequest, "text/plain", []byte("The headers do not fit the body\n"))
			}),
		},
	}
}
