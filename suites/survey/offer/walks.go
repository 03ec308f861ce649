package offer

import (
	"github.com/tidwall/gjson"
)

// Names returns what identifies the entries of a page, in order.
func (l List) Names(items []gjson.Result) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.Get(l.Key).String()
	}
	return out
}

// Items returns the entries of all pages.
func (w *Walk) Items() []gjson.Result {
	var out []gjson.Result
	for _, p := range w.Pages {
		out = append(out, p.Items...)
	}
	return out
}

// IsComplete reports whether the walk reached the last page.
func (w *Walk) IsComplete() bool {
	return len(w.Pages) > 0 && w.Failure == "" && w.RepeatedCursor == ""
}
