package usage

import (
	"maps"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// CompletionParams are the params of a completion for a prompt of a name.
func CompletionParams(prompt string) check.Params {
	return check.Params{
		"ref":      check.Params{"type": "ref/prompt", "name": prompt},
		"argument": check.Params{"name": "mcpcheck", "value": ""},
	}
}

// A Blank is a prompt or a resource template with arguments to fill in
// (server/utilities/completion#reference-types).
type Blank struct {
	Entry gjson.Result          // as it is listed
	Ref   check.Params          // names it in a completion
	Names []string              // of its arguments, or of its variables
	Uris  *uritemplate.Template // of a resource template
}

// A Completed is what came of completing one argument with nothing typed.
type Completed struct {
	Of     *Blank
	Name   string            // of the argument
	Filled map[string]string // that was filled in before
	Answer wire.Entry
	Err    error
}

// Params are those of the request, with what was filled in before where the
// revision has that (since 2025-06-18).
func (c Completed) Params(t *check.T) check.Params {
	params := check.Params{"ref": c.Of.Ref, "argument": check.Params{"name": c.Name, "value": ""}}
	if t.Facts.CompletionContext && len(c.Filled) > 0 {
		params["context"] = check.Params{"arguments": c.Filled}
	}
	return params
}

// Values returns the values that the completion offers.
func (c Completed) Values() []string {
	var out []string
	for _, v := range c.Answer.Message.Result().Get("completion.values").Array() {
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

// Entries returns the entries of a list that have what names them.
func Entries(t *check.T, l offer.List) []gjson.Result {
	if !t.Declares(l.Capability) {
		return nil
	}
	return slices.DeleteFunc(offer.Walked(t, l).Items(), func(entry gjson.Result) bool {
		return entry.Get(l.Key).Type != gjson.String
	})
}

// PromptBlanks returns prompts with arguments.
func PromptBlanks(t *check.T) []*Blank {
	var out []*Blank
	for _, p := range Entries(t, offer.PromptsList) {
		b := &Blank{Entry: p, Ref: check.Params{"type": "ref/prompt", "name": p.Get("name").Str}}
		for _, arg := range p.Get("arguments").Array() {
			if name := arg.Get("name"); name.Type == gjson.String {
				b.Names = append(b.Names, name.Str)
			}
		}
		if len(b.Names) > 0 && len(b.Names) <= maxNames && len(out) < maxBlanks {
			out = append(out, b)
		}
	}
	return out
}

// TemplateBlanks returns resource templates with variables.
func TemplateBlanks(t *check.T) []*Blank {
	var out []*Blank
	for _, r := range Entries(t, offer.TemplatesList) {
		text := r.Get("uriTemplate").Str
		parsed, err := uritemplate.New(text)
		if err != nil {
			continue // its syntax is judged in every session
		}
		b := &Blank{
			Entry: r, Ref: check.Params{"type": "ref/resource", "uri": text}, Names: parsed.Varnames(), Uris: parsed,
		}
		if len(b.Names) > 0 && len(b.Names) <= maxNames && len(out) < maxBlanks {
			out = append(out, b)
		}
	}
	return out
}

// HasCompletion tells whether arguments may be completed: the server declares it,
// or the revision has no capability to declare.
func HasCompletion(t *check.T) bool {
	return t.Declares("completions") || !t.Facts.CompletionCapability
}

// A Filling is a blank with two values for each of its arguments, which are the
// same where only one is known.
type Filling struct {
	*Blank
	Values   [2]map[string]string
	proposed map[string]bool // arguments whose values come from a completion
}

// arguments are those to get a prompt with: what it requires, and of the rest
// what the server itself has proposed.
func (f Filling) arguments() map[string]string {
	out := map[string]string{}
	for _, arg := range f.Entry.Get("arguments").Array() {
		name := arg.Get("name").String()
		if value, ok := f.Values[0][name]; ok && (arg.Get("required").Bool() || f.proposed[name]) {
			out[name] = value
		}
	}
	return out
}

// filled is what came of filling in all that the server offers.
type filled struct {
	Prompts, templates []Filling
	Completions        []Completed
	over               bool // completion is not there, or takes too long
}

var fillingsKey = check.NewKey[*filled]("fillings")

// Fillings fills in what the server offers, once at this revision: values are
// those of completions, argument by argument, or those that listed resources
// have, or of our own.
func Fillings(t *check.T) *filled {
	return check.Once(t, fillingsKey, func() *filled {
		f := &filled{over: !HasCompletion(t) || check.Has(t, slowCompletion)}
		until := time.Now().Add(t.Timeout())
		for _, b := range PromptBlanks(t) {
			f.Prompts = append(f.Prompts, f.fill(t, b, until))
		}
		for _, b := range TemplateBlanks(t) {
			f.templates = append(f.templates, f.fill(t, b, until))
		}
		return f
	})
}

// ProposedBeside returns the values that the server proposed for the other
// arguments of what was completed.
func (f *filled) ProposedBeside(c Completed) map[string]string {
	out := map[string]string{}
	for _, one := range slices.Concat(f.Prompts, f.templates) {
		for name, value := range one.Values[0] {
			if one.Blank == c.Of && name != c.Name && one.proposed[name] {
				out[name] = value
			}
		}
	}
	return out
}

const slowCompletion = "slow completion"

func (f *filled) fill(t *check.T, b *Blank, until time.Time) Filling {
	out := Filling{b, [2]map[string]string{{}, {}}, map[string]bool{}}
	for _, name := range b.Names {
		values := f.complete(t, Completed{Of: b, Name: name, Filled: maps.Clone(out.Values[0])}, until)
		if out.proposed[name] = len(values) > 0; len(values) == 0 {
			values = b.examples(t, name)
		}
		out.Values[0][name], out.Values[1][name] = values[0], values[min(1, len(values)-1)]
	}
	return out
}

// complete asks for the values of one argument. A server that does not know the
// method, or does not answer, is not asked again.
func (f *filled) complete(t *check.T, c Completed, until time.Time) []string {
	if f.over || time.Now().After(until) {
		return nil
	}
	c.Answer, c.Err = t.Try("completion/complete", c.Params(t)).Get()
	f.Completions = append(f.Completions, c)
	if c.Err != nil {
		f.over = true
		check.Learn(t, slowCompletion)
	}
	if code, _ := c.Answer.Message.ErrorCode(); code == spec.MethodNotFound && !t.Facts.CompletionCapability {
		f.over = true
	}
	return c.Values()
}

// examples returns values for an argument that the server does not complete.
func (b *Blank) examples(t *check.T, name string) []string {
	var out []string
	for _, r := range Entries(t, offer.ResourcesList) {
		if b.Uris == nil {
			break
		}
		if v := b.Uris.Match(r.Get("uri").Str).Get(name); v.Valid() && v.String() != "" &&
			!slices.Contains(out, v.String()) {
			out = append(out, v.String())
		}
	}
	if out == nil {
		return []string{"1"} // good as text and as a number
	}
	return out
}

// expand returns the URI of a template under values.
func (b *Blank) expand(values map[string]string) (uri string, ok bool) {
	v := uritemplate.Values{}
	for name, value := range values {
		v.Set(name, uritemplate.String(value))
	}
	uri, err := b.Uris.Expand(v)
	return uri, err == nil
}

// expansions returns the URIs of a template under its values.
func (f Filling) expansions() []string {
	var out []string
	for _, values := range f.Values {
		if uri, ok := f.expand(values); ok && !slices.Contains(out, uri) {
			out = append(out, uri)
		}
	}
	return out
}
