package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// fuzz are faults that no single valid request shows: the fuzzer must find
// them.
func fuzz() []Fault {
	faults := []Fault{
		{Name: "fuzz-dies-on-duplicate-member", Does: "ends when a member stands twice in an object", Apply: onBadLine(func(m wire.Message) bool { return len(m.Duplicates) > 0 }, die)},
		{Name: "fuzz-dies-on-lone-surrogate", Does: "ends at a string with half of a surrogate pair", Apply: onBadLine(func(m wire.Message) bool { return m.Fault == nil && loneSurrogate.Match(m.Raw) }, die)},
		{Name: "fuzz-dies-on-unknown-response", Does: "ends at a response to a request that it never sent", Apply: onBadLine(func(m wire.Message) bool { return m.IsResponse() && !strings.HasPrefix(m.ID().Raw, `"desk-`) }, die)},
		{Name: "fuzz-dies-on-byte-order-mark", Does: "ends at a byte order mark", Apply: onBadLine(func(m wire.Message) bool { return bytes.HasPrefix(m.Raw, []byte("\ufeff")) }, die)},
		{Name: "fuzz-dies-on-cursor-type", Does: "ends when the cursor of a list is no string", Apply: onBadLine(func(m wire.Message) bool {
			c := m.Params().Get("cursor")
			return strings.HasSuffix(m.Method(), "/list") && c.Exists() && !strings.HasPrefix(c.Raw, `"`)
		}, die)},
		{Name: "fuzz-mute-on-string-params", Does: "never answers a request whose params are a string", Apply: onBadLine(func(m wire.Message) bool { return m.Kind == wire.Request && strings.HasPrefix(m.Params().Raw, `"`) }, ignore)},
		{Name: "fuzz-mute-on-proto-member", Does: "never answers a request that holds a member __proto__", Apply: onBadLine(func(m wire.Message) bool {
			return m.Kind == wire.Request && bytes.Contains(m.Raw, []byte(`"__proto__":`))
		}, ignore)},
		{Name: "fuzz-hangs-on-deep-nesting", Does: "takes nothing in any more after a message nested over a hundred deep", Apply: onBadLine(func(m wire.Message) bool {
			return bytes.Contains(m.Raw, deepArrays) || bytes.Contains(m.Raw, deepObjects)
		}, hang)},
		{Name: "fuzz-desync-after-blank-line", Does: "takes nothing in any more after a blank line", Apply: onBadLine(func(m wire.Message) bool { return len(m.Raw) == 0 }, hang)},
		{Name: "fuzz-joins-crlf", Does: "takes a line that ends in CR LF for the beginning of the next", Apply: joinCRLF},
		{Name: "fuzz-read-is-message", Does: "takes what one read gives for whole messages", Apply: readIsMessage},
		{Name: "fuzz-id-precision", Does: "holds numeric ids in floating point", Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
			if f, err := strconv.ParseFloat(string(m["id"]), 64); err == nil {
				m["id"] = json.RawMessage(strconv.FormatFloat(f, 'f', -1, 64))
			}
		}, wire.Result, wire.Error)},
		{Name: "fuzz-fraction-id", Does: "serves a request with a fractional id under its integral part", Apply: rewriteLine(func(m wire.Message) []byte {
			whole, fraction, ok := strings.Cut(m.ID().Raw, ".")
			if !ok || m.Kind != wire.Request || strings.Trim(fraction, "0123456789") != "" || strings.Trim(fraction, "0") == "" {
				return m.Raw
			}
			return bytes.Replace(m.Raw, []byte(m.ID().Raw), []byte(whole), 1)
		})},
		{Name: "fuzz-answers-unknown-notification", Does: "answers a notification that it does not know, under id 0", Apply: afterLine(wire.Notification, "", func(m wire.Message, out server.FrameSink) {
			if m.Flaw() == nil && !strings.HasPrefix(m.Method(), "notifications/") {
				out(raw(`{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}`))
			}
		})},
		{Name: "fuzz-answers-twice-on-unknown-meta", Does: "answers twice when _meta has a member that it does not know", Apply: onFrames(func(next server.FrameSink) server.FrameSink {
			return func(f server.Frame) {
				next(f)
				if of(f, []wire.Kind{wire.Result, wire.Error}) && f.Request != nil && strangeMeta(f.Request.Params) {
					next(f)
				}
			}
		})},
		{Name: "fuzz-keeps-previous-id", Does: "answers a request whose id is a string with escapes under the id of the one before", Apply: keepID},
	}
	for i := range faults {
		faults[i].Fuzz = true
	}
	return faults
}

var (
	loneSurrogate = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}(?:[^\\]|\\[^u]|$)`)
	deepArrays    = bytes.Repeat([]byte("["), 100)
	deepObjects   = bytes.Repeat([]byte(`{"a":`), 100)
	errPlanted    = errors.New("planted: unexpected input")
)

// A reaction is what a server does with a line that it cannot cope with: it
// may end, or tell that it takes no more lines.
type reaction func() (stop bool, err error)

func die() (bool, error)    { return true, errPlanted }
func ignore() (bool, error) { return false, nil }
func hang() (bool, error)   { return true, nil }

// onBadLine has the server react to lines that match instead of taking them.
func onBadLine(match func(wire.Message) bool, react reaction) apply {
	return onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		stopped := false
		return func(line []byte) error {
			if stopped {
				return nil
			}
			if match(wire.Parse(line)) {
				var err error
				stopped, err = react()
				return err
			}
			return next(line)
		}
	})
}

// rewriteLine changes incoming lines before the server reads them.
func rewriteLine(rewrite func(wire.Message) []byte) apply {
	return onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error { return next(rewrite(wire.Parse(line))) }
	})
}

// joinCRLF keeps a line that ends in CR until the next one has come.
func joinCRLF(o *server.Options) {
	onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		var kept []byte
		return func(line []byte) error {
			line = append(kept, line...)
			if kept = nil; bytes.HasSuffix(line, []byte("\r")) {
				kept = bytes.Clone(line)
				return nil
			}
			return next(line)
		}
	})(o)
}

// readIsMessage ends a line wherever a read ends.
func readIsMessage(o *server.Options) {
	o.Input = func(_ context.Context, r io.Reader) io.Reader { return &breaking{r: r} }
}

type breaking struct {
	r      io.Reader
	broken bool // the last read did not end in a newline
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.broken && len(p) > 0 {
		b.broken = false
		p[0] = '\n'
		return 1, nil
	}
	n, err := b.r.Read(p)
	b.broken = n > 0 && p[n-1] != '\n'
	return n, err
}

// strangeMeta tells whether _meta has a member that the server does not know.
func strangeMeta(params server.Object) bool {
	meta, _ := params["_meta"].(server.Object)
	for name := range meta {
		if name != "progressToken" && !strings.HasPrefix(name, "io.modelcontextprotocol/") {
			return true
		}
	}
	return false
}

// keepID answers under the id of the request before where the own id is
// spelled with escapes.
func keepID(o *server.Options) {
	onFrames(func(next server.FrameSink) server.FrameSink {
		before := "1"
		return func(f server.Frame) {
			if !of(f, []wire.Kind{wire.Result, wire.Error}) || f.Request == nil || !f.Request.ID.Present() {
				next(f)
				return
			}
			own := f.Request.ID.Raw
			if strings.Contains(own, `\`) {
				var members map[string]json.RawMessage
				if err := json.Unmarshal(f.Raw, &members); err != nil {
					panic(fmt.Sprintf("fault: the server sent %q: %v", f.Raw, err))
				}
				members["id"] = json.RawMessage(before)
				f.Raw = encode(members)
			}
			before = own
			next(f)
		}
	})(o)
}
