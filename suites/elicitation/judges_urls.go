package elicitation

import (
	"net/url"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// The reasons why several judges are not observed, and what helps.
const (
	noVisit    = "the server elicited nothing in URL mode"
	noComplete = "the server sent no notifications/elicitation/complete"
	offerVisit = "offer a read-only tool that elicits in URL mode" + check.OrAllow
)

// urlJudges returns the judges of elicitations in URL mode.
func urlJudges() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.url.valid",
			Says:  "the url of an elicitation is a valid URL",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"elicitation-url-valid"},
			Idle:  noVisit,
			Hint:  offerVisit,
			// elicitation.url.params judges a url that is no string.
			Judge: func(j *check.J) {
				check.Each(j, visits(j), func(a transcript.InputRequest) bool {
					v := a.Params().Value.Get("url")
					if v.Type != gjson.String {
						return false
					}
					if u, err := url.Parse(v.Str); err != nil || !u.IsAbs() || u.Host == "" && u.Opaque == "" &&
						u.Path == "" {
						j.Fail(a.Entry, "%s: the url is %q", a.Name, wire.Clip(v.Str, 120))
					}
					return true
				})
			},
		},
		{
			ID:    "elicitation.url.https",
			Says:  "the url of an elicitation has the scheme https, unless it is of the local machine",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"elicitation-url-https"},
			Idle:  noVisit,
			Hint:  offerVisit,
			// elicitation.url.valid judges a URL that is not valid.
			Judge: func(j *check.J) {
				check.Each(j, visits(j), func(a transcript.InputRequest) bool {
					u, err := url.Parse(a.Params().Value.Get("url").String())
					if err != nil || !u.IsAbs() {
						return false
					}
					isLocal := slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
					if u.Scheme == "http" && !isLocal {
						j.Fail(a.Entry, "%s sends the user to %s", a.Name, wire.Clip(u.String(), 120))
					}
					return true
				})
			},
		},
		{
			ID:    "elicitation.url.id.unique",
			Says:  "two elicitations with different URLs have different elicitationIds",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-id-unique"},
			Idle:  noVisit,
			Hint:  "elicit in URL mode with an elicitationId",
			// Two requests with the same URL may be the same elicitation, requested again.
			// elicitation.url.params judges an elicitationId that is no string.
			Judge: func(j *check.J) {
				urls := map[string]string{} // by elicitationId
				check.Each(j, visits(j), func(a transcript.InputRequest) bool {
					id, to := a.Params().Value.Get("elicitationId"), a.Params().Value.Get("url").String()
					if id.Type != gjson.String {
						return false
					}
					if before, ok := urls[id.Str]; ok && before != to {
						j.Fail(a.Entry, "%s has the elicitationId %q of an earlier elicitation with another URL",
							a.Name, wire.Clip(id.Str, 80))
						return true
					}
					urls[id.Str] = to
					return true
				})
			},
		},
	}
}

// completionJudges returns the judges of the notification that an elicitation is
// complete, which 2025-11-25 has.
func completionJudges() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.complete.id",
			Says:  "notifications/elicitation/complete has an elicitationId",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-complete-has-id"},
			Idle:  noComplete,
			Hint:  "send notifications/elicitation/complete after an elicitation in URL mode",
			Judge: func(j *check.J) {
				check.Each(j, completions(j), func(s transcript.Message) bool {
					for _, v := range schema.For(j.Rev).Validate(s.Definition, []byte(s.Body.Raw)) {
						if !transcript.PointerMatches(v.Pointer(), transcript.CommonPlaces) {
							j.Fail(s.Entry, "%s: %s", s.Name, v)
							break
						}
					}
					return true
				})
			},
		},
		{
			ID:    "elicitation.complete.known",
			Says:  "the server sends notifications/elicitation/complete only to the client that got the elicitation",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-complete-only-initiator", "elicitation-complete-has-id"},
			Idle:  noComplete,
			Hint:  "send notifications/elicitation/complete after an elicitation in URL mode",
			// elicitation.complete.id judges an elicitationId that is no string.
			Judge: func(j *check.J) {
				elicited := elicitationIDs(j)
				check.Each(j, completions(j), func(s transcript.Message) bool {
					id := s.Message.Params().Get("elicitationId")
					if id.Type != gjson.String {
						return false
					}
					if request, ok := elicited[id.Str]; !ok || j.Follows(request, s.Entry) {
						j.Fail(s.Entry, "%s has the elicitationId %q, which this client did not receive before",
							s.Name, wire.Clip(id.Str, 80))
					}
					return true
				})
			},
		},
		{
			ID:    "elicitation.complete.gone",
			Says:  "the server sends neither notifications/elicitation/complete nor an elicitationId",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"elicitation-no-complete-notification"},
			Idle:  noVisit,
			Hint:  offerVisit,
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if e.Message.Method() == "notifications/elicitation/complete" {
						j.Fail(e, "the server sent notifications/elicitation/complete, which this revision removed")
					}
				}
				check.Each(j, visits(j), func(a transcript.InputRequest) bool {
					if a.Params().Value.Get("elicitationId").Exists() {
						j.Fail(a.Entry, "%s has an elicitationId, which this revision removed", a.Name)
					}
					return true
				})
			},
		},
	}
}

// visits returns the elicitations in URL mode.
func visits(j *check.J) []transcript.InputRequest {
	return transcript.Filter(transcript.InputRequests(j, createElicitation), isVisit)
}

// isVisit reports whether an elicitation is in URL mode.
func isVisit(a transcript.InputRequest) bool { return a.Params().Value.Get("mode").String() == "url" }

// completions returns the notifications that an elicitation is complete.
func completions(j *check.J) []transcript.Message {
	return transcript.Filter(transcript.Messages(j), func(s transcript.Message) bool {
		return s.Message.Kind == wire.Notification && s.Message.Method() == "notifications/elicitation/complete"
	})
}

// elicitationIDs returns the first message with each elicitationId: a request, or an
// error -32042.
func elicitationIDs(j *check.J) map[string]wire.Entry {
	first := map[string]wire.Entry{}
	for _, a := range transcript.InputRequests(j, createElicitation) {
		transcript.KeepFirst(first, a.Params().Value.Get("elicitationId").String(), a.Entry)
	}
	for _, e := range requiredErrors(j) {
		for _, v := range elicitationsOf(e).Array() {
			transcript.KeepFirst(first, v.Get("elicitationId").String(), e)
		}
	}
	return first
}
