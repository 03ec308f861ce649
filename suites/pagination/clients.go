package pagination

import (
	"math"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges returns the judges of clients of server/utilities/pagination.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "pagination.client.cursor",
			Says:  "the client sends a cursor exactly as the server returned it for that list in this session",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{
				"pagination-cursor-param-string", "pagination-cursor-opaque", "pagination-cursor-no-format-assumptions",
				"pagination-cursor-unmodified", "pagination-cursor-not-persisted",
			},
			Idle: "the client sent no cursor",
			Hint: "let the client list all tools, prompts or resources, page by page",
			Judge: func(j *check.J) {
				returned := map[string]map[string]bool{} // by method
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						if e.From == wire.Client {
							judgeCursor(j, e, m, returned[m.Method()])
							continue
						}
						if method, next, ok := nextCursor(j, e, m); ok {
							if returned[method] == nil {
								returned[method] = map[string]bool{}
							}
							returned[method][next.String()] = true
						}
					}
				}
			},
		},
		{
			ID:    "pagination.client.cursor.empty",
			Says:  "the client follows a nextCursor that is the empty string",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"pagination-empty-cursor-valid"},
			Idle:  "no client that follows cursors received an empty one",
			Hint:  "let the client list all tools, prompts or resources, page by page",
			// Only a client that followed a non-empty cursor of the list before is known
			// to follow cursors at all.
			Judge: func(j *check.J) {
				check.Each(j, j.Received(), func(e wire.Entry) bool {
					method, next, ok := nextCursor(j, e, e.Message)
					if !ok || next.String() != "" || !sentCursor(j, method, 0, e.Index, false) {
						return false
					}
					followed := sentCursor(j, method, e.Index+1, math.MaxInt, true)
					if !followed && transcript.HasContinued(j.Entries(), e.Index) {
						j.Fail(e, "the client followed the cursors of %s up to the empty one and did not follow that",
							method)
					}
					return followed
				})
			},
		},
	}
}

// judgeCursor judges the cursor of a list request against those that the server
// returned for the same list.
func judgeCursor(j *check.J, e wire.Entry, m wire.Message, returned map[string]bool) {
	cursor := m.Params().Get("cursor")
	switch {
	case m.Kind != wire.Request || !slices.Contains(listMethods, m.Method()) || !cursor.Exists():
	case cursor.Type != gjson.String:
		j.Fail(e, "the cursor of %s is %s, not a string", m.Method(), wire.TypeName(cursor))
	case !returned[cursor.String()]:
		j.Fail(e, "the server returned no cursor %s for %s in this session", wire.Clip(cursor.Raw, 120), m.Method())
	default:
		j.Saw()
	}
}

// nextCursor returns the nextCursor of a result and the method of its list.
func nextCursor(j *check.J, e wire.Entry, m wire.Message) (method string, next gjson.Result, ok bool) {
	next = m.Result().Get("nextCursor")
	if m.Kind != wire.Result || next.Type != gjson.String {
		return "", next, false
	}
	for _, before := range slices.Backward(j.EntriesBefore(e)) {
		for _, part := range before.Message.Elements() {
			if before.From == wire.Client && part.Kind == wire.Request && part.ID().Equal(m.ID()) {
				return part.Method(), next, true
			}
		}
	}
	return "", next, false
}

// sentCursor reports whether the client sent a request of a method with a cursor
// between two frames; an empty cursor counts only if empty is true.
func sentCursor(j *check.J, method string, from, to int, empty bool) bool {
	return slices.ContainsFunc(j.Sent(), func(e wire.Entry) bool {
		cursor := e.Message.Params().Get("cursor")
		return e.Index >= from && e.Index < to && e.Message.Method() == method &&
			cursor.Exists() && (empty || cursor.String() != "")
	})
}
