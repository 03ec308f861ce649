package versioning

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges are the judges of basic/lifecycle#version-negotiation.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.versioning.offer",
			Says:  "the client goes on with the version that it offered itself",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"versioning-client-sends-supported"},
			Judge: func(j *check.J) {
				ask, answer, ok := transcript.FindOpening(j.Entries())
				if !ok || answer.Message.Kind != wire.Result || offered(ask.Message) != transcript.ChosenVersion(answer.Message) {
					return
				}
				switch {
				case transcript.WentOn(j.Entries(), answer.Index):
					j.Saw()
				case j.Ending() != nil && !j.Ending().Asked:
					j.Fail(answer, "the client left when the server agreed to %s, which it had offered: %s", offered(ask.Message), j.Ending().What)
				}
			},
		},
		{
			ID:    "client.versioning.offer.latest",
			Says:  "the version that the client offers is the latest that it speaks",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"versioning-client-sends-latest"},
			// offerLatest objects where the client went on with a later version than it
			// had offered. It is kept where there is no later one, or where the client
			// left such a server.
			Judge: func(j *check.J) {
				ask, answer, ok := transcript.FindOpening(j.Entries())
				if !ok || answer.Message.Kind != wire.Result {
					return
				}
				rank := func(version string) int { return slices.Index(spec.Handshake.Revisions(), spec.Revision(version)) }
				had, got := rank(offered(ask.Message)), rank(transcript.ChosenVersion(answer.Message))
				switch {
				case had < 0 || got < 0:
				case got > had && transcript.WentOn(j.Entries(), answer.Index):
					j.Fail(ask, "the client offered %s and went on with %s", offered(ask.Message), transcript.ChosenVersion(answer.Message))
				case got > had || offered(ask.Message) == string(spec.Handshake.Newest()):
					j.Saw()
				}
			},
		},
		{
			ID:    "client.versioning.unknown.stops",
			Says:  "the client does not go on with a version that it cannot know",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"versioning-client-disconnect-schema"},
			Judge: func(j *check.J) {
				_, answer, ok := transcript.FindOpening(j.Entries())
				if !ok || !transcript.NamesImpossibleVersion(answer.Message) {
					return
				}
				for _, e := range j.Sent() {
					m := e.Message
					if e.Index > answer.Index && (m.Kind == wire.Request || m.Method() == "notifications/initialized") {
						j.Fail(e, "the client went on with %s: it sent a %s", transcript.ChosenVersion(answer.Message), m.Summary())
						return
					}
				}
				if j.Ending() != nil {
					j.Saw()
				}
			},
		},
		{
			ID:    "client.versioning.unknown.disconnects",
			Says:  "the client disconnects from a server whose version it cannot know",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"versioning-client-disconnect"},
			// unknownDisconnects judges clients that stopped; one that went on has its own
			// check.
			Judge: func(j *check.J) {
				_, answer, ok := transcript.FindOpening(j.Entries())
				switch end := j.Ending(); {
				case !ok || !transcript.NamesImpossibleVersion(answer.Message) || end == nil || transcript.WentOn(j.Entries(), answer.Index):
				case end.Asked && !connected(j):
					// Over HTTP a client that says no more and listens to nothing has left,
					// whatever its process does.
				case end.Asked:
					j.Fail(answer, "the client stayed connected until it was ended")
				default:
					j.Saw()
				}
			},
		},
	}
}

func offered(m wire.Message) string { return m.Params().Get("protocolVersion").String() }

// connected tells whether the client was connected at the end of the session: over
// HTTP, whether a stream was open that it had asked for.
func connected(j *check.J) bool {
	streams := map[int]bool{}
	for _, f := range j.Frames() {
		switch {
		case f.HTTP == nil:
			return true
		case f.From == wire.Client && f.HTTP.Method == http.MethodGet:
			streams[f.HTTP.Exchange] = true
		case f.HTTP.End != "" || f.HTTP.Status >= http.StatusBadRequest:
			delete(streams, f.HTTP.Exchange)
		}
	}
	return len(streams) > 0
}
