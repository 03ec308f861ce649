package transcript

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A ListEntry is one entry of a list with the answer that holds it.
type ListEntry struct {
	Answer wire.Entry
	Item   gjson.Result
}

// ListEntries returns the entries of a list that are objects, by the method that
// requests the list and the member that holds it.
func ListEntries(j *check.J, method, member string) []ListEntry {
	return check.Derived(j, "entries of "+method+" in "+member, func() []ListEntry {
		return slices.Collect(entries(j, method, member))
	})
}

// entries yields what ListEntries returns.
func entries(j *check.J, method, member string) iter.Seq[ListEntry] {
	return func(yield func(ListEntry) bool) {
		for _, r := range Results(j, method) {
			list := r.Result.Get(member)
			if !list.IsArray() {
				continue
			}
			for _, item := range list.Array() {
				if item.IsObject() && !yield(ListEntry{r.Answer, item}) {
					return
				}
			}
		}
	}
}

// DistinctEntries returns ListEntries without repetitions: a list that is requested
// often gives no new evidence about its entries.
func DistinctEntries(j *check.J, method, member string) []ListEntry {
	return check.Derived(j, "distinct entries of "+method, func() (all []ListEntry) {
		known := map[string]bool{}
		for l := range entries(j, method, member) {
			if !known[l.Item.Raw] {
				known[l.Item.Raw] = true
				all = append(all, l)
			}
		}
		return all
	})
}

// A listed entry is a definition with the page that holds it.
type listed struct{ page, definition string }

// JudgeUnique judges that no two entries of a list have the same identifier. It follows
// the cursors from page to page. The same definition on two pages is one entry listed
// twice, which pagination.resumed judges.
func JudgeUnique(j *check.J, method, member, key, what string) {
	walks := map[string]map[string]listed{} // by the cursor of the next page
	for _, r := range Results(j, method) {
		seen := map[string]listed{}
		if cursor := r.Request.Params().Get("cursor"); cursor.Exists() {
			maps.Copy(seen, walks[cursor.String()])
		}
		if !judgeUniqueOn(j, r, member, key, what, seen) {
			continue
		}
		if next := r.Result.Get("nextCursor"); next.Type == gjson.String {
			walks[next.String()] = seen
		}
	}
}

// judgeUniqueOn judges one page and adds its entries to those of the pages before. It
// reports whether the page keeps the rule.
func judgeUniqueOn(j *check.J, r Answered, member, key, what string, seen map[string]listed) bool {
	page := r.Answer.Message.ID().Key()
	for _, entry := range r.Result.Get(member).Array() {
		name := entry.Get(key)
		if name.Type != gjson.String {
			continue
		}
		if before, ok := seen[name.String()]; ok && (before.page == page || before.definition != entry.Raw) {
			j.Fail(r.Answer, "two %s %q", what, wire.Clip(name.String(), 80))
			return false
		}
		seen[name.String()] = listed{page, entry.Raw}
		j.Saw()
	}
	return true
}

// Tools returns the entries of tools/list that are objects, each definition once.
func Tools(j *check.J) []ListEntry { return DistinctEntries(j, "tools/list", "tools") }

// ToolLabel names a tool in a message.
func ToolLabel(tool gjson.Result) string {
	return fmt.Sprintf("tool %q", wire.Clip(tool.Get("name").String(), 80))
}
