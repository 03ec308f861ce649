package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// An apply builds a deviation into options.
type apply = func(o *server.Options)

// onHandler decorates the handler. Decorators that were there before stay
// inside.
func onHandler(decorate func(next server.Handler) server.Handler) apply {
	return func(o *server.Options) {
		inner := o.Handler
		o.Handler = func(next server.Handler) server.Handler {
			if inner != nil {
				next = inner(next)
			}
			return decorate(next)
		}
	}
}

// onFrames decorates the outgoing frames. The decorator is called for one
// frame at a time, and may keep state of the connection in its closure.
func onFrames(decorate func(next server.FrameSink) server.FrameSink) apply {
	return func(o *server.Options) {
		inner := o.Frames
		o.Frames = func(next server.FrameSink) server.FrameSink {
			if inner != nil {
				next = inner(next)
			}
			return decorate(next)
		}
	}
}

// onIncoming decorates the incoming lines; out writes a frame of its own.
func onIncoming(decorate func(next server.Receiver, out server.FrameSink) server.Receiver) apply {
	return func(o *server.Options) {
		inner := o.Incoming
		o.Incoming = func(next server.Receiver, out server.FrameSink) server.Receiver {
			if inner != nil {
				next = inner(next, out)
			}
			return decorate(next, out)
		}
	}
}

// onRequest changes a request of the method before it is served; "" means any
// method.
func onRequest(method string, edit func(r *server.Request)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if method == "" || r.Method == method {
				edit(r)
			}
			return next(ctx, r)
		}
	})
}

// instead answers requests of the method in another way than the server.
func instead(method string, answer func(r *server.Request) (any, *server.Error)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == method {
				return answer(r)
			}
			return next(ctx, r)
		}
	})
}

// onResult changes the results of the method; "" means any method.
func onResult(method string, edit func(result server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && problem == nil && (method == "" || r.Method == method) {
				edit(o)
			}
			return v, problem
		}
	})
}

// onError changes the errors of requests of the method, or replaces them by a
// result; "" means any method.
func onError(method string, edit func(r *server.Request, e *server.Error) (any, *server.Error)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if problem != nil && (method == "" || r.Method == method) {
				return edit(r, problem)
			}
			return v, problem
		}
	})
}

// beforeAnswer does something right before a request of the method is
// answered, e.g. sends a notification.
func beforeAnswer(method string, do func(ctx context.Context, r *server.Request)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if method == "" || r.Method == method {
				do(ctx, r)
			}
			return v, problem
		}
	})
}

// onFrame changes the members of outgoing frames of those kinds. Values are
// raw JSON, so that whatever is not touched stays byte for byte.
func onFrame(edit func(f server.Frame, members map[string]json.RawMessage), kinds ...wire.Kind) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if of(f, kinds) {
				var members map[string]json.RawMessage
				if err := json.Unmarshal(f.Raw, &members); err != nil {
					panic(fmt.Sprintf("fault: the server sent %q: %v", f.Raw, err))
				}
				edit(f, members)
				f.Raw = encode(members)
			}
			next(f)
		}
	})
}

// onLine handles incoming messages of the kind and method itself; the
// server does not see them. "" means any method.
func onLine(kind wire.Kind, method string, handle func(m wire.Message, out server.FrameSink)) apply {
	return onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
		return func(line []byte) error {
			if m := wire.Parse(line); m.Kind == kind && (method == "" || m.Method() == method) {
				handle(m, out)
				return nil
			}
			return next(line)
		}
	})
}

// afterLine does something after the server took an incoming message of the
// kind and method.
func afterLine(kind wire.Kind, method string, do func(m wire.Message, out server.FrameSink)) apply {
	return onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
		return func(line []byte) error {
			if err := next(line); err != nil {
				return err
			}
			if m := wire.Parse(line); m.Kind == kind && (method == "" || m.Method() == method) {
				do(m, out)
			}
			return nil
		}
	})
}

// all builds in several decorators as one fault.
func all(parts ...apply) apply {
	return func(o *server.Options) {
		for _, p := range parts {
			p(o)
		}
	}
}

// raw is a frame of those bytes.
func raw(format string, args ...any) server.Frame {
	return server.Frame{Raw: fmt.Appendf(nil, format, args...)}
}

func of(f server.Frame, kinds []wire.Kind) bool {
	for _, k := range kinds {
		if f.Kind == k {
			return true
		}
	}
	return false
}

// encode writes members on one line without escaping what needs none.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("fault: encode: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// without has the server neither declare nor offer a capability.
func without(capability string) func(*server.Library) {
	return func(l *server.Library) { delete(l.Capabilities, capability) }
}

// complete returns a result of a fault's own making with the members that
// every result of the stateless era has, and that no other era forbids.
func complete(members server.Object) server.Object {
	o := server.Object{
		"resultType": "complete",
		"_meta":      server.Object{spec.MetaServerInfo: server.Object{"name": "harbour-street-library", "version": "1.0.0"}},
	}
	maps.Copy(o, members)
	return o
}

// onNotification changes the params of outgoing notifications of a method.
func onNotification(method string, edit func(f server.Frame, params server.Object)) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if f.Kind == wire.Notification && f.Method == method {
				f.Raw = editParams(f.Raw, func(p server.Object) { edit(f, p) })
			}
			next(f)
		}
	})
}

// editParams changes the params of a message. Numbers stay as they are written.
func editParams(message []byte, edit func(params server.Object)) []byte {
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	var m server.Object
	if err := d.Decode(&m); err != nil {
		panic(fmt.Sprintf("fault: the server sent %q: %v", message, err))
	}
	params, ok := m["params"].(server.Object)
	if !ok {
		params = server.Object{}
	}
	edit(params)
	m["params"] = params
	return encode(m)
}

// onParams does the same where the params alone matter.
func onParams(method string, edit func(params server.Object)) apply {
	return onNotification(method, func(_ server.Frame, params server.Object) { edit(params) })
}
