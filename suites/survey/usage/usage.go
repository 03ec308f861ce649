package usage

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// maxUses bounds the prompts that are got and the resources that are read, of
// each kind.
const maxUses = 12

// A Use is what came of reading a resource or getting a prompt that the server
// offers.
type Use struct {
	Entry  gjson.Result // of the list
	filled *Filling     // nil where nothing was to be filled in
	Uri    string       // that was read
	Answer wire.Entry
	Err    error
}

// Uses is what came of using what the server shows.
type Uses struct {
	prompts, Resources, Templates []Use
	Frames                        []wire.Entry
}

var shownKey = check.NewKey[*Uses]("shown")

// Used gets prompts and reads resources, those of templates too: none of that
// changes anything (server/prompts, server/resources). All are asked for at
// once, once at this revision; what does not come soon is cancelled, and its
// kind not asked for again.
func Used(t *check.T) *Uses {
	return check.Once(t, shownKey, func() *Uses { return usePromptsAndResources(t) })
}

func usePromptsAndResources(t *check.T) *Uses {
	u := &Uses{}
	from := t.Len()
	defer func() { u.Frames = t.Frames(from) }()
	type waiting struct {
		call   *check.Call
		params check.Params
		of     *Use
	}
	var running []waiting
	ask := func(into *[]Use, method string, one Use, params check.Params) {
		if len(*into) == cap(*into) || check.Has(t, slowMethod(method)) {
			return
		}
		if call, err := t.TryStart(method, params); err == nil {
			*into = append(*into, one)
			running = append(running, waiting{call, params, &(*into)[len(*into)-1]})
		}
	}
	u.prompts, u.Resources, u.Templates = make([]Use, 0, 2*maxUses), make([]Use, 0, maxUses), make([]Use, 0, 2*maxUses)
	for _, p := range Entries(t, offer.PromptsList) {
		if !RequiresArguments(p) && len(u.prompts) < maxUses {
			ask(&u.prompts, "prompts/get", Use{Entry: p}, check.Params{"name": p.Get("name").Str})
		}
	}
	for _, r := range Entries(t, offer.ResourcesList) {
		uri := r.Get("uri").Str
		ask(&u.Resources, "resources/read", Use{Entry: r, Uri: uri}, check.Params{"uri": uri})
	}
	f := Fillings(t)
	for i := range f.Prompts {
		p := &f.Prompts[i]
		ask(&u.prompts, "prompts/get", Use{Entry: p.Entry, filled: p},
			check.Params{"name": p.Entry.Get("name").Str, "arguments": p.arguments()})
	}
	for i := range f.templates {
		for _, uri := range f.templates[i].expansions() {
			ask(&u.Templates, "resources/read", Use{Entry: f.templates[i].Entry, filled: &f.templates[i], Uri: uri},
				check.Params{"uri": uri})
		}
	}
	until := time.Now().Add(t.Timeout() / 2)
	for _, w := range running {
		if w.of.Answer, w.of.Err = t.TryAnswer(w.call, time.Until(until)).Get(); w.of.Err == nil {
			w.of.Answer, w.of.Err = t.Client().Continue(w.call.Method, w.params, w.of.Answer).Get()
		}
		if w.of.Err != nil {
			check.Learn(t, slowMethod(w.call.Method))
			t.Cancel(w.call)
		}
	}
	return u
}

func RequiresArguments(prompt gjson.Result) bool {
	return slices.ContainsFunc(prompt.Get("arguments").Array(), func(arg gjson.Result) bool {
		return arg.Get("required").Bool()
	})
}

// slowMethod is the trait of a server that took too long to answer a method.
func slowMethod(method string) check.Trait { return check.Trait("slow " + method) }
