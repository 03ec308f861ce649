package server

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Tour asks a server for what it offers and uses what manners allow, so that
// judges have something to look at whichever probes were selected. It judges
// nothing itself, and what a probe has asked before is not asked again.
func Tour() check.Check {
	return defaults([]check.Check{{
		ID:    "tour",
		Says:  "what the server offers is looked at",
		Level: spec.Robust,
		In:    spec.Every,
		Probe: tour,
	}})[0]
}

// PlainTour uses the tools again as a client that declares no capability, where
// the server was seen to ask its client for something: then it has to do
// without.
func PlainTour() check.Check {
	return defaults([]check.Check{{
		ID:    "tour.plain",
		Says:  "what the server offers is looked at by a client without capabilities",
		Level: spec.Robust,
		In:    spec.Handshake,
		Plain: true,
		Probe: plainTour,
	}})[0]
}

func plainTour(t *check.T) {
	if asking, ok := check.Recall[[]asker](t, "askers"); ok && len(asking) > 0 {
		calledUnwatched(t)
	}
}

func tour(t *check.T) {
	for _, l := range listings(t) {
		walked(t, l)
	}
	askers(t) // before anything is cancelled: what asks is known by what is open
	if t.Declares("tools") {
		called(t)
		logged(t)
		worked(t)
	}
	shown(t)
	check.Memo(t, "used as given", func() int { return usedAsGiven(t) })
	besideSubscription(t)
	rewatched(t)
	check.Memo(t, "sparing", func() bool { sparingTour(t); return true })
}

// maxShown bounds the prompts that are got and the resources that are read, of
// each kind.
const maxShown = 12

// A use is what came of reading a resource or getting a prompt that the server
// offers.
type use struct {
	entry  gjson.Result // of the list
	filled *filling     // nil where nothing was to be filled in
	uri    string       // that was read
	answer wire.Entry
	err    error
}

// uses is what came of using what the server shows.
type uses struct {
	prompts, resources, templates []use
	frames                        []wire.Entry
}

// shown gets prompts and reads resources, those of templates too: none of that
// changes anything (server/prompts, server/resources). All are asked for at
// once, once at this revision; what does not come soon is cancelled, and its
// kind not asked for again.
func shown(t *check.T) *uses {
	return check.Memo(t, "shown", func() *uses { return show(t) })
}

func show(t *check.T) *uses {
	u := &uses{}
	from := t.Len()
	defer func() { u.frames = t.Frames(from) }()
	type waiting struct {
		call   *check.Call
		params check.Params
		of     *use
	}
	var running []waiting
	ask := func(into *[]use, method string, one use, params check.Params) {
		if len(*into) == cap(*into) || t.Learnt("slow "+method) {
			return
		}
		if call, err := t.TryStart(method, params); err == nil {
			*into = append(*into, one)
			running = append(running, waiting{call, params, &(*into)[len(*into)-1]})
		}
	}
	u.prompts, u.resources, u.templates = make([]use, 0, 2*maxShown), make([]use, 0, maxShown), make([]use, 0, 2*maxShown)
	for _, p := range knownEntries(t, promptsList) {
		if !requiresArguments(p) && len(u.prompts) < maxShown {
			ask(&u.prompts, "prompts/get", use{entry: p}, check.Params{"name": p.Get("name").Str})
		}
	}
	for _, r := range knownEntries(t, resourcesList) {
		uri := r.Get("uri").Str
		ask(&u.resources, "resources/read", use{entry: r, uri: uri}, check.Params{"uri": uri})
	}
	f := fillings(t)
	for i := range f.prompts {
		p := &f.prompts[i]
		ask(&u.prompts, "prompts/get", use{entry: p.entry, filled: p}, check.Params{"name": p.entry.Get("name").Str, "arguments": p.arguments()})
	}
	for i := range f.templates {
		for _, uri := range f.templates[i].expansions() {
			ask(&u.templates, "resources/read", use{entry: f.templates[i].entry, filled: &f.templates[i], uri: uri}, check.Params{"uri": uri})
		}
	}
	until := time.Now().Add(t.Timeout() / 2)
	for _, w := range running {
		if w.of.answer, w.of.err = t.TryAnswer(w.call, time.Until(until)); w.of.err == nil {
			w.of.answer, w.of.err = t.TryRounds(w.call.Method, w.params, w.of.answer)
		}
		if w.of.err != nil {
			t.Learn("slow " + w.call.Method)
			t.Cancel(w.call)
		}
	}
	return u
}

func requiresArguments(prompt gjson.Result) bool {
	return slices.ContainsFunc(prompt.Get("arguments").Array(), func(arg gjson.Result) bool { return arg.Get("required").Bool() })
}

// expansions returns the URIs of a template under its values.
func (f filling) expansions() []string {
	var out []string
	for _, values := range f.values {
		if uri, ok := f.expand(values); ok && !slices.Contains(out, uri) {
			out = append(out, uri)
		}
	}
	return out
}
