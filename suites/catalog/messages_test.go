package catalog

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A server that reads a duplicate member may use either of the two.
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
		"last id":                         {[]string{one, done1, twice, done1}, false},
		"first id":                        {[]string{one, done1, twice, done9}, false},
		"second answer":                   {[]string{one, done1, done1}, true},
		"invalid JSON":                    {[]string{garbage, one, done1, done1}, false},
		"second answer to a duplicate id": {[]string{twice, done9, done9}, true},
	} {
		if o := outcomeOf(t, "jsonrpc.response.once", spec.V2025_06_18,
			c.frames...); (o.State == check.Violated) != c.wrong {
			t.Errorf("%s: %v %s", name, o.State, o.Detail)
		}
	}
}
