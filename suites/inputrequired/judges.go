package inputrequired

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why judges are not observed, and what helps.
const (
	noInterim    = "the server sent no input_required result"
	noRequests   = "no input_required result has inputRequests"
	requestInput = "offer a read-only tool that returns an input_required result" + check.OrAllow
)

// judges returns the judges of input_required results (basic/patterns/mrtr). Other
// checks judge the input requests by their methods, that the client declared them
// (lifecycle.input.declared), and that the method may have such a result and that it
// requests something (jsonrpc.result-type.complete).
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "input-required.result.shape",
			Says:  "the inputRequests of an input_required result are an object, and its requestState is a string",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-result-shape"},
			Idle:  noInterim,
			Hint:  requestInput,
			Judge: func(j *check.J) {
				elsewhere := []string{"/inputRequests/*/**"}
				check.Each(j, interimResults(j), func(s transcript.Message) bool {
					for _, v := range schema.For(j.Rev).Validate(s.Definition, []byte(s.Body.Raw)) {
						place := v.Pointer()
						if !transcript.PointerMatches(place, transcript.CommonPlaces) &&
							!transcript.PointerMatches(place, elsewhere) {
							j.Fail(s.Entry, "%s: %s", s.Name, v)
							break
						}
					}
					return true
				})
			},
		},
		{
			ID:    "input-required.input.kinds",
			Says:  "each of the inputRequests is an elicitation/create, sampling/createMessage or roots/list",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-input-request-kinds"},
			Idle:  noRequests,
			Hint:  requestInput,
			Judge: func(j *check.J) {
				for _, s := range interimResults(j) {
					entries := (transcript.Part{Value: s.Body}).Member("inputRequests").Members()
					check.Each(j, entries, func(entry transcript.Part) bool {
						method := entry.Value.Get("method")
						switch def, _ := schema.For(j.Rev).InputDefinitions(method.String()); {
						case !entry.Value.IsObject():
							j.Fail(s.Entry, "%s: %s is %s, not a request", s.Name, entry.Pointer,
								wire.TypeName(entry.Value))
						case def == "":
							j.Fail(s.Entry, "%s: %s/method is %s, which a server cannot request of a client",
								s.Name, entry.Pointer, wire.Clip(method.Raw, 80))
						}
						return true
					})
				}
			},
		},
		{
			ID:    "input-required.input.keys",
			Says:  "no two of the inputRequests have the same key",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-input-request-keys-unique"},
			Idle:  noRequests,
			Hint:  requestInput,
			Judge: func(j *check.J) {
				check.Each(j, interimResults(j), func(s transcript.Message) bool {
					for _, duplicate := range s.Message.DuplicateKeys {
						key, ok := strings.CutPrefix(duplicate, "/result/inputRequests/")
						if ok && !strings.Contains(key, "/") {
							j.Fail(s.Entry, "%s has two inputRequests with the key %q", s.Name, wire.Clip(key, 80))
							break
						}
					}
					return s.Body.Get("inputRequests").IsObject()
				})
			},
		},
	}
}

// interimResults returns the input_required results of methods that may have them.
func interimResults(j *check.J) []transcript.Message {
	return transcript.Filter(transcript.Messages(j), func(s transcript.Message) bool {
		return s.Definition == "InputRequiredResult"
	})
}
