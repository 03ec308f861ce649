package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// onFrame passes each frame of the server through a function.
func onFrame(edit func(f server.Frame, next server.FrameSink)) server.Options {
	return server.Options{Frames: func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) { edit(f, next) }
	}}
}

// onResult edits the results of a method.
func onResult(method string, edit func(o server.Object)) server.Options {
	return server.Options{Handler: func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && problem == nil && r.Method == method {
				edit(o)
			}
			return v, problem
		}
	}}
}

// isChange reports whether a frame is a notification of a change.
func isChange(f server.Frame) bool {
	return strings.HasSuffix(f.Method, "/list_changed") || f.Method == "notifications/resources/updated"
}

// waysToNotify returns servers that conform and differ in how they notify of changes.
func waysToNotify() map[string]server.Options {
	return map[string]server.Options{
		// A notification some time after the change may come on a stream that was
		// cancelled meanwhile, or for a resource that has no subscriber any more.
		"delayed": onFrame(func(f server.Frame, next server.FrameSink) {
			if isChange(f) {
				time.AfterFunc(20*time.Millisecond, func() { next(f) })
				return
			}
			next(f)
		}),
		"URI of a part of the resource": onFrame(func(f server.Frame, next server.FrameSink) {
			if f.Method == "notifications/resources/updated" {
				f.Raw = bytes.Replace(f.Raw, []byte(`library://books/b7"`), []byte(`library://books/b7/loan"`), 1)
			}
			next(f)
		}),
		"content that differs at each read": {ChangeFeatures: func(l *server.Features) {
			var reads atomic.Int64
			l.Resources[0].Read = func(r *server.ResourceRead) []server.Object {
				return []server.Object{{"uri": r.URI, "mimeType": "text/plain", "text": fmt.Sprint(reads.Add(1))}}
			}
		}},
		"notified twice": onFrame(func(f server.Frame, next server.FrameSink) {
			next(f)
			if isChange(f) {
				next(f)
			}
		}),
		"explicit empty filter": onFrame(func(f server.Frame, next server.FrameSink) {
			if f.Method == "notifications/subscriptions/acknowledged" {
				const filter = `"toolsListChanged":false,"resourceSubscriptions":[],"com.example/other":1`
				f.Raw = bytes.Replace(f.Raw, []byte(`"notifications":{}`), []byte(`"notifications":{`+filter+`}`), 1)
			}
			next(f)
		}),
		"stream ends after one change": onFrame(func(f server.Frame, next server.FrameSink) {
			next(f)
			if isChange(f) && f.Request != nil && f.Request.Method == "subscriptions/listen" {
				next(server.Frame{Raw: fmt.Appendf(nil,
					`{"jsonrpc":"2.0","id":%[1]s,"result":{"resultType":"complete","_meta":{%[2]q:%[1]s}}}`,
					f.Request.ID.Raw, spec.MetaSubscriptionID)})
			}
		}),
		"some resources only": {Handler: func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				if uri, _ := r.Params["uri"].(string); r.Method == "resources/subscribe" &&
					!strings.HasPrefix(uri, "library://books/") {
					return nil, &server.Error{Code: spec.InvalidParams, Message: "This one never changes"}
				}
				return next(ctx, r)
			}
		}},
		"number with an exponent": onResult("resources/read", func(o server.Object) {
			if o["ttlMs"] != nil {
				o["ttlMs"] = json.RawMessage("5.0e3")
			}
		}),
	}
}

// The specification allows many ways to notify of changes.
func TestAcceptsAllowedWaysToNotify(t *testing.T) {
	t.Parallel()
	for name, o := range waysToNotify() {
		for _, rev := range []spec.Revision{spec.V2025_06_18, spec.V2026_07_28} {
			t.Run(name+" at "+string(rev), func(t *testing.T) {
				_, run := runChecksAt(t, server.Target(name, o), rev, "subscriptions.*", "resources.*",
					"*.list-changed.*", "caching.*", "stdio.notifications.*")
				for _, o := range run.Outcomes {
					switch o.Verdict {
					case reports.Fail, reports.Warn, reports.Broken:
						t.Errorf("%s is %s: %s", o.ID, o.Verdict, o.Detail)
					}
				}
			})
		}
	}
}

// A server that declares no changes gets no subscriptions/listen: no clause states its
// answer.
func TestOpensNoSubscriptionWithoutDeclaredChanges(t *testing.T) {
	requests := 0
	o := server.Options{
		ChangeFeatures: func(l *server.Features) {
			for _, capability := range []string{"tools", "prompts", "resources"} {
				l.Capabilities[capability] = server.Object{}
			}
		},
		Incoming: func(next server.Receiver, _ server.FrameSink) server.Receiver {
			return func(line []byte) error {
				if wire.Parse(line).Method() == "subscriptions/listen" {
					requests++
				}
				return next(line)
			}
		},
	}
	got, _ := runChecksAt(t, server.Target("quiet", o), spec.V2026_07_28, "subscriptions.*")
	if requests > 0 {
		t.Errorf("%d subscriptions/listen were sent", requests)
	}
	for id, o := range got {
		// This check, on progress without a subscription id, needs no stream.
		if o.Verdict != reports.NotApplicable && o.Verdict != reports.NotObserved && id != "subscriptions.id.absent" {
			t.Errorf("%s is %s", id, o.Verdict)
		}
	}
}

// A deprecated feature is a note and changes no verdict.
func TestNotesDeprecatedFeatures(t *testing.T) {
	for _, declared := range []bool{true, false} {
		o := server.Options{ChangeFeatures: func(l *server.Features) {
			if !declared {
				delete(l.Capabilities, "logging")
			}
		}}
		got, _ := runChecksAt(t, server.Target("reference", o), spec.V2026_07_28, "discover.answered")
		noted := strings.Contains(strings.Join(got["discover.answered"].Notes, "\n"), "logging")
		if noted != declared || got["discover.answered"].Verdict != reports.Pass {
			t.Errorf("declared %t: noted %t, %s", declared, noted, got["discover.answered"].Verdict)
		}
	}
}
