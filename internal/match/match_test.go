package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// recorder keeps the failure of an assertion.
type recorder struct{ failure string }

func (*recorder) Helper()                          {}
func (r *recorder) Fatalf(format string, a ...any) { r.failure = fmt.Sprintf(format, a...) }

type noReply struct{}

func (noReply) Answer() (wire.Message, bool) { return wire.Message{}, false }

func TestFailuresShowExpectedAndActualValue(t *testing.T) {
	result := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	failed := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`))
	for _, c := range []struct {
		actual  any
		matcher types.GomegaMatcher
		want    string // in the failure; "" if it matches
	}{
		{result, BeResult(), ""},
		{failed, BeError(), ""},
		{failed, BeError(-32602, -32603), ""},
		{failed, BeAnswer(), ""},
		{result, BeError(-32602), "the answer is a result, not an error\nexpected: an error -32602\ngot: "},
		{failed, BeError(-32602), "the error has code -32603\nexpected: an error -32602\ngot: "},
		{failed, BeResult(), "the answer is an error, not a result\nexpected: a result\ngot: "},
		{noReply{}, BeResult(), "there is no answer\nexpected: a result\ngot: no answer"},
		{405, BeStatus(404, 405), ""},
		{200, BeStatus(404), "the HTTP status is 200\nexpected: HTTP status 404 Not Found\ngot: HTTP status 200 OK"},
	} {
		r := &recorder{}
		Expect(r, c.actual).To(c.matcher, "tools/list")
		switch {
		case c.want == "" && r.failure != "":
			t.Errorf("%v does not match: %s", c.actual, r.failure)
		case c.want != "" && !strings.Contains(r.failure, "tools/list\n"+c.want):
			t.Errorf("%v fails with %q, want %q", c.actual, r.failure, c.want)
		}
	}
}
