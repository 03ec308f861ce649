package expect

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// ArgumentsOptional judges that a request whose params have no arguments is answered
// like the same request with empty ones: both succeed, or neither does. A difference
// counts if it is seen twice. Two results are evidence.
func ArgumentsOptional(t *check.T, method, name string) {
	for attempt := range 2 {
		without := t.Try(method, check.Params{"name": name})
		with := t.Try(method, check.Params{"name": name, "arguments": check.Params{}})
		a, b := check.Succeeded(t, without.Message), check.Succeeded(t, with.Message)
		switch {
		case without.Err != nil || with.Err != nil || !a && !b:
			return
		case a && b:
			t.Saw()
			return
		case attempt == 0:
		case b:
			t.Mark(without.Entry)
			t.Fail("the same as with empty arguments", without.Message.Summary(),
				"%s for %q succeeds with empty arguments, but not without the member arguments", method, name)
		default:
			t.Fail("the same as without arguments", with.Message.Summary(),
				"%s for %q succeeds without the member arguments, but not with empty ones", method, name)
		}
	}
}
