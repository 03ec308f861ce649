package fault

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// byConnection adds an entry to a list that is named after the connection.
func byConnection(method string, add func(list server.Object, name string)) apply {
	return func(o *server.Options) {
		var connections atomic.Int64
		onHandler(func(next server.Handler) server.Handler {
			name := fmt.Sprintf("desk_%d", connections.Add(1))
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

// asSideEffect adds an entry to a list once the trigger was asked for on the
// connection.
func asSideEffect(trigger, method string, add func(list server.Object, name string)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		var triggered atomic.Bool
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if r.Method == trigger {
				triggered.Store(true)
			}
			if list, ok := v.(server.Object); ok && r.Method == method && triggered.Load() {
				add(list, "read_aloud")
			}
			return v, problem
		}
	})
}

// listAsObject lists the entries as an object, by what names them.
func listAsObject(method, member, key string) apply {
	return onResult(method, func(o server.Object) {
		named := server.Object{}
		for _, entry := range o[member].([]any) {
			named[entry.(server.Object)[key].(string)] = entry
		}
		o[member] = named
	})
}

func outOfOrder(*server.Request) (any, *server.Error) {
	return nil, &server.Error{Code: spec.InternalError, Message: "The catalogue is being rewritten"}
}

// silent sends no notifications of the method.
func silent(method string) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if f.Method != method {
				next(f)
			}
		}
	})
}

// unspoken offers a capability without declaring it, and says nothing else of
// it: what it stands for is listed, and no more.
func unspoken(capability string) apply {
	return all(
		undeclared(capability),
		silent("notifications/"+capability+"/list_changed"),
		onRequest("subscriptions/listen", func(r *server.Request) {
			if asked, ok := r.Params["notifications"].(server.Object); ok {
				delete(asked, capability+"ListChanged")
			}
		}))
}
