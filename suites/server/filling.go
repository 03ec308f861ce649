package server

import (
	"maps"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A blank is a prompt or a resource template with arguments to fill in
// (server/utilities/completion#reference-types).
type blank struct {
	entry gjson.Result          // as it is listed
	ref   check.Params          // names it in a completion
	names []string              // of its arguments, or of its variables
	uris  *uritemplate.Template // of a resource template
}

// A completed is what came of completing one argument with nothing typed.
type completed struct {
	of     *blank
	name   string            // of the argument
	filled map[string]string // that was filled in before
	answer wire.Entry
	err    error
}

// params are those of the request, with what was filled in before where the
// revision has that (since 2025-06-18).
func (c completed) params(t *check.T) check.Params {
	params := check.Params{"ref": c.of.ref, "argument": check.Params{"name": c.name, "value": ""}}
	if t.Facts.CompletionContext && len(c.filled) > 0 {
		params["context"] = check.Params{"arguments": c.filled}
	}
	return params
}

// values returns the values that the completion offers.
func (c completed) values() []string {
	var out []string
	for _, v := range c.answer.Message.Result().Get("completion.values").Array() {
		if v.Type == gjson.String {
			out = append(out, v.Str)
		}
	}
	return out
}

// Bounds of what is filled in: enough for every kind, and short on any server.
const (
	maxBlanks = 12 // of each kind
	maxNames  = 5  // of one
)

// knownEntries returns the entries of a list that have what names them.
func knownEntries(t *check.T, l listing) []gjson.Result {
	if !t.Declares(l.capability) {
		return nil
	}
	return slices.DeleteFunc(walked(t, l).items(), func(entry gjson.Result) bool { return entry.Get(l.key).Type != gjson.String })
}

// promptBlanks returns prompts with arguments.
func promptBlanks(t *check.T) []*blank {
	var out []*blank
	for _, p := range knownEntries(t, promptsList) {
		b := &blank{entry: p, ref: check.Params{"type": "ref/prompt", "name": p.Get("name").Str}}
		for _, arg := range p.Get("arguments").Array() {
			if name := arg.Get("name"); name.Type == gjson.String {
				b.names = append(b.names, name.Str)
			}
		}
		if len(b.names) > 0 && len(b.names) <= maxNames && len(out) < maxBlanks {
			out = append(out, b)
		}
	}
	return out
}

// templateBlanks returns resource templates with variables.
func templateBlanks(t *check.T) []*blank {
	var out []*blank
	for _, r := range knownEntries(t, templatesList) {
		text := r.Get("uriTemplate").Str
		parsed, err := uritemplate.New(text)
		if err != nil {
			continue // its syntax is judged in every session
		}
		b := &blank{entry: r, ref: check.Params{"type": "ref/resource", "uri": text}, names: parsed.Varnames(), uris: parsed}
		if len(b.names) > 0 && len(b.names) <= maxNames && len(out) < maxBlanks {
			out = append(out, b)
		}
	}
	return out
}

// completes tells whether arguments may be completed: the server declares it,
// or the revision has no capability to declare.
func completes(t *check.T) bool {
	return t.Declares("completions") || !t.Facts.CompletionCapability
}

// A filling is a blank with two values for each of its arguments, which are the
// same where only one is known.
type filling struct {
	*blank
	values   [2]map[string]string
	proposed map[string]bool // arguments whose values come from a completion
}

// arguments are those to get a prompt with: what it requires, and of the rest
// what the server itself has proposed.
func (f filling) arguments() map[string]string {
	out := map[string]string{}
	for _, arg := range f.entry.Get("arguments").Array() {
		name := arg.Get("name").String()
		if value, ok := f.values[0][name]; ok && (arg.Get("required").Bool() || f.proposed[name]) {
			out[name] = value
		}
	}
	return out
}

// filled is what came of filling in all that the server offers.
type filled struct {
	prompts, templates []filling
	completions        []completed
	over               bool // completion is not there, or takes too long
}

// fillings fills in what the server offers, once at this revision: values are
// those of completions, argument by argument, or those that listed resources
// have, or of our own.
func fillings(t *check.T) *filled {
	return check.Memo(t, "fillings", func() *filled {
		f := &filled{over: !completes(t) || t.Learnt(slowCompletion)}
		until := time.Now().Add(t.Timeout())
		for _, b := range promptBlanks(t) {
			f.prompts = append(f.prompts, f.fill(t, b, until))
		}
		for _, b := range templateBlanks(t) {
			f.templates = append(f.templates, f.fill(t, b, until))
		}
		return f
	})
}

// proposedBeside returns the values that the server proposed for the other
// arguments of what was completed.
func (f *filled) proposedBeside(c completed) map[string]string {
	out := map[string]string{}
	for _, one := range slices.Concat(f.prompts, f.templates) {
		for name, value := range one.values[0] {
			if one.blank == c.of && name != c.name && one.proposed[name] {
				out[name] = value
			}
		}
	}
	return out
}

const slowCompletion = "slow completion"

func (f *filled) fill(t *check.T, b *blank, until time.Time) filling {
	out := filling{b, [2]map[string]string{{}, {}}, map[string]bool{}}
	for _, name := range b.names {
		values := f.complete(t, completed{of: b, name: name, filled: maps.Clone(out.values[0])}, until)
		if out.proposed[name] = len(values) > 0; len(values) == 0 {
			values = b.examples(t, name)
		}
		out.values[0][name], out.values[1][name] = values[0], values[min(1, len(values)-1)]
	}
	return out
}

// complete asks for the values of one argument. A server that does not know the
// method, or does not answer, is not asked again.
func (f *filled) complete(t *check.T, c completed, until time.Time) []string {
	if f.over || time.Now().After(until) {
		return nil
	}
	c.answer, c.err = t.TryFrame("completion/complete", c.params(t))
	f.completions = append(f.completions, c)
	if c.err != nil {
		f.over = true
		t.Learn(slowCompletion)
	}
	if code, _ := c.answer.Message.Code(); code == spec.MethodNotFound && !t.Facts.CompletionCapability {
		f.over = true
	}
	return c.values()
}

// examples returns values for an argument that the server does not complete.
func (b *blank) examples(t *check.T, name string) []string {
	var out []string
	for _, r := range knownEntries(t, resourcesList) {
		if b.uris == nil {
			break
		}
		if v := b.uris.Match(r.Get("uri").Str).Get(name); v.Valid() && v.String() != "" && !slices.Contains(out, v.String()) {
			out = append(out, v.String())
		}
	}
	if out == nil {
		return []string{"1"} // good as text and as a number
	}
	return out
}

// expand returns the URI of a template under values.
func (b *blank) expand(values map[string]string) (uri string, ok bool) {
	v := uritemplate.Values{}
	for name, value := range values {
		v.Set(name, uritemplate.String(value))
	}
	uri, err := b.uris.Expand(v)
	return uri, err == nil
}
