package progress

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// The reasons why several judges are not observed.
const (
	noReport = "the server reported no progress"
	noToken  = "the server requested no progress"

	reportProgress = "offer a read-only tool that reports progress" + check.OrAllow
)

// judges returns the judges of basic/utilities/progress (basic/patterns/progress
// since 2026-07-28).
func judges() []check.Check { return slices.Concat(reportJudges(), tokenJudges()) }

// reportJudges returns the judges of the progress that a server reports.
func reportJudges() []check.Check {
	return []check.Check{
		{
			ID:    "progress.params",
			Says:  "a progress notification has a token, a progress that is a number, and other params of their types",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-params"},
			Idle:  noReport,
			Hint:  reportProgress,
			Judge: func(j *check.J) { transcript.Scope{Definitions: []string{"ProgressNotification"}}.Judge(j) },
		},
		{
			ID:    "progress.token.known",
			Says:  "the server reports progress only under tokens of requests",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-active-token-only", "progress-task-token-persists"},
			Idle:  noReport,
			Hint:  reportProgress,
			// Until 2025-11-25 progress.token.location judges a token in another place.
			Judge: func(j *check.J) {
				check.Each(j, transcript.ProgressOf(j).Reports, func(r transcript.ProgressReport) bool {
					if isUnknown(j, r) && (!isMisplaced(j, r) || j.Facts.Stateless) {
						j.Fail(r.Entry, "progress was reported under the token %s, which no request has",
							wire.Clip(r.Token.Raw, 80))
					}
					return r.Use != nil
				})
			},
		},
		{
			ID:    "progress.token.location",
			Says:  "the server takes the progress token of a request from its _meta",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"progress-token-location"},
			Idle:  noReport,
			Hint:  reportProgress,
			Judge: func(j *check.J) {
				check.Each(j, transcript.ProgressOf(j).Reports, func(r transcript.ProgressReport) bool {
					if isUnknown(j, r) && isMisplaced(j, r) {
						j.Fail(r.Entry, "progress was reported under the token %s, which a request has outside _meta",
							wire.Clip(r.Token.Raw, 80))
					}
					return r.Use != nil
				})
			},
		},
		{
			ID:    "progress.token.echoed",
			Says:  "the server reports progress under the token of the request, with the same JSON type",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-token-echo"},
			Idle:  noReport,
			Hint:  reportProgress,
			Judge: func(j *check.J) {
				p := transcript.ProgressOf(j)
				check.Each(j, p.Reports, func(r transcript.ProgressReport) bool {
					if r.Use != nil {
						return true
					}
					if given, retyped := p.FindRetyped(r); retyped && !p.MayBeUnread(r) {
						j.Fail(r.Entry, "the token %s came back as %s", wire.Clip(given.Raw, 80),
							wire.Clip(r.Token.Raw, 80))
					}
					return false
				})
			},
		},
		{
			ID:    "progress.increases",
			Says:  "the progress of a request increases with each notification",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-increases"},
			Idle:  "the server did not report progress twice on a request",
			Hint:  "offer a read-only tool that reports progress twice during a call" + check.OrAllow,
			// Two numbers that are equal as doubles are the same only if their text is equal;
			// which of two others is larger is left open. Probes of cancellation judge what is
			// reported after a cancellation.
			Judge: func(j *check.J) {
				last := map[*transcript.TokenUse]transcript.ProgressReport{}
				for _, r := range transcript.ProgressOf(j).Reports {
					if r.Use == nil || r.IsAmbiguous || r.IsCancelled || r.Value.Type != gjson.Number {
						continue
					}
					before, isSecond := last[r.Use]
					last[r.Use] = r
					if !isSecond || !j.Follows(r.Entry, before.Entry) {
						continue
					}
					was, is := before.Value.Float(), r.Value.Float()
					repeated := was == is && transcript.TokenKey(before.Value) == transcript.TokenKey(r.Value)
					switch {
					case is < was, repeated:
						j.Fail(r.Entry, "the progress under the token %s was %s, and then %s",
							wire.Clip(r.Token.Raw, 80), before.Value.Raw, r.Value.Raw)
					case is > was:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "progress.ended",
			Says:  "the server reports no progress on a request that it has answered",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"progress-in-progress-only", "progress-stops-after-completion"},
			Idle:  "the server reported no progress on a request that it answered",
			Hint:  reportProgress,
			// The token of a task is valid longer than its request is. Over HTTP a
			// notification may be under way on the GET stream when the response to the POST
			// arrives: J.Follows accepts that.
			Judge: func(j *check.J) {
				check.Each(j, transcript.ProgressOf(j).Reports, func(r transcript.ProgressReport) bool {
					a := r.Use
					if a == nil || r.IsAmbiguous || a.IsUnclear || a.AsTask || a.Answered == 0 {
						return false
					}
					if j.Follows(r.Entry, j.Entry(a.Answered)) {
						j.Fail(r.Entry, "progress was reported on %s (id %s) after it was answered",
							wire.Clip(a.Request.Method(), 80), a.Request.ID())
					}
					return r.Index < a.Answered
				})
			},
		},
		{
			ID:    "progress.message",
			Says:  "the message of a progress notification is not blank",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"progress-message"},
			Idle:  "no progress notification has a message",
			Hint:  "give a message in notifications/progress",
			Judge: func(j *check.J) {
				check.Each(j, transcript.ProgressOf(j).Reports, func(r transcript.ProgressReport) bool {
					text := r.Message.Params().Get("message")
					if text.Type == gjson.String && strings.TrimSpace(text.Str) == "" {
						j.Fail(r.Entry, "the message of the progress notification is %s", wire.Clip(text.Raw, 80))
					}
					return text.Type == gjson.String
				})
			},
		},
		{
			ID:    "progress.rate",
			Says:  "the server sends fewer than 500 progress notifications within a second",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"progress-rate-limit"},
			Idle:  noReport,
			Hint:  reportProgress,
			Judge: func(j *check.J) { transcript.JudgeRate(j, "notifications/progress") },
		},
		{
			ID:    "progress.task.ended",
			Says:  "the server reports no progress on a task that has ended",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"progress-task-stop-terminal"},
			Idle:  "the server reported no progress on a task that ended later",
			Hint:  "offer a read-only tool that can be called as a task and reports progress" + check.OrAllow,
			// A task has ended once the server has sent a terminal status or the result of it
			// (basic/utilities/tasks#task-status).
			Judge: func(j *check.J) {
				ends := taskEnds(j)
				check.Each(j, transcript.ProgressOf(j).Reports, func(r transcript.ProgressReport) bool {
					if r.Use == nil || r.Use.Task == "" {
						return false
					}
					end, ended := ends[r.Use.Task]
					if ended && j.Follows(r.Entry, end) {
						j.Fail(r.Entry, "progress was reported on the task %q after the server had sent that it ended",
							wire.Clip(r.Use.Task, 80))
					}
					return ended && r.Index < end.Index
				})
			},
		},
	}
}

// tokenJudges returns the judges of the tokens in requests of the server.
func tokenJudges() []check.Check {
	return []check.Check{
		{
			ID:    "progress.requested.type",
			Says:  "the progress token of a request of the server is a string or an integer",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"progress-token-type"},
			Idle:  noToken,
			Hint:  "offer a read-only tool that samples or elicits with a progressToken" + check.OrAllow,
			Judge: func(j *check.J) {
				check.Each(j, progressRequests(j), func(r progressRequest) bool {
					if !(wire.ID{Raw: r.token.Raw}).IsValid() {
						j.Fail(r.Entry, "the progress token of %s is %s", r.Name, wire.Clip(r.token.Raw, 80))
					}
					return true
				})
			},
		},
		{
			ID:    "progress.requested.unique",
			Says:  "no two open requests of the server have the same progress token",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"progress-token-unique"},
			Idle:  "the server did not request progress with two open requests",
			Hint:  "offer a read-only tool that sends two requests with a progressToken at once" + check.OrAllow,
			// A request is open until it is answered or the server cancels it.
			Judge: func(j *check.J) {
				tokens := map[int]string{} // by frame of the request
				for _, r := range progressRequests(j) {
					tokens[r.Index] = transcript.TokenKey(r.token)
				}
				open := map[string]string{} // token by id
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
									j.Fail(e, "the request %s has the progress token of the open request with id %s",
										m.ID(), id)
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

// isUnknown reports whether no request has the token of a report, in any type, as
// far as the requests can be read.
func isUnknown(j *check.J, r transcript.ProgressReport) bool {
	p := transcript.ProgressOf(j)
	if r.Use != nil || p.MayBeUnread(r) {
		return false
	}
	_, retyped := p.FindRetyped(r)
	return !retyped
}

// isMisplaced reports whether a request has the token of a report as a progressToken
// outside of _meta.
func isMisplaced(j *check.J, r transcript.ProgressReport) bool {
	return transcript.ProgressOf(j).Misplaced[transcript.TokenKey(r.Token)]
}

// taskEnds returns the message in which the server first sent that a task had
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

// A progressRequest is a request of the judged side with a progress token.
type progressRequest struct {
	transcript.Message
	token gjson.Result
}

// progressRequests returns the requests of the judged side with a progress token.
func progressRequests(j *check.J) []progressRequest {
	var out []progressRequest
	for _, s := range transcript.Messages(j) {
		if token := s.Message.Params().Get("_meta.progressToken"); s.Message.Kind == wire.Request && token.Exists() {
			out = append(out, progressRequest{s, token})
		}
	}
	return out
}
