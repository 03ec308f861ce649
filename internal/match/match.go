// Package match holds gomega matchers over wire messages that say what was
// expected and what came.
package match

import (
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// matcher is a condition on a message; miss returns what is wrong, or "".
type matcher struct {
	want string
	miss func(wire.Message) string
	got  wire.Message
	why  string
}

func (m *matcher) Match(actual any) (bool, error) {
	got, ok := actual.(wire.Message)
	if !ok {
		return false, fmt.Errorf("match: %T is not a wire.Message", actual)
	}
	m.got, m.why = got, m.miss(got)
	return m.why == "", nil
}

func (m *matcher) FailureMessage(any) string {
	return fmt.Sprintf("%s\nexpected: %s\ngot: %s", m.why, m.want, m.got.Summary())
}

func (m *matcher) NegatedFailureMessage(any) string {
	return fmt.Sprintf("this must not come\nexpected: not %s\ngot: %s", m.want, m.got.Summary())
}

// BeResult matches a success response.
func BeResult() types.GomegaMatcher {
	return &matcher{want: "a result", miss: func(m wire.Message) string {
		if m.Kind != wire.Result {
			return "the answer is " + article(m) + ", not a result"
		}
		return ""
	}}
}

// BeError matches an error response with one of the codes; with no code, any
// error response.
func BeError(codes ...int) types.GomegaMatcher {
	want := "an error"
	for i, c := range codes {
		want += map[bool]string{true: " ", false: " or "}[i == 0] + fmt.Sprint(c)
	}
	return &matcher{want: want, miss: func(m wire.Message) string {
		if m.Kind != wire.Error {
			return "the answer is " + article(m) + ", not an error"
		}
		code, _ := m.Code()
		for _, c := range codes {
			if c == code {
				return ""
			}
		}
		if len(codes) == 0 {
			return ""
		}
		return fmt.Sprintf("the error has code %s", m.Error().Get("code").Raw)
	}}
}

// CarryID matches a message whose id has the type and value of id.
func CarryID(id wire.ID) types.GomegaMatcher {
	return &matcher{want: "id " + id.String(), miss: func(m wire.Message) string {
		if !m.ID().Equal(id) {
			return fmt.Sprintf("the answer carries %s where the request had %s", m.ID(), id)
		}
		return ""
	}}
}

func article(m wire.Message) string {
	switch m.Kind {
	case wire.Error:
		return "an error"
	case wire.Invalid:
		return "no message"
	}
	return "a " + m.Kind.String()
}
