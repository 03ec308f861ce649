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

func tour(t *check.T) {
	for _, l := range listings(t) {
		walked(t, l)
	}
	if t.Declares("tools") {
		called(t)
	}
	check.Memo(t, "shown", func() int { return shown(t) })
	check.Memo(t, "used as given", func() int { return used(t) })
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
			if r, err := t.TryStart(method, check.Params{l.key: name.Str}); err == nil {
				running = append(running, r)
			}
		}
	}
	ask(promptsList, "prompts/get", func(prompt gjson.Result) bool {
		return !slices.ContainsFunc(prompt.Get("arguments").Array(), func(arg gjson.Result) bool { return arg.Get("required").Bool() })
	})
	ask(resourcesList, "resources/read", func(gjson.Result) bool { return true })
	until := time.Now().Add(t.Timeout() / 2)
	for _, r := range running {
		if _, err := t.TryAnswer(r, time.Until(until)); err != nil {
			t.Learn("slow " + r.Method)
			cancel(t, r)
			continue
		}
		answers++
	}
	return answers
}
