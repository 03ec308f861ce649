package invariant

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/tidwall/gjson"
)

// messages are the judges of basic/index#messages (basic/messages in
// 2024-11-05): the shape of what is sent.
func messages() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.version",
			Says:  `every message has a jsonrpc member that is the string "2.0"`,
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-version-literal"},
			Judge: misfit("jsonrpc"),
		},
		{
			ID:    "jsonrpc.response.id",
			Says:  "a response carries the id of a request, with its type and value",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-response-id-match", "jsonrpc-response-id-type-preserved"},
			Judge: responseID,
		},
		{
			ID:    "jsonrpc.result.object",
			Says:  "the result of a response is an object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-result-object"},
			Judge: resultObject,
		},
	}
}

// misfit judges one member of the envelope of every message.
func misfit(member string) func(*check.J) {
	return func(j *check.J) {
		for _, e := range j.Sent() {
			switch m := e.Message; {
			case m.Misfit != nil && m.Misfit.Member == member:
				j.Fail(e, "%s", m.Misfit.What)
			case m.Kind != wire.Invalid:
				j.Saw()
			}
		}
	}
}

// responseID judges responses with an id against the requests before them. An
// error without usable id answers what could not be read.
func responseID(j *check.J) {
	for _, e := range j.Sent() {
		m := e.Message
		if !m.IsResponse() || !m.ID().Present() || m.ID().Null() {
			continue
		}
		if _, ok := j.RequestOf(e); !ok {
			j.Fail(e, "the %s carries id %s, which no request had", m.Kind, m.ID())
			continue
		}
		j.Saw()
	}
}

func resultObject(j *check.J) {
	for _, e := range j.Sent() {
		switch m := e.Message; {
		case m.Kind != wire.Result:
		case !m.Result().IsObject():
			j.Fail(e, "the result is %s, not an object", wire.TypeName(m.Result()))
		case m.Result().Type == gjson.JSON:
			j.Saw()
		}
	}
}
