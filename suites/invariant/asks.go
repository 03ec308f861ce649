package invariant

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// An ask is one thing that a server asked its client for: a request of its own,
// or an entry of an input_required result (basic/patterns/mrtr, since
// 2026-07-28).
type ask struct {
	said
	part          // the request or entry, an object
	method string // roots/list, sampling/createMessage or elicitation/create
	def    string // the definition of the request
}

// params returns the params of the ask.
func (a ask) params() part { return a.member("params") }

// eachAsk gives the asks of a method in order.
func eachAsk(j *check.J, method string, look func(a ask)) {
	for _, a := range check.Derived(j, "asks by schema", func() []ask { return allAsks(j) }) {
		if a.method == method {
			look(a)
		}
	}
}

func allAsks(j *check.J) []ask {
	var out []ask
	set := schema.For(j.Rev)
	eachSaid(j, func(s said) {
		switch {
		case s.Message.Kind == wire.Request && s.def != "" && s.Message.Method() != "ping":
			out = append(out, ask{s, part{"", s.value}, s.Message.Method(), s.def})
		case s.def == "InputRequiredResult":
			for _, entry := range (part{"", s.value}).member("inputRequests").members() {
				method := entry.v.Get("method").String()
				if def, _ := set.Input(method); def != "" && entry.v.IsObject() {
					out = append(out, ask{s, entry, method, def})
				}
			}
		}
	})
	return out
}

// members returns the members of an object, none for another value.
func (p part) members() []part {
	if !p.v.IsObject() {
		return nil
	}
	var out []part
	p.v.ForEach(func(key, v gjson.Result) bool {
		out = append(out, part{p.at + "/" + pointerStep.Replace(key.String()), v})
		return true
	})
	return out
}

// pointerStep escapes a step of a JSON pointer (RFC 6901).
var pointerStep = strings.NewReplacer("~", "~0", "/", "~1")

// A claim is one check of the shape of what is asked for: some places of the
// definition of its request.
type claim struct {
	check.Check
	method string
	places []string // see within; empty: all that no other claim has
	has    []string // paths in the params of which one must be there for a subject; none: always
}

// claims makes the checks of one method from their claims. What other judges
// look at is in elsewhere.
func claims(list []claim, elsewhere []string) []check.Check {
	var out []check.Check
	others := slices.Concat(everywhere, elsewhere)
	for _, c := range list {
		others = append(others, c.places...)
	}
	for _, c := range list {
		mine := func(place string) bool { return within(place, c.places) && !within(place, everywhere) }
		if len(c.places) == 0 {
			mine = func(place string) bool { return !within(place, others) }
		}
		c.Check.Level = spec.Must
		c.Check.Judge = func(j *check.J) { claimed(j, c, mine) }
		out = append(out, c.Check)
	}
	return out
}

func claimed(j *check.J, c claim, mine func(place string) bool) {
	eachAsk(j, c.method, func(a ask) {
		for _, v := range schema.For(j.Rev).Validate(a.def, []byte(a.v.Raw)) {
			if mine(v.Place()) {
				j.Fail(a.Entry, "%s: %s%s", a.name, a.at, v)
				return
			}
		}
		if len(c.has) == 0 || slices.ContainsFunc(c.has, func(path string) bool { return a.params().v.Get(path).Exists() }) {
			j.Saw()
		}
	})
}

// client returns what the client declared when it was asked: in the opening of
// the session, or in the request that the ask belongs to.
func (a ask) client(j *check.J) gjson.Result {
	if !j.Facts.Stateless {
		return j.Capabilities(wire.Client)
	}
	request, _ := j.RequestOf(a.Entry)
	return wire.Member(request.Message.Params().Get("_meta"), spec.MetaClientCapabilities)
}
