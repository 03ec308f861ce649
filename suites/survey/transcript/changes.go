package transcript

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// JudgeUndeclared has no subject where the server sends no such notification:
// that may be for want of changes.
func JudgeUndeclared(j *check.J, method, feature string) {
	if !j.Capabilities(wire.Server).Exists() {
		return
	}
	declared := j.Declares(wire.Server, feature)
	for _, e := range j.Sent() {
		switch {
		case e.Message.Method() != method:
		case !declared:
			j.Fail(e, "%s came, but %s is not declared", method, feature)
		default:
			j.Saw()
		}
	}
}

// The methods that are delivered on streams, and the members of the filter
// that ask for them (schema.ts#SubscriptionFilter).
const (
	AcknowledgedMethod = "notifications/subscriptions/acknowledged"
	UpdatedMethod      = "notifications/resources/updated"
)

func ListChangedMethods() map[string]string {
	return map[string]string{
		"notifications/tools/list_changed":     "toolsListChanged",
		"notifications/prompts/list_changed":   "promptsListChanged",
		"notifications/resources/list_changed": "resourcesListChanged",
	}
}

// IsChangeNotification tells whether a notification is one that only a stream delivers.
func IsChangeNotification(method string) bool {
	_, ofList := ListChangedMethods()[method]
	return ofList || method == UpdatedMethod || method == AcknowledgedMethod
}

// SubscriptionIDOf returns the subscription id of the params or the result of a message.
func SubscriptionIDOf(body gjson.Result) gjson.Result {
	return wire.Member(body.Get("_meta"), spec.MetaSubscriptionID)
}
