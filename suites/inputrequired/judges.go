package inputrequired

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of basic/patterns/mrtr: of the results by which a server
// asks for input. What it asks for is judged as such; that it was declared, by
// lifecycle.input.declared; that the method may have such a result, and that it asks for something,
// by jsonrpc.result-type.complete.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "mrtr.result.shape",
			Says:  "the inputRequests of an input_required result are an object, its requestState is a string",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-result-shape"},
			// interimShape leaves the inputRequests themselves to the judges of their
			// kinds and methods.
			Judge: func(j *check.J) {
				eachInterim(j, func(s transcript.Message) {
					for _, v := range schema.For(j.Rev).Validate(s.Definition, []byte(s.Body.Raw)) {
						if !transcript.PointerMatches(v.Place(), transcript.CommonPlaces) && !transcript.PointerMatches(v.Place(), []string{"/inputRequests/*/**"}) {
							j.Fail(s.Entry, "%s: %s", s.Name, v)
							return
						}
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "mrtr.input.kinds",
			Says:  "each of the inputRequests is an elicitation/create, sampling/createMessage or roots/list",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-input-request-kinds"},
			Judge: func(j *check.J) {
				eachInterim(j, func(s transcript.Message) {
					for _, entry := range (transcript.Part{Value: s.Body}).Member("inputRequests").Members() {
						method := entry.Value.Get("method")
						switch def, _ := schema.For(j.Rev).Input(method.String()); {
						case !entry.Value.IsObject():
							j.Fail(s.Entry, "%s: %s is %s, not a request", s.Name, entry.Pointer, wire.TypeName(entry.Value))
						case def == "":
							j.Fail(s.Entry, "%s: %s/method is %s, which is none that a client can be asked for", s.Name, entry.Pointer, wire.Clip(method.Raw, 80))
						default:
							j.Saw()
						}
					}
				})
			},
		},
		{
			ID:    "mrtr.input.keys",
			Says:  "no two of the inputRequests have the same key",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-input-request-keys-unique"},
			Judge: func(j *check.J) {
				eachInterim(j, func(s transcript.Message) {
					for _, twice := range s.Message.Duplicates {
						if key, ok := strings.CutPrefix(twice, "/result/inputRequests/"); ok && !strings.Contains(key, "/") {
							j.Fail(s.Entry, "%s has two inputRequests with the key %q", s.Name, wire.Clip(key, 80))
							return
						}
					}
					if s.Body.Get("inputRequests").IsObject() {
						j.Saw()
					}
				})
			},
		},
	}
}

// eachInterim gives the input_required results of methods that may have them.
func eachInterim(j *check.J, look func(s transcript.Message)) {
	transcript.EachMessage(j, func(s transcript.Message) {
		if s.Definition == "InputRequiredResult" {
			look(s)
		}
	})
}
