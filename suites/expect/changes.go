package expect

import (
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// ChangeSent expects a notification for each change of one kind that calls have made:
// of a list, or of resources if no list is named.
func ChangeSent(t *check.T, list string) {
	c, hasChanged := toolcalls.CallsIfDeclared(t), false
	for _, change := range c.Changes {
		if change.List != list {
			continue
		}
		hasChanged = true
		what, method := "the list of "+list, "notifications/"+list+"/list_changed"
		if list == "" {
			what, method = "the resource "+wire.Clip(change.URI, 100), "notifications/resources/updated"
		}
		if !change.Sent {
			t.Mark(change.Seen)
			t.Fail(method, "none", "a call of %q changed %s, and no notification announced it", change.Tool, what)
		}
	}
	switch {
	case hasChanged:
		t.Saw()
	case list == "":
		t.NotObserved("no call changed a resource that was watched", check.AllowHint(c.NotAllowed))
	default:
		t.NotObserved("no call changed the list of "+list, check.AllowHint(c.NotAllowed))
	}
}
