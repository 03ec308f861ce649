package transcript

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// PeerInfo returns what a request says about its client: a member of the params of
// initialize, or the key of _meta in another request.
func PeerInfo(m wire.Message, member, key string) gjson.Result {
	if m.Method() == "initialize" {
		return m.Params().Get(member)
	}
	return wire.Member(m.Params().Get("_meta"), key)
}

// ServerRequests returns the requests of the server that have a valid id, each with the
// client's first response to it, which is the zero entry if there is none.
func ServerRequests(j *check.J) (asks, answers []wire.Entry) {
	for _, e := range j.Received() {
		if e.Message.Kind != wire.Request || !e.Message.ID().IsValid() {
			continue
		}
		var answer wire.Entry
		for _, r := range j.Sent() {
			if r.Index > e.Index && r.Message.IsResponse() && r.Message.ID().Equal(e.Message.ID()) {
				answer = r
				break
			}
		}
		asks, answers = append(asks, e), append(answers, answer)
	}
	return asks, answers
}

// IsOverdue reports whether the session went on after a request for as long as answers
// are awaited, and we did not end the client before.
func IsOverdue(j *check.J, ask wire.Entry) bool {
	end := ask.At
	if j.Ending() != nil && !j.Ending().Requested {
		end = j.Ending().At
	}
	for _, e := range j.Entries() {
		end = max(end, e.At)
	}
	return end-ask.At >= j.AnswerTimeout()
}

// StatelessRequests returns the requests of the stateless era. It leaves out those
// after an initialize, and notifications with an id: both have checks of their own.
func StatelessRequests(j *check.J) []wire.Entry {
	sent := j.Sent()
	for i, e := range sent {
		if e.Message.Method() == "initialize" {
			sent = sent[:i]
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(sent), func(e wire.Entry) bool {
		return e.Message.Kind != wire.Request || strings.HasPrefix(e.Message.Method(), "notifications/")
	})
}

// MetaMember returns a member of the _meta of a request.
func MetaMember(m wire.Message, key string) gjson.Result {
	return wire.Member(m.Params().Get("_meta"), key)
}

// ChosenVersion returns the protocol version in an answer to initialize.
func ChosenVersion(m wire.Message) string { return m.Result().Get("protocolVersion").String() }

// NamesImpossibleVersion reports whether an answer to initialize names the version that
// no client can know. Another unpublished version may be a draft that both sides know.
func NamesImpossibleVersion(answer wire.Message) bool {
	return ChosenVersion(answer) == spec.FutureVersion
}
