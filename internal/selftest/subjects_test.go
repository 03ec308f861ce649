package selftest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// offer changes what the server offers.
func offer(change func(l *server.Features)) editOptions {
	return func(o *server.Options) { o.ChangeFeatures = change }
}

// offerFile offers one file of this machine, and a template that reads no other.
func offerFile(l *server.Features) {
	file := func(p string) string { return (&url.URL{Scheme: "file", Path: filepath.ToSlash(p)}).String() }
	read := func(r *server.ResourceRead) []server.Object {
		if r.URI != file(os.DevNull) {
			return nil
		}
		return []server.Object{{"uri": r.URI, "text": ""}}
	}
	l.Resources = append(l.Resources, &server.Resource{URI: file(os.DevNull), Name: "null-device", Read: read})
	l.Templates = append(l.Templates,
		&server.Template{URI: file(path.Dir(os.DevNull)) + "/{+file}", Name: "files", Read: read})
}

// offerExploded offers a template of a list, and reads nothing by it.
func offerExploded(l *server.Features) {
	l.Templates = append(l.Templates, &server.Template{
		URI: "library://aisles{/aisle*}", Name: "aisle", MIME: "text/plain",
		Read: func(*server.ResourceRead) []server.Object { return nil },
	})
}

// offerFetch offers a tool that fetches a page of the loopback interface, without the token
// of its client.
func offerFetch(l *server.Features) {
	l.Tools = append(l.Tools, &server.Tool{
		Name: "fetch_page", Description: "Fetch a page of this machine",
		InputSchema: server.Object{
			"type":       "object",
			"properties": server.Object{"url": server.Object{"type": "string", "format": "uri"}},
			"required":   []any{"url"}, "additionalProperties": false,
		},
		Annotations: server.Object{"readOnlyHint": true, "openWorldHint": true},
		Run: func(ctx context.Context, call *server.Call) server.Outcome {
			page := fetch(ctx, fmt.Sprint(call.Args["url"]))
			return server.Outcome{Content: []server.Object{{"type": "text", "text": page}}}
		},
	})
}

// fetch returns a page of the loopback interface, or why there is none.
func fetch(ctx context.Context, page string) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil || r.URL.Hostname() != "127.0.0.1" {
		return "The page is not of the loopback interface."
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return "The page cannot be fetched."
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err != nil {
		return "The page cannot be read."
	}
	return string(text)
}

// lackPrompts neither declares nor knows prompts.
func lackPrompts(o *server.Options) {
	o.Handler = func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "prompts/list" {
				return nil, &server.Error{Code: spec.MethodNotFound, Message: "Method not found"}
			}
			v, problem := next(ctx, r)
			if result, ok := v.(server.Object); ok && r.Method == "server/discover" {
				delete(result["capabilities"].(server.Object), "prompts")
			}
			return v, problem
		}
	}
}

// serveBrowsers lets pages of other sites use the server. The fields are those that it
// names in its answers.
func serveBrowsers(allowed, exposed string) editOptions {
	return before(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", exposed)
		if r.Method != http.MethodOptions {
			return false
		}
		w.Header().Set("Access-Control-Allow-Headers", allowed)
		w.WriteHeader(http.StatusNoContent)
		return true
	})
}

// subjects are checks that have no subject on the reference, with a change of it that gives
// them one, and conforms.
var subjects = []struct {
	check string
	at    subject
	rev   spec.Revision
	edit  editOptions
}{
	{"resources.read.path", subject{over: transport.Stdio}, spec.V2026_07_28, offer(offerFile)},
	{"resources.read.path", subject{over: transport.HTTP}, spec.V2026_07_28, offer(offerFile)},
	{"resources.template.match.survived", subject{over: transport.Stdio}, spec.V2025_11_25, offer(offerExploded)},
	{"jsonrpc.method.unadvertised", subject{over: transport.Stdio}, spec.V2026_07_28, lackPrompts},
	{"authorization.token.passthrough", subject{over: transport.HTTP, protected: true}, spec.V2025_11_25,
		offer(offerFetch)},
	{"streamable-http.cors.fields", subject{over: transport.HTTP}, spec.V2025_11_25,
		serveBrowsers("Content-Type, MCP-Protocol-Version, Mcp-Session-Id", "")},
	{"streamable-http.cors.fields", subject{over: transport.HTTP}, spec.V2025_11_25, serveBrowsers("*", "")},
	{"streamable-http.cors.session", subject{over: transport.HTTP}, spec.V2025_11_25,
		serveBrowsers("", "mcp-session-id")},
	{"streamable-http.cors.session", subject{over: transport.HTTP}, spec.V2025_11_25, serveBrowsers("", "*")},
}

// A check that is not observed on the reference passes where it has a subject that
// conforms.
func TestUnobservedChecksPassWithASubject(t *testing.T) {
	for i, c := range subjects {
		t.Run(fmt.Sprint(c.check, "/", i), func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(unobserved, c.check) {
				t.Error("the reference gives the check a subject")
			}
			c.at.options.StepDelay = pace
			c.edit(&c.at.options)
			checks, err := catalog.Select(serverChecks(), []string{c.check}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.at.judge(t.Context(), engine.Options{
				Checks: checks, Revisions: []spec.Revision{c.rev}, Session: longDeadlines(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Outcomes) != 1 || r.Outcomes[0].Verdict != reports.Pass {
				t.Errorf("the outcomes are %+v", r.Outcomes)
			}
		})
	}
}

// offerEmptyLists has the server declare all capabilities, and list nothing.
func offerEmptyLists(l *server.Features) {
	l.Tools, l.Resources, l.Templates, l.Prompts, l.Skills = nil, nil, nil, nil, nil
}

// offerUncallable adds a tool for which no arguments exist, before all others.
func offerUncallable(l *server.Features) {
	l.Tools = append([]*server.Tool{{
		Name: "never", Description: "Accept no arguments",
		InputSchema: server.Object{
			"type": "object", "required": []any{"url", "path"},
			"properties": server.Object{
				"url":  server.Object{"type": "string", "format": "uri"},
				"path": server.Object{"type": "string", "minLength": 2, "maxLength": 1},
			},
			"additionalProperties": false,
		},
		Annotations: server.Object{"readOnlyHint": true},
		Run: func(context.Context, *server.Call) server.Outcome {
			content := []server.Object{{"type": "text", "text": "This tool was called."}}
			return server.Outcome{Content: content, Failed: true}
		},
	}}, l.Tools...)
}

// No check fails a server whose lists are allowed and unusual.
func TestAllowedOffersFailNoCheck(t *testing.T) {
	for name, change := range map[string]func(l *server.Features){
		"empty lists":                  offerEmptyLists,
		"a tool that nobody can call":  offerUncallable,
		"a template of a list":         offerExploded,
		"a tool that fetches a page":   offerFetch,
		"a file and a template for it": offerFile,
	} {
		for _, rev := range []spec.Revision{spec.V2025_11_25, spec.V2026_07_28} {
			for over, at := range map[string]subject{
				"stdio": {over: transport.Stdio}, "protected": {over: transport.HTTP, protected: true},
			} {
				t.Run(fmt.Sprint(name, "/", over, "/", rev), func(t *testing.T) {
					t.Parallel()
					at.options = server.Options{StepDelay: pace, ChangeFeatures: change}
					requireNoProblems(t, at, rev)
				})
			}
		}
	}
}
