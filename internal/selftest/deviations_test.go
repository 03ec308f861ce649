package selftest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// An editOptions function makes the reference deviate.
type editOptions func(o *server.Options)

// onResult changes the results of a method, of calls of a tool or of a prompt if it is
// named.
func onResult(method, name string, edit func(r *server.Request, o server.Object)) editOptions {
	return func(o *server.Options) {
		o.Handler = func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				v, problem := next(ctx, r)
				if o, ok := v.(server.Object); ok && r.Method == method && (name == "" || r.Params["name"] == name) {
					edit(r, o)
				}
				return v, problem
			}
		}
	}
}

// setMember sets a member of results of a method.
func setMember(method, name, member string, value any) editOptions {
	return onResult(method, name, func(_ *server.Request, o server.Object) { o[member] = value })
}

// replaceMember sets a member of results of a method that have it.
func replaceMember(method, name, member string, value any) editOptions {
	return onResult(method, name, func(_ *server.Request, o server.Object) {
		if o[member] != nil {
			o[member] = value
		}
	})
}

// undeclare takes a capability away, and leaves what it is for.
func undeclare(opening, capability string) editOptions {
	return onResult(opening, "", func(_ *server.Request, o server.Object) {
		delete(o["capabilities"].(server.Object), capability)
	})
}

// A deviation breaks the rule of a check in a way that no fault does, since another fault
// of the check proves it already.
type deviation struct {
	check string
	says  string // part of what the check says of it
	rev   spec.Revision
	edit  editOptions
}

// officialDeviations are deviations of the server with the public contract.
var officialDeviations = []deviation{
	{"official.tasks.created", "createdAt of the task is", spec.V2026_07_28,
		replaceMember("tools/call", "slow_compute", "createdAt", "yesterday")},
	{"official.tasks.created", "created no task", spec.V2026_07_28,
		replaceMember("tools/call", "slow_compute", "resultType", "complete")},
	{"official.tasks.immediate", "with 0 seconds was answered with", spec.V2026_07_28,
		onResult("tools/call", "slow_compute", func(_ *server.Request, o server.Object) {
			o["resultType"] = "complete"
			delete(o, "content")
		})},
	{"official.tasks.tool-error", "without isError", spec.V2026_07_28,
		replaceMember("tasks/get", "", "result", server.Object{"content": []any{}})},
	{"official.tasks.protocol-error", "the error of the failed task", spec.V2026_07_28,
		replaceMember("tasks/get", "", "error", server.Object{"message": "no"})},
	{"official.tasks.fields", "ttlMs of the task is", spec.V2026_07_28,
		setMember("tools/call", "slow_compute", "ttlMs", -1)},
	{"official.tasks.input.partly", "does not request two inputs", spec.V2026_07_28,
		replaceMember("tasks/get", "", "inputRequests", server.Object{})},
	{"official.completion", "completion.values is", spec.V2025_11_25,
		setMember("completion/complete", "", "completion", server.Object{"values": "none"})},
	{"official.completion", "does not declare the capability completions", spec.V2025_11_25,
		undeclare("initialize", "completions")},
	{"official.tools.logging", "does not declare the capability logging", spec.V2025_11_25,
		undeclare("initialize", "logging")},
	{"official.resources.watched", "does not declare resources.subscribe", spec.V2025_11_25,
		onResult("initialize", "", func(_ *server.Request, o server.Object) {
			o["capabilities"].(server.Object)["resources"] = server.Object{}
		})},
	{"official.resources.text", "parts, not 1", spec.V2025_11_25,
		onResult("resources/read", "", func(_ *server.Request, o server.Object) {
			all := o["contents"].([]any)
			o["contents"] = append(all, all...)
		})},
	{"official.tools.simple-text", "failed:", spec.V2025_11_25,
		setMember("tools/call", "test_simple_text", "isError", true)},
	{"official.tools.image", "not base64", spec.V2025_11_25, setMember("tools/call", "test_image_content", "content",
		[]any{server.Object{"type": "image", "data": "?", "mimeType": "image/png"}})},
	{"official.tools.image", "not base64", spec.V2025_11_25, setMember("tools/call", "test_image_content", "content",
		[]any{server.Object{"type": "image", "data": 1, "mimeType": "image/png"}})},
	{"official.input-required.sampling", "has no content", spec.V2026_07_28,
		onResult("tools/call", "", func(_ *server.Request, o server.Object) { delete(o, "content") })},
	{"official.skills.get.unknown", "no skill", spec.V2026_07_28, describeEverySkill},
	{"official.input-required.prompt", "has no messages", spec.V2026_07_28,
		onResult("prompts/get", "", func(_ *server.Request, o server.Object) { delete(o, "messages") })},
	{"official.input-required.sampling", "sends no message to the model", spec.V2026_07_28,
		editText(func(f server.Frame) bool { return f.Method == "tools/call" },
			`("messages":\[)\{.*?"role":"user"\}\]`, `$1]`)},
	{"official.tools.sampling", "sent 2 messages to the model", spec.V2025_11_25,
		editText(isServerRequest("sampling/createMessage"), `("messages":\[)(\{.*?"role":"user"\})\]`, `$1$2,$2]`)},
	{"official.elicitation.enums", "has no string title", spec.V2025_11_25,
		editText(isServerRequest("elicitation/create"), `("const":"[^"]*","title":)"[^"]*"`, `${1}1`)},
	{"official.subscriptions.changes", "first message of subscriptions/listen is notification notifications/tools",
		spec.V2026_07_28, editText(isAny, `notifications/subscriptions/acknowledged`,
			`notifications/tools/list_changed`)},
	{"official.skills.manifest.complete", "do not list the SKILL.md itself", spec.V2026_07_28,
		editText(func(f server.Frame) bool { return strings.HasPrefix(f.Method, "skills/") },
			`\{"digest":"[^"]*","size":\d+,"uri":"[^"]*/SKILL\.md"\},?`, ``)},
	{"official.tools.simple-text", "is not listed", spec.V2025_11_25,
		editText(func(f server.Frame) bool { return f.Method == "tools/list" }, `"test_simple_text"`, `"test_other"`)},
	{"official.tasks.protocol-error", "the error of the failed task", spec.V2026_07_28,
		replaceMember("tasks/get", "", "error", server.Object{"code": -32603})},
	{"official.tasks.declared", "the server offers slow_compute", spec.V2026_07_28,
		undeclare("server/discover", "extensions")},
	{"official.tasks.notifications", "does not name the subscription", spec.V2026_07_28,
		editText(func(f server.Frame) bool { return f.Method == "notifications/tasks" },
			`io.modelcontextprotocol/subscriptionId`, `com.example/id`)},
	{"official.tasks.notifications", "listen for a task was not answered", spec.V2026_07_28,
		neverAnswer(func(r *server.Request) bool { return r.Method == "subscriptions/listen" })},
}

// otherCode gives errors about messages that are no requests a code of the application.
var otherCode = editText(func(f server.Frame) bool { return f.Kind == wire.Error || f.Kind == wire.Batch },
	`"code":-32[67]00`, `"code":-1`)

// editText replaces text in the frames that match.
func editText(matches func(f server.Frame) bool, pattern, by string) editOptions {
	old := regexp.MustCompile(pattern)
	return editFrames(func(f server.Frame) []byte {
		if !matches(f) {
			return f.Raw
		}
		return old.ReplaceAll(f.Raw, []byte(by))
	})
}

func isAny(server.Frame) bool { return true }

// isServerRequest returns a condition that holds for the server's requests of a method.
func isServerRequest(method string) func(f server.Frame) bool {
	return func(f server.Frame) bool { return f.Kind == wire.Request && f.Method == method }
}

// neverAnswer answers requests that match no more.
func neverAnswer(matches func(r *server.Request) bool) editOptions {
	return func(o *server.Options) {
		o.Handler = func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				if !matches(r) {
					return next(ctx, r)
				}
				<-ctx.Done()
				return nil, &server.Error{Code: spec.InternalError, Message: "The connection has ended"}
			}
		}
	}
}

// otherDeviations are deviations of the server without it.
var otherDeviations = []deviation{
	{"batching.empty", "an empty array", spec.V2025_03_26, otherCode},
	{"batching.parse-error", "a truncated batch", spec.V2025_03_26, otherCode},
	{"batching.element.invalid", "a batch with an element that is no request", spec.V2025_03_26, otherCode},
	{"pagination.start", "has no array", spec.V2025_11_25, secondTime("tools/list",
		func(o server.Object) (any, *server.Error) { delete(o, "tools"); return o, nil })},
	{"discover.answered", "server/discover was answered with", spec.V2026_07_28, secondTime("server/discover",
		func(server.Object) (any, *server.Error) {
			return nil, &server.Error{Code: spec.InternalError, Message: "once is enough"}
		})},
	{"pagination.cursor.stable", "returns other entries the second time", spec.V2025_11_25, growSecondPage},
	{"ping.answered", "ping with params", spec.V2025_11_25, refusePingWithParams},
	{"tasks.cancel.gated", "tasks/cancel has a result", spec.V2025_11_25, cancelUndeclared},
	{"batching.empty", "was answered with an array", spec.V2025_03_26,
		editText(func(f server.Frame) bool { return f.Kind == wire.Error && f.Request == nil }, `^(.*)$`, `[$1]`)},
	{"stdio.concurrent", "an unknown method was answered with the result", spec.V2026_07_28, discoverUnknown},
	{"subscriptions.filter.missing", "without notifications was not answered", spec.V2026_07_28,
		neverAnswer(func(r *server.Request) bool {
			return r.Method == "subscriptions/listen" && r.Params["notifications"] == nil
		})},
	{"subscriptions.filter.empty", "neither acknowledged nor refused", spec.V2026_07_28,
		neverAnswer(func(r *server.Request) bool {
			filter, ok := r.Params["notifications"].(map[string]any)
			return r.Method == "subscriptions/listen" && ok && len(filter) == 0
		})},
}

// discoverUnknown answers requests of an unknown method like server/discover.
func discoverUnknown(o *server.Options) {
	o.Handler = func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method != "mcpcheck/no-such-method" {
				return next(ctx, r)
			}
			asked := *r
			asked.Method = "server/discover"
			return next(ctx, &asked)
		}
	}
}

// secondTime edits the answer to the second request of a method without cursor.
func secondTime(method string, edit func(o server.Object) (any, *server.Error)) editOptions {
	return func(o *server.Options) {
		o.Handler = func(next server.Handler) server.Handler {
			var n atomic.Int64
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				v, problem := next(ctx, r)
				if r.Method != method || r.Params["cursor"] != nil {
					return v, problem
				}
				if n.Add(1) < 2 {
					return v, problem
				}
				return edit(v.(server.Object))
			}
		}
	}
}

// refusePingWithParams refuses a ping that has params.
func refusePingWithParams(o *server.Options) {
	o.Handler = func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "ping" && len(r.Params) > 0 {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "A ping has no params"}
			}
			return next(ctx, r)
		}
	}
}

// describeEverySkill describes a skill that does not exist.
func describeEverySkill(o *server.Options) {
	o.Handler = func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			uri, _ := r.Params["uri"].(string)
			if r.Method == "skills/get" && strings.Contains(uri, "no-such-skill") {
				return server.Object{"resultType": "complete", "skill": server.Object{"uri": uri}}, nil
			}
			return next(ctx, r)
		}
	}
}

// cancelUndeclared answers tasks/cancel, which the capabilities do not declare, with a
// result.
func cancelUndeclared(o *server.Options) {
	o.ChangeFeatures = func(l *server.Features) {
		l.Capabilities["tasks"] = server.Object{"list": server.Object{}}
	}
	o.Handler = func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "tasks/cancel" {
				return server.Object{}, nil
			}
			return next(ctx, r)
		}
	}
}

// growSecondPage adds a tool to each further answer with the second page.
func growSecondPage(o *server.Options) {
	var n atomic.Int64
	onResult("tools/list", "", func(r *server.Request, o server.Object) {
		if r.Params["cursor"] == nil {
			return
		}
		all, _ := o["tools"].([]any)
		for i := range n.Add(1) - 1 {
			all = append(all, server.Object{
				"name": fmt.Sprintf("late_%d", i), "inputSchema": server.Object{"type": "object"},
			})
		}
		o["tools"] = all
	})(o)
}

func TestChecksFailDeviations(t *testing.T) {
	for profile, all := range map[string][]deviation{catalog.Official: officialDeviations, "": otherDeviations} {
		for _, d := range all {
			t.Run(d.check+"/"+d.says, func(t *testing.T) {
				t.Parallel()
				o := server.Options{Official: profile != "", StepDelay: pace}
				d.edit(&o)
				checks, err := catalog.Select(serverChecks(), []string{d.check}, nil)
				if err != nil {
					t.Fatal(err)
				}
				checks = checks[:1:1]
				r, err := subject{over: transport.Stdio, options: o}.judge(t.Context(), engine.Options{
					Checks: checks, Revisions: []spec.Revision{d.rev}, Profile: profile, Session: longDeadlines(),
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Outcomes) == 0 {
					t.Error("nothing was judged")
				}
				for _, o := range r.Outcomes {
					if failed := o.Verdict == reports.Fail || o.Verdict == reports.Warn; !failed ||
						!strings.Contains(o.Detail, d.says) {
						t.Errorf("%s is %s, want a failure that says %q: %s %s", o.ID, o.Verdict, d.says, o.Detail,
							o.Cause)
					}
				}
			})
		}
	}
}
