package transcript

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// ErrorResponses returns the error responses of the judged side whose error is an
// object.
func ErrorResponses(j *check.J) []wire.Entry {
	return check.Derived(j, "error responses", func() []wire.Entry {
		return Filter(j.Sent(), func(e wire.Entry) bool {
			return e.Message.Kind == wire.Error && e.Message.Error().IsObject()
		})
	})
}

// AnswersLegacyRequest reports whether an error of a stateless revision answers a
// request without the metadata of that revision. A server of both eras may answer it by
// an earlier revision.
func AnswersLegacyRequest(j *check.J, e wire.Entry) bool {
	if !j.Facts.Stateless {
		return false
	}
	request, ok := j.RequestOf(e)
	return ok && wire.Member(request.Message.Params().Get("_meta"), spec.MetaProtocolVersion).Type != gjson.String
}

// SentRequests returns the requests of the judged side for a method.
func SentRequests(j *check.J, method string) []wire.Entry {
	return Filter(j.Sent(), func(e wire.Entry) bool {
		return e.Message.Kind == wire.Request && e.Message.Method() == method
	})
}

// ResultsOf returns the results of the judged side for requests of a method.
func ResultsOf(j *check.J, method string) []wire.Entry {
	return check.Derived(j, "sent results", func() map[string][]wire.Entry { return resultsIn(j, j.Sent()) })[method]
}

// SawResults counts each result of the judged side for a request of a method as evidence.
func SawResults(j *check.J, method string) {
	for range ResultsOf(j, method) {
		j.Saw()
	}
}

// ReceivedResultsOf returns the results that the judged side received for requests of a
// method.
func ReceivedResultsOf(j *check.J, method string) []wire.Entry {
	return check.Derived(j, "received results", func() map[string][]wire.Entry {
		return resultsIn(j, j.Received())
	})[method]
}

// resultsIn returns the results among messages, by the method of the request.
func resultsIn(j *check.J, messages []wire.Entry) map[string][]wire.Entry {
	out := map[string][]wire.Entry{}
	for _, e := range messages {
		if request, ok := j.RequestOf(e); ok && e.Message.Kind == wire.Result {
			method := request.Message.Method()
			out[method] = append(out[method], e)
		}
	}
	return out
}

// MayRequestInput reports whether results of a method may request input
// (basic/patterns/mrtr#supported-requests).
func MayRequestInput(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return false
}

// OpeningMethod is the method whose result declares capabilities.
func OpeningMethod(j *check.J) string {
	if j.Facts.Stateless {
		return "server/discover"
	}
	return "initialize"
}

// CapabilityFor returns the client capability that a request of the server needs, or
// "".
func CapabilityFor(method string) string {
	switch {
	case method == "roots/list":
		return "roots"
	case method == "sampling/createMessage":
		return "sampling"
	case method == "elicitation/create":
		return "elicitation"
	case strings.HasPrefix(method, "tasks/"):
		return "tasks"
	}
	return ""
}

// An Answered is a complete result with the request that it answers.
type Answered struct {
	Answer  wire.Entry
	Request wire.Message
	Result  gjson.Result
}

// Results returns the complete results of a method. It leaves out results of another
// type (basic/index#resulttype, since 2026-07-28), which the page of the method does
// not describe, and answers to requests that name another revision.
func Results(j *check.J, method string) []Answered {
	return check.Derived(j, "results by method", func() map[string][]Answered { return resultsByMethod(j) })[method]
}

func resultsByMethod(j *check.J) map[string][]Answered {
	out := map[string][]Answered{}
	for _, e := range j.Sent() {
		result := e.Message.Result()
		if e.Message.Kind != wire.Result || !result.IsObject() {
			continue
		}
		request, ok := j.RequestOf(e)
		if !ok || request.Message.Kind != wire.Request {
			continue
		}
		if named := wire.Member(request.Message.Params().Get("_meta"), spec.MetaProtocolVersion); named.Exists() &&
			named.String() != string(j.Rev) {
			continue
		}
		if kind := result.Get("resultType"); j.Facts.ResultType && kind.Exists() && kind.String() != "complete" {
			continue
		}
		method := request.Message.Method()
		out[method] = append(out[method], Answered{e, request.Message, result})
	}
	return out
}

// EqualJSON reports whether two JSON values are equal: members in any order, numbers by
// value.
func EqualJSON(a, b gjson.Result) bool {
	switch {
	case a.IsObject():
		if !b.IsObject() {
			return false
		}
		x, y := a.Map(), b.Map()
		if len(x) != len(y) {
			return false
		}
		for key, v := range x {
			if w, ok := y[key]; !ok || !EqualJSON(v, w) {
				return false
			}
		}
		return true
	case a.IsArray():
		if !b.IsArray() {
			return false
		}
		x, y := a.Array(), b.Array()
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !EqualJSON(x[i], y[i]) {
				return false
			}
		}
		return true
	case a.Type == gjson.Number:
		return b.Type == gjson.Number && wire.ID{Raw: a.Raw}.Equal(wire.ID{Raw: b.Raw})
	case a.Type == gjson.String:
		return b.Type == gjson.String && a.String() == b.String()
	}
	return a.Type == b.Type
}
