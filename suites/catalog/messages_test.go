package catalog

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Who reads a message takes either of two members of one name.
func TestAcceptsAnswerToEitherDuplicateID(t *testing.T) {
	const (
		one   = `> {"jsonrpc":"2.0","id":1,"method":"ping"}`
		twice = `> {"jsonrpc":"2.0","id":9,"id":1,"method":"ping"}`
		done1 = `< {"jsonrpc":"2.0","id":1,"result":{}}`
		done9 = `< {"jsonrpc":"2.0","id":9,"result":{}}`
	)
	garbage := "> {\"jsonrp\xffc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}"
	for name, c := range map[string]struct {
		frames []string
		wrong  bool
	}{
		"the last":        {[]string{one, done1, twice, done1}, false},
		"the first":       {[]string{one, done1, twice, done9}, false},
		"one once more":   {[]string{one, done1, done1}, true},
		"what is no JSON": {[]string{garbage, one, done1, done1}, false},
		"one of one more": {[]string{twice, done9, done9}, true},
	} {
		if o := outcomeOf(t, "jsonrpc.response.once", spec.V2025_06_18,
			c.frames...); (o.State == check.Violated) != c.wrong {
			t.Errorf("%s: %v %s", name, o.State, o.Detail)
		}
	}
}
