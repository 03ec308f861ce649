package jsonrpc

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// noResponse is why judges of responses are not observed.
const noResponse = "no response was sent"

// responseJudges returns the judges of responses.
func responseJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.response.id",
			Says:  "a response carries the id of a request, with its type and value",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-response-id-match", "jsonrpc-response-id-type-preserved"},
			Idle:  "no response to a request was sent",
			Hint:  expect.HintReply,
			// An error without a usable id answers what could not be read. Where such was
			// sent, jsonrpc.error.id.unreadable judges an error with another id.
			// jsonrpc.id.large judges the answer to an id beyond 2^53.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					switch {
					case !m.IsResponse() || m.Kind == wire.Error && check.HasNoID(m):
					case check.HasNoID(m):
						j.Fail(e, "a result carries %s", m.ID())
					case j.HasRequest(e):
						j.Saw()
					case answersResponse(j, e), answersLargeID(j, e), answersFraction(j, e): // other checks judge it
					case m.Kind == wire.Result && !mayAnswerUnreadable(j, e) || !j.HasUnreadableBefore(e):
						whose := "no request had"
						if j.IsForeign(e) {
							whose = "a request of another session had"
						}
						j.Fail(e, "the %s carries id %s, which %s", m.Kind, wire.Clip(m.ID().String(), 80), whose)
					}
				}
			},
		},
		{
			ID:    "jsonrpc.response.once",
			Says:  "no request is answered twice",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-every-request-answered"},
			Idle:  "no response to a request was sent",
			Hint:  expect.HintReply,
			// The requests of an id are counted, since a third-party client may use an id
			// again.
			Judge: func(j *check.J) {
				open := map[string]int{}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						key := m.ID().Key()
						asked, known := open[key]
						switch {
						case e.From != j.Of && !m.IsResponse():
							for _, id := range allIDs(m) {
								open[id.Key()]++
							}
						case key == "" || m.ID().IsNull() || e.From != j.Of || !m.IsResponse():
						case !known: // jsonrpc.response.id judges an id that no request had
						case asked == 0 && j.MatchesInvalidJSON(e): // it may answer what could not be read
						case asked == 0:
							j.Fail(e, "the request with id %s was answered before", m.ID())
						default:
							open[key]--
							j.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "jsonrpc.response.member",
			Says:  "a response has a result or an error",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-response-result-or-error", "jsonrpc-result-member"},
			Idle:  noResponse,
			Hint:  expect.HintReply,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if isBareResponse(e.Message) {
						j.Fail(e, "the response to id %s has neither result nor error", e.Message.ID())
					}
					return e.Message.IsResponse()
				})
			},
		},
		{
			ID:    "jsonrpc.response.not-both",
			Says:  "a response does not have both result and error",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-response-not-both"},
			Idle:  noResponse,
			Hint:  expect.HintReply,
			Judge: func(j *check.J) { judgeMember(j, "result", wire.Message.IsResponse) },
		},
		{
			ID:    "jsonrpc.result.object",
			Says:  "the result of a response is an object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-result-object"},
			Idle:  "no result was sent",
			Hint:  expect.HintReply,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if e.Message.Kind != wire.Result {
						return false
					}
					if result := e.Message.Result(); !result.IsObject() {
						j.Fail(e, "the result is %s, not an object", wire.TypeName(result))
					}
					return true
				})
			},
		},
	}
}

// answersResponse reports whether a response before this one, from the other side, has
// its id, and no request has.
func answersResponse(j *check.J, answer wire.Entry) bool {
	return slices.ContainsFunc(j.EntriesBefore(answer), func(e wire.Entry) bool {
		return e.From != j.Of && e.Message.IsResponse() && e.Message.ID().Equal(answer.Message.ID())
	})
}

// allIDs returns the ids of a message: either of a duplicate member may count.
func allIDs(m wire.Message) (ids []wire.ID) {
	m.Value().ForEach(func(k, v gjson.Result) bool {
		if k.String() == "id" {
			ids = append(ids, wire.ID{Raw: v.Raw})
		}
		return true
	})
	return ids
}

// mayAnswerUnreadable reports whether the request of an answer may stand in a line
// before it that is no JSON or no UTF-8. No clause is about what a reader makes of such
// a line, such as one that replaces invalid bytes.
func mayAnswerUnreadable(j *check.J, answer wire.Entry) bool {
	id := answer.Message.ID()
	for _, e := range j.EntriesBefore(answer) {
		if e.From == j.Of || e.Message.SyntaxError == nil {
			continue
		}
		if strings.Contains(string(e.Raw), id.Raw) || strings.Contains(id.Key(), "\ufffd") {
			return true
		}
	}
	return false
}

// answersFraction reports whether a response carries the id of a request before it that has
// a fraction, without the fraction.
func answersFraction(j *check.J, response wire.Entry) bool {
	return slices.ContainsFunc(j.Received(), func(e wire.Entry) bool {
		return e.Index < response.Index && isWithoutFraction(e.Message.ID(), response.Message.ID())
	})
}

// isWithoutFraction reports whether an id is an integer next to another, which has a
// fraction.
func isWithoutFraction(fraction, id wire.ID) bool {
	of, err := strconv.ParseFloat(fraction.Raw, 64)
	n, notInteger := strconv.ParseInt(id.Raw, 10, 64)
	return err == nil && notInteger == nil && of != math.Trunc(of) && math.Abs(of-float64(n)) < 1
}

// answersLargeID reports whether a response carries the id of a request before it that is
// beyond 2^53, as a reader of doubles holds it.
func answersLargeID(j *check.J, response wire.Entry) bool {
	return slices.ContainsFunc(j.Received(), func(e wire.Entry) bool {
		return e.Index < response.Index && e.Message.ID().RoundsTo(response.Message.ID())
	})
}
