package invariant

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// eachResult gives each complete result of a method with the request that it
// answers. Results of another type (basic/index#resulttype, since 2026-07-28)
// are not what the method's page describes, and a request that names another
// revision is answered by the rules of that one.
func eachResult(j *check.J, method string, look func(e wire.Entry, request wire.Message, result gjson.Result)) {
	for _, a := range check.Derived(j, "results by method", func() map[string][]answered { return resultsByMethod(j) })[method] {
		look(a.answer, a.request, a.answer.Message.Result())
	}
}

// An answered is a complete result with the request that it answers.
type answered struct {
	answer  wire.Entry
	request wire.Message
}

func resultsByMethod(j *check.J) map[string][]answered {
	out := map[string][]answered{}
	for _, e := range j.Sent() {
		result := e.Message.Result()
		if e.Message.Kind != wire.Result || !result.IsObject() {
			continue
		}
		request, ok := j.RequestOf(e)
		if !ok || request.Message.Kind != wire.Request {
			continue
		}
		if named := wire.Member(request.Message.Params().Get("_meta"), spec.MetaProtocolVersion); named.Exists() && named.String() != string(j.Rev) {
			continue
		}
		if kind := result.Get("resultType"); j.Facts.ResultType && kind.Exists() && kind.String() != "complete" {
			continue
		}
		method := request.Message.Method()
		out[method] = append(out[method], answered{e, request.Message})
	}
	return out
}

// sameJSON tells whether two JSON values are equal: members in any order,
// numbers by value.
func sameJSON(a, b gjson.Result) bool {
	switch {
	case a.IsObject():
		if !b.IsObject() {
			return false
		}
		x, y := a.Map(), b.Map()
		if len(x) != len(y) {
			return false
		}
		for key, v := range x {
			if w, ok := y[key]; !ok || !sameJSON(v, w) {
				return false
			}
		}
		return true
	case a.IsArray():
		if !b.IsArray() {
			return false
		}
		x, y := a.Array(), b.Array()
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameJSON(x[i], y[i]) {
				return false
			}
		}
		return true
	case a.Type == gjson.Number:
		return b.Type == gjson.Number && wire.ID{Raw: a.Raw}.Equal(wire.ID{Raw: b.Raw})
	case a.Type == gjson.String:
		return b.Type == gjson.String && a.String() == b.String()
	}
	return a.Type == b.Type
}
