package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A listing is one of the operations that page
// (server/utilities/pagination#operations-supporting-pagination).
type listing struct {
	method     string
	member     string // of the result, that holds the entries
	capability string
	key        string // member that names an entry
}

var (
	toolsList     = listing{"tools/list", "tools", "tools", "name"}
	promptsList   = listing{"prompts/list", "prompts", "prompts", "name"}
	resourcesList = listing{"resources/list", "resources", "resources", "uri"}
	templatesList = listing{"resources/templates/list", "resourceTemplates", "resources", "uriTemplate"}
)

// listings returns the list operations that the server declares.
func listings(t *check.T) []listing {
	return slices.DeleteFunc([]listing{toolsList, promptsList, resourcesList, templatesList}, func(l listing) bool { return !t.Declares(l.capability) })
}

// A page is one answer to a list request.
type page struct {
	answer wire.Entry
	cursor string // that it was asked for with
	items  []gjson.Result
}

// names returns what identifies the entries of a page, in order.
func (l listing) names(items []gjson.Result) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.Get(l.key).String()
	}
	return out
}

// A walk is a list from its first page to its last.
type walk struct {
	listing
	pages []page
	loops string     // the cursor that came a second time, if one did
	broke string     // what came instead of a page, where the walk broke off
	last  wire.Entry // the last answer, be it a page or not
}

// longestWalk bounds a walk: a list of more pages is of use to no host.
const longestWalk = 100

// items returns the entries of all pages.
func (w *walk) items() []gjson.Result {
	var out []gjson.Result
	for _, p := range w.pages {
		out = append(out, p.items...)
	}
	return out
}

// whole tells whether the walk came to the last page.
func (w *walk) whole() bool { return len(w.pages) > 0 && w.broke == "" && w.loops == "" }

// walked returns the walk over a list that was made once at this revision.
func walked(t *check.T, l listing) *walk {
	return check.Memo(t, l.method, func() *walk { return walkNow(t, l) })
}

// walkNow asks for page after page until there is no further cursor.
func walkNow(t *check.T, l listing) *walk { return walkOf(t, l, nil) }

// walkOf is walkNow for a list that other params than the cursor choose.
func walkOf(t *check.T, l listing, of check.Params) *walk {
	w := &walk{listing: l}
	seen := map[string]bool{}
	params := of
	for cursor := ""; ; {
		e, err := t.TryFrame(l.method, params)
		w.last = e
		list := e.Message.Result().Get(l.member)
		switch {
		case err != nil:
			w.broke = err.Error()
		case e.Message.Kind != wire.Result:
			w.broke = e.Message.Summary()
		case !list.IsArray():
			w.broke = fmt.Sprintf("a result whose %s is %s", l.member, wire.TypeName(list))
		case len(w.pages) == longestWalk:
			w.broke = fmt.Sprintf("more than %d pages", longestWalk)
		}
		if w.broke != "" {
			return w
		}
		w.pages = append(w.pages, page{e, cursor, list.Array()})
		next := e.Message.Result().Get("nextCursor")
		if next.Type != gjson.String {
			return w // its type is judged in every session
		}
		if cursor = next.String(); seen[cursor] {
			w.loops = cursor
			return w
		}
		seen[cursor] = true
		params = check.Params{"cursor": cursor}
		maps.Copy(params, of)
	}
}

// knownTools returns the tools that the server lists, each an object with a
// name.
func knownTools(t *check.T) []gjson.Result {
	if !t.Declares("tools") {
		return nil
	}
	return slices.DeleteFunc(walked(t, toolsList).items(), func(tool gjson.Result) bool { return tool.Get("name").Type != gjson.String })
}

// arguments returns different arguments for a tool, at most so many: those that
// the user gives, then, if manners allow any others, the examples of its schema
// and what is made from it, without and with the members that may be left out.
// There are none where none can be made.
func arguments(t *check.T, tool gjson.Result, most int) []string {
	out := slices.Clone(t.GivenArguments(tool.Get("name").String()))
	if t.MayInvent(tool) {
		out = append(out, made(generator(t, tool), most)...)
	}
	return distinct(out, most)
}

// made returns arguments that a generator proposes and makes; g may be nil.
func made(g *schema.Generator, most int) []string {
	if g == nil {
		return nil
	}
	var out []string
	for _, raw := range g.Proposed() {
		out = append(out, string(raw))
	}
	for i := range uint64(4 * most) {
		raw, err := g.Valid(rand.New(rand.NewPCG(1, i/2)), []schema.Style{schema.Least, schema.Full}[i%2])
		if err != nil {
			break // what fits one style fits the other
		}
		out = append(out, string(raw))
		if out = distinct(out, most); len(out) == most {
			break
		}
	}
	return distinct(out, most)
}

// distinct drops what was there before, and what is beyond a number.
func distinct(all []string, most int) []string {
	var out []string
	for _, s := range all {
		if len(out) < most && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// schemaPatience is for how many schemas no arguments could be made within the steps
// that are spent on one, before others are no longer tried: a hostile server may
// list thousands.
const schemaPatience = 5

// generator returns what makes arguments for a tool, nil if its schema is not
// one to make any from.
func generator(t *check.T, tool gjson.Result) *schema.Generator {
	input := tool.Get("inputSchema").Raw
	tired := check.Memo(t, "schemas given up", func() *int { return new(int) })
	return check.Memo(t, "generator "+input, func() *schema.Generator {
		if *tired == schemaPatience {
			return nil
		}
		g, err := schema.NewGenerator([]byte(input))
		if err != nil {
			return nil
		}
		var not *schema.NotJudgedError
		if _, err := g.Valid(rand.New(rand.NewPCG(1, 0)), schema.Least); errors.As(err, &not) {
			*tired++
			return nil
		}
		return g
	})
}

// callParams are the params of tools/call with arguments given as JSON.
func callParams(tool gjson.Result, arguments string) check.Params {
	return check.Params{"name": tool.Get("name").String(), "arguments": json.RawMessage(arguments)}
}

// readOnly tells whether a tool says that it changes nothing.
func readOnly(tool gjson.Result) bool { return tool.Get("annotations.readOnlyHint").Bool() }

// onlyAsTask tells whether a tool can only be called as a task, which is said
// only where the server makes tasks of calls
// (basic/utilities/tasks#tool-level-negotiation, in 2025-11-25).
func onlyAsTask(t *check.T, tool gjson.Result) bool {
	return makesTasks(t) && tool.Get("execution.taskSupport").String() == "required"
}
