package transcript

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// blocks returns the content blocks of the message.
func (s Message) blocks(j *check.J) []Block {
	var out []Block
	add := func(p Part, types []string) {
		b := Block{p, types}
		out = append(out, b)
		if b.HasType("tool_result") {
			for _, inner := range p.Member("content").Items() {
				out = append(out, Block{inner, j.Facts.ContentTypes})
			}
		}
	}
	if s.Definition == "CallToolResult" {
		for _, p := range (Part{"", s.Body}).Member("content").Items() {
			add(p, j.Facts.ContentTypes)
		}
	}
	prompt, sampling := s.Messages(j)
	for _, message := range prompt {
		add(message.Member("content"), j.Facts.ContentTypes)
	}
	lists := schema.For(j.Rev).Has("SamplingMessageContentBlock") // a message may hold several blocks
	for _, message := range sampling {
		one := message.Member("content")
		if !lists || !one.Value.IsArray() {
			add(one, j.Facts.SamplingContentTypes)
			continue
		}
		for _, p := range one.Items() {
			add(p, j.Facts.SamplingContentTypes)
		}
	}
	return out
}

// KeepFirst keeps the first message of each key that is not empty.
func KeepFirst(first map[string]wire.Entry, key string, e wire.Entry) {
	if _, known := first[key]; !known && key != "" {
		first[key] = e
	}
}

// A Message is a message of the judged side with its definition in the schema of the
// revision: the result of a request, a notification or a request.
type Message struct {
	wire.Entry
	Name       string       // "the result of tools/list"
	Definition string       // the definition of the schema, "" if the revision has none
	Body       gjson.Result // the result, or the whole of a notification or request
}

// Messages returns the messages of the judged side that the schema of the revision
// describes.
func Messages(j *check.J) []Message {
	return check.Derived(j, "messages", func() []Message { return describedMessages(j) })
}

// DistinctMessages returns Messages without repetitions: the same value with the same
// name gives no new evidence about its shape. A list that is requested fifty times is
// judged once.
func DistinctMessages(j *check.J) []Message {
	type value struct{ name, raw string }
	return check.Derived(j, "distinct messages", func() []Message {
		known := map[value]bool{}
		return Filter(Messages(j), func(s Message) bool {
			v := value{s.Name, s.Body.Raw}
			repeated := known[v]
			known[v] = true
			return !repeated
		})
	})
}

// describedMessages leaves out answers to requests of another revision, and messages
// after another revision was agreed on. Other checks judge their JSON-RPC framing.
func describedMessages(j *check.J) []Message {
	var out []Message
	set := schema.For(j.Rev)
	asked := map[string]wire.Message{} // by id
	ambiguous := map[string]bool{}
	elsewhere := false // another revision was agreed on
	for _, e := range j.Entries() {
		if e.Truncated {
			continue
		}
		for _, m := range e.Message.Elements() {
			if e.From != j.Of {
				if key := m.ID().Key(); m.Kind == wire.Request {
					// With a duplicate id or member it is not known which of two
					// methods is answered.
					_, twice := asked[key]
					asked[key] = m
					ambiguous[key] = ambiguous[key] || twice || len(e.Message.DuplicateKeys) > 0
				}
				continue
			}
			one := e
			one.Message = m
			switch {
			case m.EnvelopeError != nil:
			case m.Kind == wire.Result && m.Result().IsObject():
				request, ok := asked[m.ID().Key()]
				if !ok || ambiguous[m.ID().Key()] || j.MatchesInvalidJSON(one) {
					continue
				}
				method, result := request.Method(), m.Result()
				if version := result.Get("protocolVersion"); method == "initialize" && version.Type == gjson.String {
					elsewhere = version.String() != string(j.Rev)
				}
				if IsUnderRevision(j, request, elsewhere) {
					out = append(out, Message{
						one, "the result of " + wire.Clip(method, 80), set.ResultOf(method, []byte(result.Raw)), result,
					})
				}
			case elsewhere:
			case m.Kind == wire.Notification:
				out = append(out, Message{one, wire.Clip(m.Method(), 80), set.Notification(m.Method()), m.Value()})
			case m.Kind == wire.Request:
				out = append(out, Message{
					one, "the request " + wire.Clip(m.Method(), 80), set.Request(m.Method()), m.Value(),
				})
			}
		}
	}
	return out
}

// IsUnderRevision reports whether a request belongs to the judged revision: by its own
// metadata in the stateless era, by the agreed version before.
func IsUnderRevision(j *check.J, request wire.Message, elsewhere bool) bool {
	version := wire.Member(request.Params().Get("_meta"), spec.MetaProtocolVersion)
	if j.Facts.Stateless {
		return version.String() == string(j.Rev)
	}
	return !version.Exists() && !elsewhere
}

// Filter returns the elements that keep accepts. It does not change the list.
func Filter[V any](all []V, keep func(V) bool) (out []V) {
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// A Part is a value inside a message.
type Part struct {
	Pointer string // JSON pointer from the value of the message
	Value   gjson.Result
}

// A Member is a value at a place where the schema has a member of its name.
type Member struct {
	Message
	schema.Member
}

// Members returns the values of a member, wherever the schema has it, in
// DistinctMessages.
func Members(j *check.J, name string) []Member {
	return check.Derived(j, "members "+name, func() (all []Member) {
		for _, s := range DistinctMessages(j) {
			if s.Definition == "" {
				continue
			}
			for _, m := range schema.For(j.Rev).Members(s.Definition, name, s.Body) {
				all = append(all, Member{s, m})
			}
		}
		return all
	})
}
