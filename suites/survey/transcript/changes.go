package transcript

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// JudgeUndeclared judges that the server declares the feature of a notification that it
// sends. A server that sends no such notification is not observed: it may have had no
// change to announce.
func JudgeUndeclared(j *check.J, method, feature string) {
	if !j.Capabilities(wire.Server).Exists() {
		return
	}
	declared := j.Declares(wire.Server, feature)
	for _, e := range j.Sent() {
		switch {
		case e.Message.Method() != method:
		case !declared:
			j.Fail(e, "%s was sent, but %s is not declared", method, feature)
		default:
			j.Saw()
		}
	}
}

// The notifications of streams, and the members of the filter that request them
// (schema.ts#SubscriptionFilter).
const (
	AcknowledgedMethod = "notifications/subscriptions/acknowledged"
	UpdatedMethod      = "notifications/resources/updated"
)

// ListChangedMethods returns the notifications of changed lists with the members of the
// filter that request them.
func ListChangedMethods() map[string]string {
	return map[string]string{
		"notifications/tools/list_changed":     "toolsListChanged",
		"notifications/prompts/list_changed":   "promptsListChanged",
		"notifications/resources/list_changed": "resourcesListChanged",
	}
}

// IsChangeNotification reports whether a notification is one that only streams deliver.
func IsChangeNotification(method string) bool {
	_, ofList := ListChangedMethods()[method]
	return ofList || method == UpdatedMethod || method == AcknowledgedMethod
}

// SubscriptionIDOf returns the subscription id in the params or the result of a
// message.
func SubscriptionIDOf(body gjson.Result) gjson.Result {
	return wire.Member(body.Get("_meta"), spec.MetaSubscriptionID)
}
