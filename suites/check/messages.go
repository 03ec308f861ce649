package check

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Succeeded reports whether an answer is a complete result without isError.
func Succeeded(t *T, m wire.Message) bool {
	return IsComplete(t, m) && !m.Result().Get("isError").Bool()
}

// Merge returns params with others added.
func Merge(params, more Params) Params {
	out := Params{}
	for _, from := range []Params{params, more} {
		for k, v := range from {
			out[k] = v
		}
	}
	return out
}

// PingBatch returns a batch of requests with their ids.
func PingBatch(t *T, n int) (ids []wire.ID, elements []string) {
	for range n {
		id := t.NextID()
		ids = append(ids, id)
		elements = append(elements, t.Frame(id, t.Facts.BarrierMethod, nil))
	}
	return ids, elements
}

// Batch returns a JSON array of the elements.
func Batch(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }

// ResponseTo returns a predicate that reports whether a message is the response to the
// request with an id.
func ResponseTo(id wire.ID) func(wire.Message) bool {
	return func(m wire.Message) bool { return m.IsResponse() && m.ID().Equal(id) }
}

// MustJSON returns the JSON of a value of ours.
func MustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("check: " + err.Error())
	}
	return b
}

// InitializeParams returns the params of initialize for any text as the version.
func InitializeParams(version string) Params {
	params := session.InitializeParams(spec.Handshake.Newest(), nil)
	params["protocolVersion"] = version
	return params
}

// The ends of hints: mcpcheck calls tools that only read, and those that the user allows.
const (
	OrAllow  = ", or allow one: --allow-tools NAME,…"
	AndAllow = ", and allow it: --allow-tools NAME,…"
)

// AllowHint returns a hint with the flag that allows further calls.
func AllowHint(held []string) string {
	if len(held) == 0 {
		return ""
	}
	what := "the tool that is not read-only"
	if len(held) > 1 {
		what = fmt.Sprintf("the %d tools that are not read-only", len(held))
	}
	return fmt.Sprintf("allow %s: --allow-tools %s", what, wire.Clip(strings.Join(held, ","), 200))
}

// SendUnmatchedCancellations cancels a request that was never sent and one with an
// invalid id, and returns the index of the first frame.
func SendUnmatchedCancellations(t *T) (from int) {
	from = t.Notify("notifications/cancelled", Params{"requestId": "mcpcheck-never-sent"})
	t.Notify("notifications/cancelled", Params{"requestId": Params{}})
	return from
}

// MemberBesideMeta returns the name of a member of an object other than _meta, "" if
// there is none.
func MemberBesideMeta(object gjson.Result) (name string) {
	object.ForEach(func(key, _ gjson.Result) bool {
		if key.String() != "_meta" {
			name = wire.Clip(key.String(), 80)
		}
		return name == ""
	})
	return name
}

// HasNoID reports whether a message has no id, or the id null.
func HasNoID(m wire.Message) bool { return !m.ID().IsPresent() || m.ID().IsNull() }

// IsErrorWithoutID reports whether a message is an error that answers what could not be
// read.
func IsErrorWithoutID(m wire.Message) bool {
	return m.Kind == wire.Error && HasNoID(m)
}

// IsComplete reports whether a message is a final result, not a request for input.
func IsComplete(t *T, m wire.Message) bool {
	kind := m.Result().Get("resultType")
	return m.Kind == wire.Result && (!t.Facts.ResultType || !kind.Exists() || kind.String() == "complete")
}

// VersionMeta returns params that declare a version.
func VersionMeta(version string) Params {
	return Params{"_meta": Params{spec.MetaProtocolVersion: version}}
}
