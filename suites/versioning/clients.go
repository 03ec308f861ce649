package versioning

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges returns the judges of clients of basic/lifecycle#version-negotiation.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "versioning.client.offer",
			Says:  "the client continues with the version that it offered",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"versioning-client-sends-supported"},
			Idle:  "the server did not agree to the version that the client offered",
			Hint:  "let the client offer a published version in initialize, and go on",
			Judge: func(j *check.J) {
				ask, answer, ok := transcript.FindInitialize(j.Entries())
				offered, chosen := offeredVersion(ask.Message), transcript.ChosenVersion(answer.Message)
				if !ok || answer.Message.Kind != wire.Result || offered != chosen {
					return
				}
				switch {
				case transcript.HasContinued(j.Entries(), answer.Index):
					j.Saw()
				case j.Ending() != nil && !j.Ending().Requested:
					j.Fail(answer, "the client left when the server agreed to %s, which it had offered: %s",
						offered, j.Ending().Reason)
				}
			},
		},
		{
			ID:    "versioning.client.offer.latest",
			Says:  "the client offers the latest version that it supports",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"versioning-client-sends-latest"},
			Idle:  "the server chose no later version than the one that the client offered",
			Hint:  "let the client offer a published version in initialize, and go on",
			// A client that continues with a later version than it offered supports that one.
			// There is evidence where no version is later than the one offered, and where the
			// client leaves a server that chooses a later one.
			Judge: func(j *check.J) {
				ask, answer, ok := transcript.FindInitialize(j.Entries())
				if !ok || answer.Message.Kind != wire.Result {
					return
				}
				offered, chosen := offeredVersion(ask.Message), transcript.ChosenVersion(answer.Message)
				rankOffered, rankChosen := rank(offered), rank(chosen)
				switch {
				case rankOffered < 0 || rankChosen < 0:
				case rankChosen > rankOffered && transcript.HasContinued(j.Entries(), answer.Index):
					j.Fail(ask, "the client offered %s and continued with %s", offered, chosen)
				case rankChosen > rankOffered || offered == string(spec.Handshake.Newest()):
					j.Saw()
				}
			},
		},
		{
			ID:    "versioning.client.unknown.stops",
			Says:  "the client does not continue with a version that it cannot know",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"versioning-client-disconnect-schema"},
			Idle:  "the server chose no version that a client cannot know",
			Hint:  "let the client stay connected until initialize is answered",
			Judge: func(j *check.J) {
				_, answer, ok := transcript.FindInitialize(j.Entries())
				if !ok || !transcript.NamesImpossibleVersion(answer.Message) {
					return
				}
				for _, e := range j.Sent() {
					m := e.Message
					if e.Index > answer.Index && (m.Kind == wire.Request || m.Method() == "notifications/initialized") {
						j.Fail(e, "the client continued with %s: it sent a %s",
							transcript.ChosenVersion(answer.Message), m.Summary())
						return
					}
				}
				if j.Ending() != nil {
					j.Saw()
				}
			},
		},
		{
			ID:    "versioning.client.unknown.disconnects",
			Says:  "the client disconnects from a server that chooses a version which the client cannot know",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"versioning-client-disconnect"},
			Idle:  "the client did not stop at a version that it cannot know",
			Hint:  "let the client disconnect when the server chooses a version that it does not know",
			// versioning.client.unknown.stops judges a client that continues. Over HTTP a
			// client that sends nothing and has no stream open has left, whether its process
			// runs or not.
			Judge: func(j *check.J) {
				_, answer, ok := transcript.FindInitialize(j.Entries())
				end := j.Ending()
				if !ok || !transcript.NamesImpossibleVersion(answer.Message) || end == nil {
					return
				}
				switch {
				case transcript.HasContinued(j.Entries(), answer.Index):
				case end.Requested && !isConnected(j):
				case end.Requested:
					j.Fail(answer, "the client stayed connected until it was ended")
				default:
					j.Saw()
				}
			},
		},
	}
}

// offeredVersion returns the version in an initialize request.
func offeredVersion(m wire.Message) string { return m.Params().Get("protocolVersion").String() }

// rank returns the place of a version among the handshake revisions, or -1.
func rank(version string) int {
	return slices.Index(spec.Handshake.Revisions(), spec.Revision(version))
}

// isConnected reports whether the client was connected at the end of the session: over
// HTTP, whether a stream was open that it had requested by GET.
func isConnected(j *check.J) bool {
	streams := map[int]bool{}
	for _, f := range j.Frames() {
		switch {
		case f.HTTP == nil:
			return true
		case f.From == wire.Client && f.HTTP.Method == http.MethodGet:
			streams[f.HTTP.Exchange] = true
		case f.HTTP.EndReason != "" || f.HTTP.Status >= http.StatusBadRequest:
			delete(streams, f.HTTP.Exchange)
		}
	}
	return len(streams) > 0
}
