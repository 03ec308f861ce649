package fault

import (
	"context"
	"maps"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// pagination are the faults of server/utilities/pagination. Those that turn on
// the order of requests are of prompts/list, which fewest checks ask for.
func pagination() []Fault {
	return []Fault{
		{
			Name: "list-unanswered", Does: "does not answer resources/templates/list",
			CaughtBy: []string{"jsonrpc.response.lists"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					if f.Method != "resources/templates/list" {
						next(f)
					}
				}
			}),
		},
		{
			Name: "next-cursor-null", Does: "marks the last page by the cursor null",
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
			Apply: onPage("prompts/list", func(_ context.Context, r *server.Request, _ server.Handler) (any, *server.Error) {
				return nil, badCursor()
			}),
		},
		{
			Name: "page-begins-again", Does: "begins each further page of prompts with the first prompt of all",
			CaughtBy: []string{"pagination.resumed"},
			Apply: onPage("prompts/list", func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error) {
				first, problem := next(ctx, uncursored(r))
				if problem != nil {
					return nil, problem
				}
				page, problem := next(ctx, r)
				if o, ok := page.(server.Object); ok && problem == nil {
					o["prompts"] = append([]any{first.(server.Object)["prompts"].([]any)[0]}, o["prompts"].([]any)...)
				}
				return page, problem
			}),
		},
		{
			Name: "start-forgotten", Does: "gives the page of the cursor before when prompts are asked for without one",
			CaughtBy: []string{"pagination.start"},
			Also:     map[string]string{"prompts.list.everywhere": "what a walk finds depends on the walk before it"},
			Apply:    startForgotten,
		},
		{
			Name: "cursor-good-once", Does: "forgets a cursor of prompts/list when it was used",
			CaughtBy: []string{"pagination.cursor.stable"},
			Apply:    cursorGoodOnce,
		},
		{
			Name: "invalid-cursor-ignored", Does: "answers invalid cursors with the first page",
			CaughtBy: []string{"pagination.cursor.invalid"},
			Also:     map[string]string{"tasks.list.cursor": "tasks are listed page by page too"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if _, paged := r.Params["cursor"]; paged && problem != nil && problem.Code == spec.InvalidParams {
						return next(ctx, uncursored(r))
					}
					return v, problem
				}
			}),
		},
		{
			Name: "invalid-cursor-internal-error", Does: "answers invalid cursors with error -32603",
			CaughtBy: []string{"pagination.cursor.invalid"},
			Also:     map[string]string{"tasks.list.cursor": "tasks are listed page by page too"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if _, paged := r.Params["cursor"]; paged && problem != nil {
						return nil, &server.Error{Code: spec.InternalError, Message: "The cursor could not be read"}
					}
					return v, problem
				}
			}),
		},
		{
			Name: "invalid-cursor-swallowed", Does: "answers requests with an invalid cursor not at all",
			CaughtBy: []string{"pagination.cursor.invalid.survived"},
			Also:     map[string]string{"tasks.list.cursor": "tasks are listed page by page too"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					if f.Kind == wire.Error && f.Request != nil && f.Request.Params["cursor"] != nil {
						return
					}
					next(f)
				}
			}),
		},
		{
			Name: "strange-cursor-swallowed", Does: "does not answer requests with a cursor of another list",
			CaughtBy: []string{"pagination.cursor.invalid.survived"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					// A cursor of any list has 12 characters.
					if f.Kind == wire.Error && f.Request != nil && f.Method == "tools/list" {
						if cursor, _ := f.Request.Params["cursor"].(string); len(cursor) == 12 {
							return
						}
					}
					next(f)
				}
			}),
		},
	}
}

// onPage serves requests for further pages of a list in another way.
func onPage(method string, serve func(context.Context, *server.Request, server.Handler) (any, *server.Error)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if _, further := r.Params["cursor"]; r.Method == method && further {
				return serve(ctx, r, next)
			}
			return next(ctx, r)
		}
	})
}

// uncursored is the request for the first page.
func uncursored(r *server.Request) *server.Request { return cursored(r, nil) }

// cursored is the request for the page of a cursor.
func cursored(r *server.Request, cursor any) *server.Request {
	other := *r
	other.Params = maps.Clone(r.Params)
	delete(other.Params, "cursor")
	if cursor != nil {
		other.Params["cursor"] = cursor
	}
	return &other
}

func badCursor() *server.Error {
	return &server.Error{Code: spec.InvalidParams, Message: "The cursor is not one of this list"}
}

func startForgotten(o *server.Options) {
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
				r = cursored(r, before)
			}
			before = cursor
			return next(ctx, r)
		}
	})(o)
}

func cursorGoodOnce(o *server.Options) {
	onHandler(func(next server.Handler) server.Handler {
		var used sync.Map
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			cursor, further := r.Params["cursor"].(string)
			if r.Method != "prompts/list" || !further {
				return next(ctx, r)
			}
			if _, again := used.LoadOrStore(cursor, true); again {
				return nil, badCursor()
			}
			return next(ctx, r)
		}
	})(o)
}
