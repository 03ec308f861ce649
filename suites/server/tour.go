package server

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
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
	if asked, ok := check.Recall[bool](t, "asks"); ok && asked {
		callTools(t)
	}
}

func tour(t *check.T) {
	for _, l := range listings(t) {
		walked(t, l)
	}
	if t.Declares("tools") {
		called(t)
	}
	check.Memo(t, "shown", func() int { return shown(t) })
	check.Memo(t, "asks", func() bool { return len(t.Asks(0)) > 0 })
}

// maxShown bounds the prompts that are got and the resources that are read, of
// each kind.
const maxShown = 12

// shown gets prompts that need no arguments, and reads resources: neither
// changes anything (server/prompts, server/resources). All are asked for at
// once; what does not come soon is cancelled, and its kind not asked for again.
// It returns how many answers came.
func shown(t *check.T) (answers int) {
	var running []*check.Call
	var params []check.Params
	ask := func(l listing, method string, ready func(entry gjson.Result) bool) {
		if !t.Declares(l.capability) || t.Learnt("slow "+method) {
			return
		}
		n := 0
		for _, entry := range walked(t, l).items() {
			name := entry.Get(l.key)
			if n == maxShown || name.Type != gjson.String || !ready(entry) {
				continue
			}
			n++
			p := check.Params{l.key: name.Str}
			if r, err := t.TryStart(method, p); err == nil {
				running, params = append(running, r), append(params, p)
			}
		}
	}
	ask(promptsList, "prompts/get", func(prompt gjson.Result) bool {
		return !slices.ContainsFunc(prompt.Get("arguments").Array(), func(arg gjson.Result) bool { return arg.Get("required").Bool() })
	})
	ask(resourcesList, "resources/read", func(gjson.Result) bool { return true })
	until := time.Now().Add(t.Timeout() / 2)
	for i, r := range running {
		e, err := t.TryAnswer(r, time.Until(until))
		if err == nil {
			_, err = t.TryRounds(r.Method, params[i], e)
		}
		if err != nil {
			t.Learn("slow " + r.Method)
			cancel(t, r)
			continue
		}
		answers++
	}
	return answers
}
