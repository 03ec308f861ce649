package offer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A List is one of the operations that support pagination
// (server/utilities/pagination#operations-supporting-pagination).
type List struct {
	Method     string
	Member     string // of the result, holds the entries
	Capability string
	Key        string // member that names an entry
}

var (
	ToolsList     = List{"tools/list", "tools", "tools", "name"}
	PromptsList   = List{"prompts/list", "prompts", "prompts", "name"}
	ResourcesList = List{"resources/list", "resources", "resources", "uri"}
	TemplatesList = List{"resources/templates/list", "resourceTemplates", "resources", "uriTemplate"}
)

// Lists returns the list operations that the server declares.
func Lists(t *check.T) []List {
	return slices.DeleteFunc([]List{ToolsList, PromptsList, ResourcesList, TemplatesList}, func(l List) bool {
		return !t.Declares(l.Capability)
	})
}

// A Page is one answer to a list request.
type Page struct {
	Answer wire.Entry
	Cursor string // of the request
	Items  []gjson.Result
}

// A Walk is a list read from its first page to its last.
type Walk struct {
	List
	Pages          []Page
	RepeatedCursor string     // the cursor that was returned twice, or ""
	Failure        string     // what was received instead of a page, or ""
	Last           wire.Entry // the last answer, a page or not
}

// MaxPages bounds the pages of a walk: no host has a use for a longer list.
const MaxPages = 100

var walkKey = check.NewKey[*Walk]("list")

// WalkOnce returns the walk of a list, which is made once for this revision.
func WalkOnce(t *check.T, l List) *Walk {
	return check.OnceInSession(t, walkKey.For(l.Method), func() *Walk { return WalkNow(t, l) })
}

// WalkNow requests page after page until there is no further cursor.
func WalkNow(t *check.T, l List) *Walk { return WalkTo(t, l, nil) }

// WalkTo is like WalkNow, for a list that other params than the cursor select.
func WalkTo(t *check.T, l List, of check.Params) *Walk {
	w := &Walk{List: l}
	seen := map[string]bool{}
	params := of
	for cursor := ""; ; {
		e, err := RequestPage(t, l.Method, params).Get()
		w.Last = e
		list := e.Message.Result().Get(l.Member)
		switch {
		case err != nil:
			w.Failure = err.Error()
		case e.Message.Kind != wire.Result:
			w.Failure = e.Message.Summary()
		case !list.IsArray():
			w.Failure = fmt.Sprintf("a result whose %s is %s", l.Member, wire.TypeName(list))
		case len(w.Pages) == MaxPages:
			w.Failure = fmt.Sprintf("more than %d pages", MaxPages)
		}
		if w.Failure != "" {
			return w
		}
		w.Pages = append(w.Pages, Page{e, cursor, list.Array()})
		next := e.Message.Result().Get("nextCursor")
		if next.Type != gjson.String {
			return w // a judge checks its type
		}
		if cursor = next.String(); seen[cursor] {
			w.RepeatedCursor = cursor
			return w
		}
		seen[cursor] = true
		params = check.Params{"cursor": cursor}
		maps.Copy(params, of)
	}
}

// RequestPage requests a page of a list. A server that refuses the request without
// params gets empty ones, so that what it lists is judged: jsonrpc.params.omitted reports
// the refusal.
func RequestPage(t *check.T, method string, params check.Params) check.Reply {
	r := t.Try(method, params)
	code, refused := r.Message.ErrorCode()
	if r.Err == nil && refused && params == nil && code != spec.MethodNotFound && !t.Facts.Stateless {
		if again := t.Try(method, check.Params{}); again.Succeeded() {
			return again
		}
	}
	return r
}

// distinct returns the first elements without repetitions, at most so many.
func distinct(all []string, most int) []string {
	var out []string
	for _, s := range all {
		if len(out) < most && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// NextCursor returns the cursor of the second page, or "" if there is none.
func (w *Walk) NextCursor() string {
	if len(w.Pages) < 2 {
		return ""
	}
	return w.Pages[1].Cursor
}
