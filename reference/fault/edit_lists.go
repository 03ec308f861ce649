package fault

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// listByConnection adds an entry to a list that is named after the connection.
func listByConnection(method string, add func(list server.Object, name string)) apply {
	return func(o *server.Options) {
		var connections atomic.Int64
		onHandler(func(next server.Handler) server.Handler {
			name := fmt.Sprintf("connection_%d", connections.Add(1))
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				v, problem := next(ctx, r)
				if list, ok := v.(server.Object); ok && r.Method == method {
					add(list, name)
				}
				return v, problem
			}
		})(o)
	}
}

// listAfter adds an entry to a list once another method was requested on the
// connection.
func listAfter(trigger, method string, add func(list server.Object, name string)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		var triggered atomic.Bool
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if r.Method == trigger {
				triggered.Store(true)
			}
			if list, ok := v.(server.Object); ok && r.Method == method && triggered.Load() {
				add(list, "side_effect")
			}
			return v, problem
		}
	})
}

// undeclaredList lists the entries of a capability without declaring it, and
// offers nothing else of it.
func undeclaredList(capability string) apply {
	return combine(
		undeclared(capability),
		withhold(isNotification("notifications/"+capability+"/list_changed")),
		onRequest(listenMethod, func(r *server.Request) {
			if filter, ok := r.Params["notifications"].(server.Object); ok {
				delete(filter, capability+"ListChanged")
			}
		}))
}
