package transcript

import (
	"fmt"
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// EachListEntry gives each entry of a list, by the method that asks for it, that is
// an object.
func EachListEntry(j *check.J, method, member string, look func(e wire.Entry, entry gjson.Result)) {
	for _, l := range check.Derived(j, "entries of "+method+" in "+member, func() (all []ListEntry) {
		EachResult(j, method, func(e wire.Entry, _ wire.Message, result gjson.Result) {
			list := result.Get(member)
			if !list.IsArray() {
				return
			}
			for _, entry := range list.Array() {
				if entry.IsObject() {
					all = append(all, ListEntry{e, entry})
				}
			}
		})
		return all
	}) {
		look(l.answer, l.entry)
	}
}

// A ListEntry is one entry of a list with the answer that holds it.
type ListEntry struct {
	answer wire.Entry
	entry  gjson.Result
}

// JudgeUnique judges that no two entries of a list share what identifies them. It
// follows the cursors from page to page; the same definition on two pages is
// one entry listed twice, which is judged by pagination.resumed.
func JudgeUnique(method, member, key, what string) func(*check.J) {
	type listed struct{ page, definition string }
	return func(j *check.J) {
		walks := map[string]map[string]listed{} // by the cursor that goes on with it
		EachResult(j, method, func(e wire.Entry, request wire.Message, result gjson.Result) {
			seen := map[string]listed{}
			if cursor := request.Params().Get("cursor"); cursor.Exists() {
				seen = maps.Clone(walks[cursor.String()])
				if seen == nil {
					seen = map[string]listed{}
				}
			}
			page := e.Message.ID().Key()
			for _, entry := range result.Get(member).Array() {
				name := entry.Get(key)
				if name.Type != gjson.String {
					continue
				}
				if before, ok := seen[name.String()]; ok && (before.page == page || before.definition != entry.Raw) {
					j.Fail(e, "two %s %q", what, wire.Clip(name.String(), 80))
					return
				}
				seen[name.String()] = listed{page, entry.Raw}
				j.Saw()
			}
			if next := result.Get("nextCursor"); next.Type == gjson.String {
				walks[next.String()] = seen
			}
		})
	}
}

// EachTool gives each entry of tools/list that is an object and was not listed
// in the same words before.
func EachTool(j *check.J, look func(e wire.Entry, tool gjson.Result)) {
	for _, l := range check.Derived(j, "tools anew", func() (all []ListEntry) {
		known := map[string]bool{}
		EachListEntry(j, "tools/list", "tools", func(e wire.Entry, tool gjson.Result) {
			if !known[tool.Raw] {
				known[tool.Raw] = true
				all = append(all, ListEntry{e, tool})
			}
		})
		return all
	}) {
		look(l.answer, l.entry)
	}
}

// ToolLabel names a tool in a detail.
func ToolLabel(tool gjson.Result) string {
	return fmt.Sprintf("tool %q", wire.Clip(tool.Get("name").String(), 80))
}
