package progress

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of basic/utilities/progress (basic/patterns/progress
// since 2026-07-28): of what the server reports, and of the tokens that it
// gives in requests of its own.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "progress.params",
			Says:  "a progress notification has a token, a progress that is a number, and what else it has is of its type",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-params"},
			Judge: func(j *check.J) { transcript.Scope{Definitions: []string{"ProgressNotification"}}.Judge(j) },
		},
		{
			ID:    "progress.token.known",
			Says:  "progress is reported under tokens that were given in a request",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-active-token-only", "progress-task-token-persists"},
			Judge: func(j *check.J) {
				strangers(j, func(r transcript.ProgressReport, misplaced bool) {
					if !misplaced || j.Facts.Stateless {
						j.Fail(r.Entry, "progress was reported under the token %s, which no request gave", wire.Clip(r.Token.Raw, 80))
					}
				})
			},
		},
		{
			ID:    "progress.token.location",
			Says:  "the progress token of a request is the one in its _meta",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"progress-token-location"},
			// tokenLocation binds servers up to 2025-11-25, where they read requests of which
			// the schema says where the token stands.
			Judge: func(j *check.J) {
				strangers(j, func(r transcript.ProgressReport, misplaced bool) {
					if misplaced {
						j.Fail(r.Entry, "progress was reported under the token %s, which a request holds elsewhere than in _meta", wire.Clip(r.Token.Raw, 80))
					}
				})
			},
		},
		{
			ID:    "progress.token.echoed",
			Says:  "a token comes back as it was given, a string as a string and a number as a number",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-token-echo"},
			Judge: func(j *check.J) {
				p := transcript.ProgressOf(j)
				for _, r := range p.Reports {
					if r.About != nil {
						j.Saw()
					} else if given, other := p.Retyped(r); other && !p.Murky(r) {
						j.Fail(r.Entry, "the token %s came back as %s", wire.Clip(given.Raw, 80), wire.Clip(r.Token.Raw, 80))
					}
				}
			},
		},
		{
			ID:    "progress.increases",
			Says:  "each report on a request says more progress than the one before",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-increases"},
			// progressIncreases compares numbers that are too near for a double by their
			// text: equal they are a repetition, else which is more is left open. What comes
			// after a cancellation is not looked at: whether anything does is judged there.
			Judge: func(j *check.J) {
				last := map[*transcript.TokenUse]transcript.ProgressReport{}
				for _, r := range transcript.ProgressOf(j).Reports {
					if r.About == nil || r.Shared || r.Cancelled || r.Value.Type != gjson.Number {
						continue
					}
					before, second := last[r.About]
					last[r.About] = r
					switch {
					case !second || !j.Follows(r.Entry, before.Entry):
					case r.Value.Float() < before.Value.Float(), r.Value.Float() == before.Value.Float() && transcript.TokenKey(r.Value) == transcript.TokenKey(before.Value):
						j.Fail(r.Entry, "the progress under the token %s was %s, and then %s", wire.Clip(r.Token.Raw, 80), before.Value.Raw, r.Value.Raw)
					case r.Value.Float() > before.Value.Float():
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "progress.ended",
			Says:  "no progress is reported on a request that was answered",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-in-progress-only", "progress-stops-after-completion"},
			// progressEnded leaves out tasks, whose token outlives the answer, and requests
			// that were cancelled. Over HTTP a report may be under way on the stream that a
			// client listens on when the answer to the POST comes.
			Judge: func(j *check.J) {
				for _, r := range transcript.ProgressOf(j).Reports {
					switch {
					case r.About == nil || r.Shared || r.About.Void || r.About.AsTask || r.About.Answered == 0:
					case j.Follows(r.Entry, j.Entries()[r.About.Answered]):
						j.Fail(r.Entry, "progress was reported on %s (id %s) after it was answered", wire.Clip(r.About.Request.Method(), 80), r.About.Request.ID())
					case r.Index < r.About.Answered:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "progress.message",
			Says:  "the message of a report says something",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"progress-message"},
			Judge: func(j *check.J) {
				for _, r := range transcript.ProgressOf(j).Reports {
					switch text := r.Message.Params().Get("message"); {
					case text.Type != gjson.String:
					case strings.TrimSpace(text.Str) == "":
						j.Fail(r.Entry, "the message of the progress notification is %s", wire.Clip(text.Raw, 80))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "progress.rate",
			Says:  "progress is not reported five hundred times within a second",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"progress-rate-limit"},
			Judge: func(j *check.J) { transcript.JudgeRate(j, "notifications/progress") },
		},
		{
			ID:    "progress.task.ended",
			Says:  "no progress is reported on a task that has ended",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"progress-task-stop-terminal"},
			// taskProgressEnded takes a task for ended once the server has told a terminal
			// status of it, or given its result (basic/utilities/tasks#task-status).
			Judge: func(j *check.J) {
				p := transcript.ProgressOf(j)
				ended := taskEnds(j)
				for _, r := range p.Reports {
					if r.About == nil || r.About.Task == "" {
						continue
					}
					switch end, over := ended[r.About.Task]; {
					case !over:
					case j.Follows(r.Entry, end):
						j.Fail(r.Entry, "progress was reported on the task %q after the server had told that it ended", wire.Clip(r.About.Task, 80))
					case r.Index < end.Index:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "progress.requested.type",
			Says:  "the progress token of a request of the server is a string or an integer",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"progress-token-type"},
			Judge: func(j *check.J) {
				eachRequest(j, func(s transcript.Message, token gjson.Result) {
					if !(wire.ID{Raw: token.Raw}).Usable() {
						j.Fail(s.Entry, "the progress token of %s is %s", s.Name, wire.Clip(token.Raw, 80))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "progress.requested.unique",
			Says:  "no two requests of the server that are open at once have the same progress token",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"progress-token-unique"},
			// requestedTokenUnique takes a request for open until it was answered, or taken
			// back by its sender.
			Judge: func(j *check.J) {
				tokens := map[int]string{} // by frame of the request
				eachRequest(j, func(s transcript.Message, token gjson.Result) { tokens[s.Index] = transcript.TokenKey(token) })
				open := map[string]string{} // id to token
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						switch {
						case e.From != j.Of && m.IsResponse():
							delete(open, m.ID().Key())
						case e.From == j.Of && m.Method() == "notifications/cancelled":
							delete(open, wire.ID{Raw: m.Params().Get("requestId").Raw}.Key())
						case e.From == j.Of && m.Kind == wire.Request && tokens[e.Index] != "":
							for id, token := range open {
								if token == tokens[e.Index] && id != m.ID().Key() {
									j.Fail(e, "the request %s gives a progress token that the open request with id %s has", m.ID(), id)
								}
							}
							if len(open) > 0 {
								j.Saw()
							}
							open[m.ID().Key()] = tokens[e.Index]
						}
					}
				}
			},
		},
	}
}

// strangers gives the reports under tokens that no request gave, in any type;
// misplaced are those that a request holds as a progressToken in another place.
func strangers(j *check.J, look func(r transcript.ProgressReport, misplaced bool)) {
	p := transcript.ProgressOf(j)
	for _, r := range p.Reports {
		if r.About != nil {
			j.Saw()
			continue
		}
		if _, other := p.Retyped(r); other || p.Murky(r) {
			continue
		}
		look(r, p.Misplaced[transcript.TokenKey(r.Token)])
	}
}

// taskEnds returns the message in which the server first told that a task had
// ended, by the id of the task.
func taskEnds(j *check.J) map[string]wire.Entry {
	ends := map[string]wire.Entry{}
	for _, e := range j.Sent() {
		m := e.Message
		state := m.Params()
		task := state.Get("taskId").String()
		if m.IsResponse() {
			request, ok := j.RequestOf(e)
			if !ok {
				continue
			}
			state, task = m.Result(), request.Message.Params().Get("taskId").String()
			if request.Message.Method() == "tasks/result" && task != "" {
				transcript.KeepFirst(ends, task, e)
			}
		}
		switch state.Get("status").String() {
		case "completed", "failed", "cancelled":
			transcript.KeepFirst(ends, task, e)
		}
	}
	return ends
}

// eachRequest gives the requests of the judged side that want progress.
func eachRequest(j *check.J, look func(s transcript.Message, token gjson.Result)) {
	transcript.EachMessage(j, func(s transcript.Message) {
		if token := s.Message.Params().Get("_meta.progressToken"); s.Message.Kind == wire.Request && token.Exists() {
			look(s, token)
		}
	})
}
