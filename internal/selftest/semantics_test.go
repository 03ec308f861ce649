package selftest

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// No check fails a server that answers over HTTP in another way that is allowed.
func TestAllowedUsesOfHTTPFailNoCheck(t *testing.T) {
	type handler = func(next http.Handler, w http.ResponseWriter, r *http.Request)
	allowPages := func(fields, exposed string) handler {
		return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Access-Control-Expose-Headers", exposed)
			if r.Method != http.MethodOptions {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Access-Control-Allow-Headers", fields)
			w.WriteHeader(http.StatusNoContent)
		}
	}
	for name, serve := range map[string]handler{
		"pages may send and read all fields": allowPages("*", "*"),
		"pages may send and read the fields of the protocol": allowPages(
			"content-type,mcp-session-id, MCP-Protocol-Version", "Last-Event-ID, mcp-session-id"),
		"clients may not end sessions": func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodDelete {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Allow", "GET, POST")
			w.WriteHeader(http.StatusMethodNotAllowed)
		},
		"long bodies are refused": func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || len(body) > 64<<10 {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		},
		"unknown events are refused": func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			if id := r.Header.Get("Last-Event-ID"); id == "mcpcheck-unknown" || id == "0" || id == "-1" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := server.Options{StepDelay: pace}
			o.HTTP.Middleware = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(next, w, r) })
			}
			requireNoProblems(t, subject{over: transport.HTTP, options: o}, spec.V2025_11_25)
		})
	}
}

// No check fails a server that has a template of a list.
func TestTemplateOfListFailsNoCheck(t *testing.T) {
	o := server.Options{StepDelay: pace, ChangeFeatures: func(l *server.Features) {
		l.Templates = append(l.Templates, &server.Template{
			URI: "library://aisles{/aisle*}", Name: "aisle", MIME: "text/plain",
			Read: func(*server.ResourceRead) []server.Object { return nil },
		})
	}}
	requireNoProblems(t, subject{over: transport.Stdio, options: o}, spec.V2025_11_25)
}
