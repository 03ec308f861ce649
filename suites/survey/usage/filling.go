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

// CompletionParams returns the params of a completion for a prompt.
func CompletionParams(prompt string) check.Params {
	return check.Params{
		"ref":      check.Params{"type": "ref/prompt", "name": prompt},
		"argument": check.Params{"name": "mcpcheck", "value": ""},
	}
}

// A Completable is a prompt or a resource template with arguments
// (server/utilities/completion#reference-types).
type Completable struct {
	Entry gjson.Result          // of the list
	Ref   check.Params          // identifies it in a completion
	Names []string              // of its arguments, or of its variables
	URIs  *uritemplate.Template // of a resource template
}

// A Completion is the answer to the completion of one argument with an empty value.
type Completion struct {
	Of     *Completable
	Name   string            // of the argument
	Filled map[string]string // filled in before
	Answer wire.Entry
	Err    error
}

// Params returns the params of the request, with the arguments filled in before if the
// revision has a context (since 2025-06-18).
func (c Completion) Params(t *check.T) check.Params {
	params := check.Params{"ref": c.Of.Ref, "argument": check.Params{"name": c.Name, "value": ""}}
	if t.Facts.CompletionContext && len(c.Filled) > 0 {
		params["context"] = check.Params{"arguments": c.Filled}
	}
	return params
}

// Values returns the values that the completion offers.
func (c Completion) Values() []string {
	var out []string
	for _, v := range c.Answer.Message.Result().Get("completion.values").Array() {
		if v.Type == gjson.String {
			out = append(out, v.Str)
		}
	}
	return out
}

// Bounds of the completions: enough for every kind, and quick on any server.
const (
	maxCompletable = 12 // of each kind
	maxNames       = 5  // of one
)

// Entries returns the entries of a list that have an identifier.
func Entries(t *check.T, l offer.List) []gjson.Result {
	if !t.Declares(l.Capability) {
		return nil
	}
	return slices.DeleteFunc(offer.WalkOnce(t, l).Items(), func(entry gjson.Result) bool {
		return entry.Get(l.Key).Type != gjson.String
	})
}

// CompletablePrompts returns the listed prompts with arguments.
func CompletablePrompts(t *check.T) []*Completable {
	var out []*Completable
	for _, p := range Entries(t, offer.PromptsList) {
		b := &Completable{Entry: p, Ref: check.Params{"type": "ref/prompt", "name": p.Get("name").Str}}
		for _, arg := range p.Get("arguments").Array() {
			if name := arg.Get("name"); name.Type == gjson.String {
				b.Names = append(b.Names, name.Str)
			}
		}
		if len(b.Names) > 0 && len(b.Names) <= maxNames && len(out) < maxCompletable {
			out = append(out, b)
		}
	}
	return out
}

// CompletableTemplates returns the listed resource templates with variables.
func CompletableTemplates(t *check.T) []*Completable {
	var out []*Completable
	for _, r := range Entries(t, offer.TemplatesList) {
		text := r.Get("uriTemplate").Str
		parsed, err := uritemplate.New(text)
		if err != nil {
			continue // a judge checks its syntax
		}
		b := &Completable{
			Entry: r, Ref: check.Params{"type": "ref/resource", "uri": text}, Names: parsed.Varnames(), URIs: parsed,
		}
		if len(b.Names) > 0 && len(b.Names) <= maxNames && len(out) < maxCompletable {
			out = append(out, b)
		}
	}
	return out
}

// HasCompletion reports whether the server supports completion: it declares it, or the
// revision has no capability for it.
func HasCompletion(t *check.T) bool {
	return t.Declares("completions") || !t.Facts.CompletionCapability
}

// ArgumentValues holds two values for each argument, which are equal if only one is
// known.
type ArgumentValues struct {
	*Completable
	Values   [2]map[string]string
	proposed map[string]bool // arguments whose values come from a completion
}

// arguments returns the arguments to get a prompt with: the required ones, and those
// for which the server offered values.
func (f ArgumentValues) arguments() map[string]string {
	out := map[string]string{}
	for _, arg := range f.Entry.Get("arguments").Array() {
		name := arg.Get("name").String()
		if value, ok := f.Values[0][name]; ok && (arg.Get("required").Bool() || f.proposed[name]) {
			out[name] = value
		}
	}
	return out
}

// Completions is the outcome of completing the arguments of what the server offers.
type Completions struct {
	Prompts, templates []ArgumentValues
	Completions        []Completion
	unavailable        bool // completion is not supported or takes too long
}

var completionsKey = check.NewKey[*Completions]("completions")

// SurveyCompletions finds values for the arguments of what the server offers, once for
// this revision: from completions, from the URIs of listed resources, or of our own.
func SurveyCompletions(t *check.T) *Completions {
	return check.Once(t, completionsKey, func() *Completions {
		f := &Completions{unavailable: !HasCompletion(t) || check.HasTrait(t, slowCompletion)}
		until := time.Now().Add(t.Timeout())
		for _, b := range CompletablePrompts(t) {
			f.Prompts = append(f.Prompts, f.valuesFor(t, b, until))
		}
		for _, b := range CompletableTemplates(t) {
			f.templates = append(f.templates, f.valuesFor(t, b, until))
		}
		return f
	})
}

// ProposedBeside returns the values that the server offered for the other arguments of
// the same prompt or template.
func (f *Completions) ProposedBeside(c Completion) map[string]string {
	out := map[string]string{}
	for _, one := range slices.Concat(f.Prompts, f.templates) {
		for name, value := range one.Values[0] {
			if one.Completable == c.Of && name != c.Name && one.proposed[name] {
				out[name] = value
			}
		}
	}
	return out
}

const slowCompletion = "slow completion"

// valuesFor finds values for the arguments of one prompt or template.
func (f *Completions) valuesFor(t *check.T, b *Completable, until time.Time) ArgumentValues {
	out := ArgumentValues{b, [2]map[string]string{{}, {}}, map[string]bool{}}
	for _, name := range b.Names {
		values := f.complete(t, Completion{Of: b, Name: name, Filled: maps.Clone(out.Values[0])}, until)
		if out.proposed[name] = len(values) > 0; len(values) == 0 {
			values = b.examples(t, name)
		}
		out.Values[0][name], out.Values[1][name] = values[0], values[min(1, len(values)-1)]
	}
	return out
}

// complete requests the values of one argument. If the server does not know the method
// or does not answer, no further completion is requested.
func (f *Completions) complete(t *check.T, c Completion, until time.Time) []string {
	if f.unavailable || time.Now().After(until) {
		return nil
	}
	c.Answer, c.Err = t.Try("completion/complete", c.Params(t)).Get()
	f.Completions = append(f.Completions, c)
	if c.Err != nil {
		f.unavailable = true
		if t.Over() == nil {
			check.SetTrait(t, slowCompletion)
		}
	}
	if code, _ := c.Answer.Message.ErrorCode(); code == spec.MethodNotFound && !t.Facts.CompletionCapability {
		f.unavailable = true
	}
	return c.Values()
}

// examples returns values for an argument without completion.
func (b *Completable) examples(t *check.T, name string) []string {
	var out []string
	for _, r := range Entries(t, offer.ResourcesList) {
		if b.URIs == nil {
			break
		}
		if v := b.URIs.Match(r.Get("uri").Str).Get(name); v.Valid() && v.String() != "" &&
			!slices.Contains(out, v.String()) {
			out = append(out, v.String())
		}
	}
	if out == nil {
		return []string{"1"} // valid as a text and as a number
	}
	return out
}

// expand returns the URI of a template with values.
func (b *Completable) expand(values map[string]string) (uri string, ok bool) {
	v := uritemplate.Values{}
	for name, value := range values {
		v.Set(name, uritemplate.String(value))
	}
	uri, err := b.URIs.Expand(v)
	return uri, err == nil
}

// expansions returns the URIs of a template with each set of values.
func (f ArgumentValues) expansions() []string {
	var out []string
	for _, values := range f.Values {
		if uri, ok := f.expand(values); ok && !slices.Contains(out, uri) {
			out = append(out, uri)
		}
	}
	return out
}
