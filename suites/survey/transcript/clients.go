package transcript

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func Identity(m wire.Message, member, key string) gjson.Result {
	if m.Method() == "initialize" {
		return m.Params().Get(member)
	}
	return wire.Member(m.Params().Get("_meta"), key)
}

// ServerRequests returns the requests of the server with a usable id, each with the
// client's first response to it, if there is one.
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

// IsOverdue tells whether an answer to a frame was waited for as long as answers
// are: the session went on for that long, and the client was not ended by us
// before.
func IsOverdue(j *check.J, ask wire.Entry) bool {
	end := ask.At
	if j.Ending() != nil && !j.Ending().Requested {
		end = j.Ending().At
	}
	for _, e := range j.Entries() {
		end = max(end, e.At)
	}
	return end-ask.At >= j.Due()
}

// StatelessRequests returns the requests of the stateless era: all but those of a
// handshake that a client went on with, and notifications that carry an id:
// both have checks of their own.
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

func MetaField(m wire.Message, key string) gjson.Result {
	return wire.Member(m.Params().Get("_meta"), key)
}

func ChosenVersion(m wire.Message) string { return m.Result().Get("protocolVersion").String() }

// NamesImpossibleVersion tells whether an answer to initialize names the version that no
// client can know. Another unpublished one may be a draft that both know.
func NamesImpossibleVersion(answer wire.Message) bool {
	return ChosenVersion(answer) == spec.FutureVersion
}
