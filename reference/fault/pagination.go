package fault

import (
	"bytes"
	"context"
	"maps"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// paginationFaults are the faults of server/utilities/pagination. Those that
// depend on the order of requests are of prompts/list, which the fewest checks
// request.
func paginationFaults() []Fault { return append(furtherPages(), invalidCursors()...) }

// furtherPages are faults of pages after the first, and of lists without an answer.
func furtherPages() []Fault {
	return []Fault{
		{
			Name: "next-cursor-null", Does: "writes the nextCursor of the last page as null",
			CaughtBy: []string{"pagination.next-cursor.string"},
			Apply: onResult("resources/list", func(o server.Object) {
				if o["nextCursor"] == nil {
					o["nextCursor"] = nil
				}
			}),
		},
		{
			Name: "own-cursor-refused", Does: "answers prompts/list with any cursor with an error",
			CaughtBy: []string{"pagination.followed"},
			Apply: onFurtherPage("prompts/list",
				func(context.Context, *server.Request, server.Handler) (any, *server.Error) {
					return nil, invalidCursor()
				}),
		},
		{
			Name:     "page-repeats-first-entry",
			Does:     "begins each further page of prompts with the first prompt of the list",
			CaughtBy: []string{"pagination.resumed"},
			Apply:    onFurtherPage("prompts/list", repeatFirstPrompt),
		},
		{
			Name:     "first-page-forgotten",
			Does:     "answers prompts/list without a cursor with the page of the cursor before it",
			CaughtBy: []string{"pagination.start"},
			Also:     map[string]string{"prompts.list.everywhere": "the pages of a list depend on the requests before"},
			Apply:    forgetFirstPage,
		},
		{
			Name: "cursor-valid-once", Does: "refuses a cursor of prompts/list that was used before",
			CaughtBy: []string{"pagination.cursor.stable"},
			Apply:    acceptCursorOnce,
		},
		{
			Name: "list-unanswered", Does: "does not answer resources/templates/list",
			CaughtBy: []string{"pagination.lists.answered"},
			Apply:    withhold(isResponseWhen(isMethod("resources/templates/list"))),
		},
	}
}

// invalidCursors are faults in how invalid cursors are received.
func invalidCursors() []Fault {
	ofTasks := map[string]string{"tasks.list.cursor": "tasks are listed page by page too"}
	return []Fault{
		{
			Name: "invalid-cursor-ignored", Does: "answers invalid cursors with the first page",
			CaughtBy: []string{"pagination.cursor.invalid"}, Also: ofTasks,
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if hasCursor(r) && problem != nil && problem.Code == spec.InvalidParams {
						return next(ctx, withCursor(r, nil))
					}
					return v, problem
				}
			}),
		},
		{
			Name: "list-meta-refused", Does: "refuses prompts/list with a _meta that has members",
			CaughtBy: []string{"pagination.meta.served"},
			Apply: answerWhen(func(r *server.Request) bool {
				return r.Method == "prompts/list" && metaOf(r)["mcpcheck.dev/note"] != nil
			}, failWith(spec.InvalidParams, "The list has no parameters")),
		},
		{
			Name: "invalid-cursor-internal-error", Does: "answers invalid cursors with error -32603",
			CaughtBy: []string{"pagination.cursor.invalid"}, Also: ofTasks,
			Apply: recode("", func(r *server.Request, _ *server.Error) bool {
				_, isText := r.Params["cursor"].(string)
				return isText && hasCursor(r)
			}, spec.InternalError),
		},
		{
			Name: "invalid-cursor-unanswered", Does: "does not answer requests with an invalid cursor",
			CaughtBy: []string{"pagination.cursor.invalid.survived"}, Also: ofTasks,
			Apply: withhold(isErrorWhen(func(r *server.Request) bool {
				_, isText := r.Params["cursor"].(string)
				return isText
			})),
		},
		{
			Name: "foreign-cursor-unanswered", Does: "does not answer requests with a cursor of another list",
			CaughtBy: []string{"pagination.cursor.invalid.survived"},
			Apply: withhold(isErrorWhen(func(r *server.Request) bool {
				return r.Method == "tools/list" && len(asText(r.Params["cursor"])) == 12 // as a cursor of any list has
			})),
		},
	}
}

func hasCursor(r *server.Request) bool {
	_, has := r.Params["cursor"]
	return has
}

// withCursor returns the request for the page of a cursor; nil for the first page.
func withCursor(r *server.Request, cursor any) *server.Request {
	other := *r
	other.Params = maps.Clone(r.Params)
	delete(other.Params, "cursor")
	if cursor != nil {
		other.Params["cursor"] = cursor
	}
	return &other
}

func invalidCursor() *server.Error {
	return &server.Error{Code: spec.InvalidParams, Message: "The cursor is not one of this list"}
}

// A service serves a request in place of the server; next is the server.
type service = func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error)

// onFurtherPage serves requests for further pages of a list in place of the server.
func onFurtherPage(method string, serve service) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == method && hasCursor(r) {
				return serve(ctx, r, next)
			}
			return next(ctx, r)
		}
	})
}

func repeatFirstPrompt(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error) {
	first, problem := next(ctx, withCursor(r, nil))
	if problem != nil {
		return nil, problem
	}
	page, problem := next(ctx, r)
	if o, ok := page.(server.Object); ok && problem == nil {
		o["prompts"] = append([]any{first.(server.Object)["prompts"].([]any)[0]}, o["prompts"].([]any)...)
	}
	return page, problem
}

func forgetFirstPage(o *server.Options) {
	onHandler(func(next server.Handler) server.Handler {
		var mu sync.Mutex
		var before any // the cursor of the request before
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method != "prompts/list" {
				return next(ctx, r)
			}
			mu.Lock()
			defer mu.Unlock()
			cursor := r.Params["cursor"]
			if cursor == nil && before != nil {
				r = withCursor(r, before)
			}
			before = cursor
			return next(ctx, r)
		}
	})(o)
}

func acceptCursorOnce(o *server.Options) {
	onHandler(func(next server.Handler) server.Handler {
		var used sync.Map
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			cursor, further := r.Params["cursor"].(string)
			if r.Method != "prompts/list" || !further {
				return next(ctx, r)
			}
			if _, again := used.LoadOrStore(cursor, true); again {
				return nil, invalidCursor()
			}
			return next(ctx, r)
		}
	})(o)
}

// paginationClientFaults are the faults of the client in
// server/utilities/pagination.
func paginationClientFaults() []ClientFault {
	return []ClientFault{
		{
			Name: "client-cursor-trimmed", Does: "trims cursors before it sends them",
			Breaks: []string{"pagination-cursor-opaque", "pagination-cursor-unmodified",
				"pagination-cursor-no-format-assumptions"},
			CaughtBy: []string{"pagination.client.cursor"},
			Apply:    clientRewrites("", `"cursor":" `, `"cursor":"`),
		},
		{
			Name: "client-cursor-null", Does: "requests the first page with the cursor null",
			Breaks:   []string{"pagination-cursor-param-string"},
			CaughtBy: []string{"pagination.client.cursor"},
			Apply: clientSends("tools/list", func(m client.Message) [][]byte {
				from, to := `"tools/list"`, `"tools/list","params":{"cursor":null}`
				switch params := wire.Parse(m.Raw).Params(); {
				case params.Get("cursor").Exists():
					return [][]byte{m.Raw}
				case params.Exists():
					from, to = `"params":{`, `"params":{"cursor":null,`
				}
				return [][]byte{bytes.Replace(m.Raw, []byte(from), []byte(to), 1)}
			}),
		},
		{
			Name: "client-cursor-kept", Does: "starts with a cursor of another session", In: spec.Handshake,
			Breaks:   []string{"pagination-cursor-not-persisted"},
			CaughtBy: []string{"pagination.client.cursor"},
			Apply: clientRewrites("tools/list", `"method":"tools/list"}`,
				`"method":"tools/list","params":{"cursor":"page-7"}}`),
		},
		{
			Name: "client-cursor-empty-ends", Does: "takes an empty cursor for the end",
			CaughtBy: []string{"pagination.client.cursor.empty"},
			Apply: func(o *client.Options) {
				o.HasNextPage = func(next func(gjson.Result) bool) func(gjson.Result) bool {
					return func(cursor gjson.Result) bool { return next(cursor) && cursor.String() != "" }
				}
			},
		},
	}
}
