package usage

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// maxUses bounds, for each kind, the prompts and resources that are requested.
const maxUses = 12

// A Use is the outcome of reading a resource or getting a prompt that the server
// offers.
type Use struct {
	Entry  gjson.Result    // of the list
	values *ArgumentValues // nil if there are no arguments
	URI    string          // of a resource
	Params check.Params    // of the request
	Answer wire.Entry
	Err    error
}

// Uses is the outcome of using the prompts and resources that the server offers.
type Uses struct {
	Prompts, Resources, Templates []Use
	Frames                        []wire.Entry
}

var offerUsesKey = check.NewKey[*Uses]("uses of what is offered")

// UseOffer gets prompts and reads resources, also those of templates: none of that
// changes anything (server/prompts, server/resources). All requests are sent at once,
// once for this revision. Those without a quick answer are cancelled, and their method
// is not used again unless the server has ended.
func UseOffer(t *check.T) *Uses {
	return check.Once(t, offerUsesKey, func() *Uses { return usePromptsAndResources(t) })
}

func usePromptsAndResources(t *check.T) *Uses {
	u := &Uses{}
	from := t.Len()
	defer func() { u.Frames = slices.Collect(t.Frames(from)) }()
	type waiting struct {
		call *check.Call
		of   *Use
	}
	var running []waiting
	ask := func(into *[]Use, method string, one Use, params check.Params) {
		if len(*into) == cap(*into) || check.HasTrait(t, slowMethod(method)) {
			return
		}
		if call, err := t.TryStart(method, params); err == nil {
			one.Params = params
			*into = append(*into, one)
			running = append(running, waiting{call, &(*into)[len(*into)-1]})
		}
	}
	u.Prompts, u.Resources, u.Templates = make([]Use, 0, 2*maxUses), make([]Use, 0, maxUses), make([]Use, 0, 2*maxUses)
	for _, p := range Entries(t, offer.PromptsList) {
		if !RequiresArguments(p) && len(u.Prompts) < maxUses {
			ask(&u.Prompts, "prompts/get", Use{Entry: p}, check.Params{"name": p.Get("name").Str})
		}
	}
	for _, r := range Entries(t, offer.ResourcesList) {
		uri := r.Get("uri").Str
		ask(&u.Resources, "resources/read", Use{Entry: r, URI: uri}, check.Params{"uri": uri})
	}
	f := SurveyCompletions(t)
	for i := range f.Prompts {
		p := &f.Prompts[i]
		ask(&u.Prompts, "prompts/get", Use{Entry: p.Entry, values: p},
			check.Params{"name": p.Entry.Get("name").Str, "arguments": p.arguments()})
	}
	for i := range f.templates {
		for _, uri := range f.templates[i].expansions() {
			ask(&u.Templates, "resources/read", Use{Entry: f.templates[i].Entry, values: &f.templates[i], URI: uri},
				check.Params{"uri": uri})
		}
	}
	until := time.Now().Add(t.Timeout() / 2)
	for _, w := range running {
		if w.of.Answer, w.of.Err = t.TryAnswer(w.call, time.Until(until)).Get(); w.of.Err == nil {
			w.of.Answer, w.of.Err = t.Client().Continue(w.call.Method, w.of.Params, w.of.Answer).Get()
		}
		if w.of.Err != nil && t.Over() == nil {
			check.SetTrait(t, slowMethod(w.call.Method))
			t.Cancel(w.call)
		}
	}
	return u
}

// RequiresArguments reports whether a prompt has a required argument.
func RequiresArguments(prompt gjson.Result) bool {
	return slices.ContainsFunc(prompt.Get("arguments").Array(), func(arg gjson.Result) bool {
		return arg.Get("required").Bool()
	})
}

// slowMethod returns the trait of a server that took too long to answer a method.
func slowMethod(method string) check.Trait { return check.Trait("slow " + method) }
