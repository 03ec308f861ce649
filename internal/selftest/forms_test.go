package selftest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// editFrames changes the bytes of each message that the server sends.
func editFrames(edit func(f server.Frame) []byte) editOptions {
	return func(o *server.Options) {
		o.Frames = func(next server.FrameSink) server.FrameSink {
			return func(f server.Frame) {
				f.Raw = edit(f)
				next(f)
			}
		}
	}
}

// reverseMembers returns JSON with the members of its objects in the opposite order.
func reverseMembers(v gjson.Result) string {
	var parts []string
	switch {
	case v.IsArray():
		for _, child := range v.Array() {
			parts = append(parts, reverseMembers(child))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case v.IsObject():
		v.ForEach(func(key, child gjson.Result) bool {
			parts = append(parts, key.Raw+":"+reverseMembers(child))
			return true
		})
		slices.Reverse(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	return v.Raw
}

// refuseFirstSubscription refuses subscriptions to the first resource that a connection
// asks for, as a server may whose resource never changes.
func refuseFirstSubscription(o *server.Options) {
	o.Handler = func(next server.Handler) server.Handler {
		var mu sync.Mutex
		first := ""
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			uri, _ := r.Params["uri"].(string)
			mu.Lock()
			if first == "" && r.Method == "resources/subscribe" {
				first = uri
			}
			isRefused := first == uri && (r.Method == "resources/subscribe" || r.Method == "resources/unsubscribe")
			mu.Unlock()
			if isRefused {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "This resource does not change"}
			}
			return next(ctx, r)
		}
	}
}

// No check fails a server whose messages have another form that the specification
// allows.
func TestAllowedMessageFormsFailNoCheck(t *testing.T) {
	for name, form := range map[string]struct {
		in   spec.Set
		edit editOptions
	}{
		"members in the opposite order": {spec.Every, editFrames(func(f server.Frame) []byte {
			return []byte(reverseMembers(gjson.ParseBytes(f.Raw)))
		})},
		"white space": {spec.Every, editFrames(func(f server.Frame) []byte {
			return bytes.Replace(f.Raw, []byte(`"jsonrpc":`), []byte("\t \"jsonrpc\" : "), 1)
		})},
		"requests and notifications in arrays": {spec.Only(spec.V2025_03_26), editFrames(func(f server.Frame) []byte {
			if f.Kind != wire.Request && f.Kind != wire.Notification {
				return f.Raw
			}
			return slices.Concat([]byte("["), f.Raw, []byte("]"))
		})},
		"a resource without subscriptions": {spec.Handshake, refuseFirstSubscription},
	} {
		for _, rev := range form.in.Revisions() {
			t.Run(name+"/"+string(rev), func(t *testing.T) {
				t.Parallel()
				o := server.Options{StepDelay: pace}
				form.edit(&o)
				requireNoProblems(t, subject{over: transport.Stdio, options: o}, rev)
			})
		}
	}
}
