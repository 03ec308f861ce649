package usage

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// ReadResource reads a resource.
func ReadResource(t *check.T, uri string) check.Reply {
	return t.Try("resources/read", check.Params{"uri": uri})
}

// ListedResource returns the entry of a resource in a list.
func ListedResource(w *offer.Walk, uri string) (gjson.Result, bool) {
	for _, r := range w.Items() {
		if r.Get("uri").Type == gjson.String && r.Get("uri").Str == uri {
			return r, true
		}
	}
	return gjson.Result{}, false
}
