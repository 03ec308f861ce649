package invariant

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A said is what the judged side said in one message under the schema of the
// revision: the result of a request, a notification or a request.
type said struct {
	wire.Entry
	name  string       // "the result of tools/list"
	def   string       // the definition that it is held against, "" if the revision has none
	value gjson.Result // the result, or the whole of a notification or request
}

// eachSaid gives, in order, what the judged side said under the revision.
func eachSaid(j *check.J, look func(s said)) {
	for _, s := range check.Derived(j, "what was said", func() []said { return allSaid(j) }) {
		look(s)
	}
}

// eachNew gives what was not said in the same words before: the same value under
// the same name again can neither keep nor break a rule of its shape anew. A list
// that is asked for fifty times is looked at once.
func eachNew(j *check.J, look func(s said)) {
	type words struct{ name, value string }
	for _, s := range check.Derived(j, "what was said anew", func() []said {
		heard := map[words]bool{}
		return those(check.Derived(j, "what was said", func() []said { return allSaid(j) }), func(s said) bool {
			w := words{s.name, s.value.Raw}
			again := heard[w]
			heard[w] = true
			return !again
		})
	}) {
		look(s)
	}
}

// allSaid leaves out what answers a request of another revision, and what
// comes after another revision was agreed on; how JSON-RPC frames it is judged
// with the messages.
func allSaid(j *check.J) []said {
	var out []said
	set := schema.For(j.Rev)
	asked := map[string]wire.Message{} // by id
	ambiguous := map[string]bool{}
	elsewhere := false // another revision was agreed on
	for _, e := range j.Entries() {
		if e.Cut {
			continue
		}
		for _, m := range e.Message.Elements() {
			if e.From != j.Of {
				if key := m.ID().Key(); m.Kind == wire.Request {
					// With an id or a member that stands twice, which of two
					// methods is answered is not known.
					_, twice := asked[key]
					asked[key] = m
					ambiguous[key] = ambiguous[key] || twice || len(e.Message.Duplicates) > 0
				}
				continue
			}
			one := e
			one.Message = m
			switch {
			case m.Misfit != nil:
			case m.Kind == wire.Result && m.Result().IsObject():
				request, ok := asked[m.ID().Key()]
				if !ok || ambiguous[m.ID().Key()] || j.Garbled(one) {
					continue
				}
				method, result := request.Method(), m.Result()
				if version := result.Get("protocolVersion"); method == "initialize" && version.Type == gjson.String {
					elsewhere = version.String() != string(j.Rev)
				}
				if under(j, request, elsewhere) {
					out = append(out, said{one, "the result of " + wire.Clip(method, 80), set.ResultOf(method, []byte(result.Raw)), result})
				}
			case elsewhere:
			case m.Kind == wire.Notification:
				out = append(out, said{one, wire.Clip(m.Method(), 80), set.Notification(m.Method()), m.Value()})
			case m.Kind == wire.Request:
				out = append(out, said{one, "the request " + wire.Clip(m.Method(), 80), set.Request(m.Method()), m.Value()})
			}
		}
	}
	return out
}

// under tells whether a request was made under the judged revision: in the
// stateless era by its own metadata, before by what was agreed on.
func under(j *check.J, request wire.Message, elsewhere bool) bool {
	version := wire.Member(request.Params().Get("_meta"), spec.MetaProtocolVersion)
	if j.Facts.Stateless {
		return version.String() == string(j.Rev)
	}
	return !version.Exists() && !elsewhere
}

// those returns what is kept of a list that is left as it is.
func those[V any](all []V, keep func(V) bool) (out []V) {
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// A part is a value inside of what was said.
type part struct {
	at string // JSON pointer from its value
	v  gjson.Result
}

// member returns a member of a part, which may not exist; name holds nothing
// that a pointer or a path escapes.
func (p part) member(name string) part { return part{p.at + "/" + name, p.v.Get(name)} }

// items returns the items of an array, none for another value.
func (p part) items() []part {
	if !p.v.IsArray() {
		return nil
	}
	var out []part
	for i, v := range p.v.Array() {
		out = append(out, part{fmt.Sprintf("%s/%d", p.at, i), v})
	}
	return out
}

// messages returns the messages of a prompt, or of the sampling requests that
// a message makes or holds (schema.ts#InputRequests, since 2026-07-28), that
// are objects.
func (s said) messages(j *check.J) (prompt, sampling []part) {
	objects := func(list part) (out []part) {
		for _, p := range list.items() {
			if p.v.IsObject() {
				out = append(out, p)
			}
		}
		return out
	}
	body := part{"", s.value}
	switch s.def {
	case "GetPromptResult":
		prompt = objects(body.member("messages"))
	case "CreateMessageRequest":
		sampling = objects(body.member("params").member("messages"))
	case "InputRequiredResult":
		for _, m := range schema.For(j.Rev).Members(s.def, "messages", s.value) {
			sampling = append(sampling, objects(part{m.Path, m.Value})...)
		}
	}
	return prompt, sampling
}

// A found member is a value that stands in what was said where the schema has a
// member of its name.
type found struct {
	said
	schema.Member
}

// eachMember gives the values of a member, wherever the schema has it, in what
// was said anew.
func eachMember(j *check.J, name string, look func(f found)) {
	for _, f := range check.Derived(j, "members "+name, func() (all []found) {
		eachNew(j, func(s said) {
			if s.def == "" {
				return
			}
			for _, m := range schema.For(j.Rev).Members(s.def, name, s.value) {
				all = append(all, found{s, m})
			}
		})
		return all
	}) {
		look(f)
	}
}
