package transcript

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// An InputRequest is one thing that a server requests from its client: by a request of
// its own, or by an entry of an input_required result (basic/patterns/mrtr, since
// 2026-07-28).
type InputRequest struct {
	Message
	Part              // the request or entry, an object
	method     string // roots/list, sampling/createMessage or elicitation/create
	violations []schema.Violation
}

// InputRequests returns what the server requested from its client by a method, in
// order.
func InputRequests(j *check.J, method string) []InputRequest {
	return check.Derived(j, "input requests", func() map[string][]InputRequest { return inputRequests(j) })[method]
}

// inputRequests returns what the server requested from its client, by method.
func inputRequests(j *check.J) map[string][]InputRequest {
	out := map[string][]InputRequest{}
	set := schema.For(j.Rev)
	add := func(s Message, request Part, method, def string) {
		found := set.Validate(def, []byte(request.Value.Raw))
		out[method] = append(out[method], InputRequest{s, request, method, found})
	}
	for _, s := range Messages(j) {
		switch {
		case s.Message.Kind == wire.Request && s.Definition != "" && s.Message.Method() != "ping":
			add(s, Part{"", s.Body}, s.Message.Method(), s.Definition)
		case s.Definition == "InputRequiredResult":
			for _, entry := range (Part{"", s.Body}).Member("inputRequests").Members() {
				method := entry.Value.Get("method").String()
				if def, _ := set.InputDefinitions(method); def != "" && entry.Value.IsObject() {
					add(s, entry, method, def)
				}
			}
		}
	}
	return out
}

// Params returns the params of the request.
func (a InputRequest) Params() Part { return a.Member("params") }

// Client returns what the client declared when it received the request: in the opening
// of the session, or in its own request that the input request belongs to.
func (a InputRequest) Client(j *check.J) gjson.Result {
	if !j.Facts.Stateless {
		return j.Capabilities(wire.Client)
	}
	request, _ := j.RequestOf(a.Entry)
	return wire.Member(request.Message.Params().Get("_meta"), spec.MetaClientCapabilities)
}

// pointerStep escapes a step of a JSON pointer (RFC 6901).
var pointerStep = strings.NewReplacer("~", "~0", "/", "~1")

// A ShapeCheck is one check of the shape of an input request, at some places of the
// definition of the request.
type ShapeCheck struct {
	check.Check
	Method string
	Places []string // see PointerMatches; empty: all places of no other check
	Has    []string // paths in the params; the request is a subject if it has one of them, or if there are none
}

// ShapeChecks returns the checks of the shape of the requests of one method. Other
// judges judge the places in elsewhere.
func ShapeChecks(list []ShapeCheck, elsewhere []string) []check.Check {
	var out []check.Check
	others := slices.Concat(CommonPlaces, elsewhere)
	for _, c := range list {
		others = append(others, c.Places...)
	}
	for _, c := range list {
		mine := func(place string) bool {
			return PointerMatches(place, c.Places) && !PointerMatches(place, CommonPlaces)
		}
		if len(c.Places) == 0 {
			mine = func(place string) bool { return !PointerMatches(place, others) }
		}
		c.Check.Level = spec.Must
		c.Check.Judge = func(j *check.J) { judgeShape(j, c, mine) }
		out = append(out, c.Check)
	}
	return out
}

func judgeShape(j *check.J, c ShapeCheck, mine func(place string) bool) {
	check.Each(j, InputRequests(j, c.Method), func(a InputRequest) bool {
		for _, v := range a.violations {
			if mine(v.Pointer()) {
				j.Fail(a.Entry, "%s: %s%s", a.Name, a.Pointer, v)
				return false
			}
		}
		return len(c.Has) == 0 || slices.ContainsFunc(c.Has, func(path string) bool {
			return a.Params().Value.Get(path).Exists()
		})
	})
}

// IsRootsRequest reports whether a message is a request of a server for roots, whose
// params roots.request.params alone judges.
func IsRootsRequest(j *check.J, m wire.Message) bool {
	return j.Of == wire.Server && !j.Facts.Stateless && m.Kind == wire.Request && m.Method() == "roots/list"
}
