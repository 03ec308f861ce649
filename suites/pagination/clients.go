package pagination

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges are the judges of server/utilities/pagination.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.pagination.cursor",
			Says:  "a cursor is given back exactly as it was handed out for that list in this session",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"pagination-cursor-param-string", "pagination-cursor-opaque", "pagination-cursor-no-format-assumptions", "pagination-cursor-unmodified", "pagination-cursor-not-persisted"},
			// cursorReturned compares the cursor of each list request with those that the
			// results before it handed out for the same list.
			Judge: func(j *check.J) {
				given := map[string]map[string]bool{}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						if e.From == wire.Server {
							if method, next, ok := handedOut(j, e, m); ok {
								if given[method] == nil {
									given[method] = map[string]bool{}
								}
								given[method][next.String()] = true
							}
							continue
						}
						cursor := m.Params().Get("cursor")
						switch {
						case m.Kind != wire.Request || !isList(m.Method()) || !cursor.Exists():
						case cursor.Type != gjson.String:
							j.Fail(e, "the cursor of %s is %s, not a string", m.Method(), wire.TypeName(cursor))
						case !given[m.Method()][cursor.String()]:
							j.Fail(e, "the cursor %s of %s was not handed out for it in this session", wire.Clip(cursor.Raw, 120), m.Method())
						default:
							j.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "client.pagination.cursor.empty",
			Says:  "an empty cursor is not taken for the end of a list",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"pagination-empty-cursor-valid"},
			// emptyCursor judges clients that follow cursors: one that followed a page's
			// cursor which was not empty, to a page whose cursor is, follows that too.
			Judge: func(j *check.J) {
				for _, e := range j.Received() {
					method, next, ok := handedOut(j, e, e.Message)
					if !ok || next.String() != "" || !followed(j, method, e.Index) {
						continue
					}
					again := false
					for _, s := range j.Sent() {
						m := s.Message
						again = again || s.Index > e.Index && m.Method() == method && m.Params().Get("cursor").Exists()
					}
					switch {
					case again:
						j.Saw()
					case transcript.WentOn(j.Entries(), e.Index):
						j.Fail(e, "the client followed the cursors of %s up to the empty one, and took that for the end", method)
					}
				}
			},
		},
	}
}

func isList(method string) bool {
	switch method {
	case "tools/list", "resources/list", "resources/templates/list", "prompts/list", "tasks/list":
		return true
	}
	return false
}

// handedOut returns the cursor that a result hands out, and for which list.
func handedOut(j *check.J, e wire.Entry, m wire.Message) (method string, next gjson.Result, ok bool) {
	next = m.Result().Get("nextCursor")
	if m.Kind != wire.Result || next.Type != gjson.String {
		return "", next, false
	}
	id := m.ID()
	for i := e.Index - 1; i >= 0; i-- {
		before := j.Entries()[i]
		for _, part := range before.Message.Elements() {
			if before.From == wire.Client && part.Kind == wire.Request && part.ID().Equal(id) {
				return part.Method(), next, true
			}
		}
	}
	return "", next, false
}

func followed(j *check.J, method string, before int) bool {
	for _, e := range j.Sent() {
		if e.Index < before && e.Message.Method() == method && e.Message.Params().Get("cursor").String() != "" {
			return true
		}
	}
	return false
}
