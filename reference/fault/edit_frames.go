package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onFrames decorates the outgoing frames. The decorator is called for one frame
// at a time, and may keep the state of the connection in its closure.
func onFrames(decorate func(next server.FrameSink) server.FrameSink) apply {
	return func(o *server.Options) { o.Frames = outside(o.Frames, decorate) }
}

// A frameMatcher reports whether a deviation applies to an outgoing frame.
type frameMatcher = func(f server.Frame) bool

// anyFrame matches all frames.
func anyFrame(server.Frame) bool { return true }

// isKind matches frames of the kinds.
func isKind(kinds ...wire.Kind) frameMatcher {
	return func(f server.Frame) bool { return slices.Contains(kinds, f.Kind) }
}

// isResponse matches results and errors.
func isResponse(f server.Frame) bool { return f.Kind == wire.Result || f.Kind == wire.Error }

// isNotification matches notifications of the method.
func isNotification(method string) frameMatcher {
	return func(f server.Frame) bool { return f.Kind == wire.Notification && f.Method == method }
}

// isResultOf matches results of requests of the method.
func isResultOf(method string) frameMatcher {
	return func(f server.Frame) bool { return f.Kind == wire.Result && f.Method == method }
}

// isResponseWhen matches responses to the requests that match.
func isResponseWhen(matches requestMatcher) frameMatcher {
	return func(f server.Frame) bool { return isResponse(f) && f.Request != nil && matches(f.Request) }
}

// isErrorWhen matches errors that answer the requests that match.
func isErrorWhen(matches requestMatcher) frameMatcher {
	return func(f server.Frame) bool { return f.Kind == wire.Error && f.Request != nil && matches(f.Request) }
}

// withhold does not send the frames that match.
func withhold(matches frameMatcher) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if !matches(f) {
				next(f)
			}
		}
	})
}

// sendTwice sends the frames that match twice.
func sendTwice(matches frameMatcher) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			next(f)
			if matches(f) {
				next(f)
			}
		}
	})
}

// sendBefore sends another frame before each frame that matches.
func sendBefore(matches frameMatcher, other func(f server.Frame) server.Frame) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if matches(f) {
				next(other(f))
			}
			next(f)
		}
	})
}

// sendFlood sends six hundred frames before the first frame of each connection
// that matches; nth makes the frames of that one.
func sendFlood(matches frameMatcher, nth func(f server.Frame, n int) server.Frame) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		flooded := false
		return func(f server.Frame) {
			if matches(f) && !flooded {
				flooded = true
				for n := range 600 {
					next(nth(f, n))
				}
			}
			next(f)
		}
	})
}

// sendLastAfterAnswer holds the last notification of the method on each request
// back until the next one comes, and the very last until the answer was sent.
func sendLastAfterAnswer(method string) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		held := map[*server.Request]server.Frame{}
		return func(f server.Frame) {
			before, holds := held[f.Request]
			switch {
			case f.Request == nil:
				next(f)
			case f.Method == method && f.Kind == wire.Notification:
				if holds {
					next(before)
				}
				held[f.Request] = f
			default:
				next(f)
				if holds && isResponse(f) {
					delete(held, f.Request)
					next(before)
				}
			}
		}
	})
}

// rewriteFrames changes the bytes of the frames that match.
func rewriteFrames(matches frameMatcher, rewrite func(f server.Frame) []byte) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if matches(f) {
				f.Raw = rewrite(f)
			}
			next(f)
		}
	})
}

// onFrame changes the members of outgoing frames of the kinds. Values are raw
// JSON, so that what is not changed stays byte for byte.
func onFrame(edit func(f server.Frame, members map[string]json.RawMessage), kinds ...wire.Kind) apply {
	return rewriteFrames(isKind(kinds...), func(f server.Frame) []byte {
		var members map[string]json.RawMessage
		decode(f.Raw, &members)
		edit(f, members)
		return wire.Encode(members)
	})
}

// onNotification changes the params of notifications of the method.
func onNotification(method string, edit func(params server.Object)) apply {
	return onParamsWhen(isNotification(method), func(_ server.Frame, params server.Object) { edit(params) })
}

// onParamsWhen changes the params of the frames that match.
func onParamsWhen(matches frameMatcher, edit func(f server.Frame, params server.Object)) apply {
	return rewriteFrames(matches, func(f server.Frame) []byte {
		return editParams(f.Raw, func(params server.Object) { edit(f, params) })
	})
}

// editParams changes the params of a message. Numbers stay as they are written.
func editParams(message []byte, edit func(params server.Object)) []byte {
	var m server.Object
	decode(message, &m)
	params, ok := m["params"].(server.Object)
	if !ok {
		params = server.Object{}
	}
	edit(params)
	m["params"] = params
	return wire.Encode(m)
}

// frameOf returns a frame of the bytes.
func frameOf(format string, args ...any) server.Frame {
	return server.Frame{Raw: fmt.Appendf(nil, format, args...)}
}

// resultFrame returns the frame of a result.
func resultFrame(id wire.ID, result server.Object) server.Frame {
	return frameOf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id.Raw, wire.Encode(result))
}

// errorWithoutID returns the frame of an error under the id null.
func errorWithoutID(code int, message string) server.Frame {
	return frameOf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, message)
}

// onIncoming decorates the incoming lines; out writes a frame that the server did
// not make.
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

// A messageMatcher reports whether a deviation applies to an incoming message.
type messageMatcher = func(m wire.Message) bool

// isMessage matches messages of the kind and method; "" means any method.
func isMessage(kind wire.Kind, method string) messageMatcher {
	return func(m wire.Message) bool { return m.Kind == kind && (method == "" || m.Method() == method) }
}

// onLine handles the messages that match in place of the server.
func onLine(matches messageMatcher, handle func(m wire.Message, out server.FrameSink)) apply {
	return onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
		return func(line []byte) error {
			if m := wire.Parse(line); matches(m) {
				handle(m, out)
				return nil
			}
			return next(line)
		}
	})
}

// ignoreLines does not read the messages that match.
func ignoreLines(matches messageMatcher) apply {
	return onLine(matches, func(wire.Message, server.FrameSink) {})
}

// exitOn ends the server when a message matches.
func exitOn(matches messageMatcher, why string) apply {
	return onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error {
			if matches(wire.Parse(line)) {
				return errors.New(why)
			}
			return next(line)
		}
	})
}

// stopReadingAt reads neither a message that matches nor anything after it.
func stopReadingAt(matches messageMatcher) apply {
	return onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		stopped := false
		return func(line []byte) error {
			if stopped = stopped || matches(wire.Parse(line)); stopped {
				return nil
			}
			return next(line)
		}
	})
}

// rewriteLines changes the bytes of incoming lines before the server reads them.
func rewriteLines(rewrite func(m wire.Message) []byte) apply {
	return onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error { return next(rewrite(wire.Parse(line))) }
	})
}

// afterLine does something after the server read a message that matches.
func afterLine(matches messageMatcher, do func(m wire.Message, out server.FrameSink)) apply {
	return onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
		return func(line []byte) error {
			if err := next(line); err != nil {
				return err
			}
			if m := wire.Parse(line); matches(m) {
				do(m, out)
			}
			return nil
		}
	})
}

// replaceBytes replaces the first occurrence of a text in a message.
func replaceBytes(m wire.Message, from, to string) []byte {
	return bytes.Replace(m.Raw, []byte(from), []byte(to), 1)
}
