// Package match holds gomega matchers over what a server answers. Their failure
// messages say what was expected and what was got.
package match

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Expect makes an assertion about a value; a failed assertion fails the check of t
// and ends its body.
//
//	match.Expect(t, reply).To(match.BeError(-32602), "tools/list with cursor %q", cursor)
func Expect(t types.GomegaTestingT, actual any) types.Assertion {
	if m, ok := t.(marker); ok {
		switch v := actual.(type) {
		case wire.Entry:
			m.Mark(v)
		case framed:
			if e, err := v.Get(); err == nil {
				m.Mark(e)
			}
		}
	}
	return gomega.NewWithT(t).Expect(actual)
}

// A marker marks the frame that an assertion is about.
type marker interface{ Mark(e wire.Entry) }

// A framed value is the frame of an answer, if there is one.
type framed interface{ Get() (wire.Entry, error) }

// An answered value is the answer to a request, if there is one.
type answered interface {
	Answer() (wire.Message, bool)
}

// messageOf returns the message of a value: a message itself, a frame that holds
// one, or the reply to a request; ok is false for a reply without answer.
func messageOf(actual any) (m wire.Message, ok bool, err error) {
	switch v := actual.(type) {
	case wire.Message:
		return v, true, nil
	case wire.Entry:
		return v.Message, v.Raw != nil, nil
	case answered:
		m, ok = v.Answer()
		return m, ok, nil
	}
	return m, false, fmt.Errorf("match: %T holds no message", actual)
}

// messageMatcher is a condition on a message; problem returns how the message
// breaks it, or "".
type messageMatcher struct {
	want    string
	problem func(wire.Message) string
	got     string
	why     string
}

func (m *messageMatcher) Match(actual any) (bool, error) {
	message, ok, err := messageOf(actual)
	switch {
	case err != nil:
		return false, err
	case !ok:
		m.got, m.why = "no answer", "there is no answer"
	default:
		m.got, m.why = message.Summary(), m.problem(message)
	}
	return m.why == "", nil
}

func (m *messageMatcher) FailureMessage(any) string {
	return fmt.Sprintf("%s\nexpected: %s\ngot: %s", m.why, m.want, m.got)
}

func (m *messageMatcher) NegatedFailureMessage(any) string {
	return fmt.Sprintf("the answer is %s, which must not come\nexpected: not %s\ngot: %s", m.got, m.want, m.got)
}

// BeResult matches a result.
func BeResult() types.GomegaMatcher {
	return &messageMatcher{want: "a result", problem: func(m wire.Message) string {
		if m.Kind != wire.Result {
			return "the answer is " + withArticle(m) + ", not a result"
		}
		return ""
	}}
}

// BeError matches an error with one of the codes; with no code, any error.
func BeError(codes ...int) types.GomegaMatcher {
	want := "an error"
	for i, c := range codes {
		want += map[bool]string{true: " ", false: " or "}[i == 0] + fmt.Sprint(c)
	}
	return &messageMatcher{want: want, problem: func(m wire.Message) string {
		code, _ := m.ErrorCode()
		switch {
		case m.Kind != wire.Error:
			return "the answer is " + withArticle(m) + ", not an error"
		case len(codes) > 0 && !slices.Contains(codes, code):
			return "the error has code " + m.Error().Get("code").Raw
		}
		return ""
	}}
}

func withArticle(m wire.Message) string {
	switch m.Kind {
	case wire.Error:
		return "an error"
	case wire.Invalid:
		return "no message"
	}
	return "a " + m.Kind.String()
}

// BeAnswer matches a result or an error: any answer at all.
func BeAnswer() types.GomegaMatcher {
	return &messageMatcher{want: "an answer", problem: func(m wire.Message) string {
		if !m.IsResponse() {
			return "it is " + withArticle(m) + ", not a response"
		}
		return ""
	}}
}

// statusMatcher matches an HTTP status.
type statusMatcher struct{ want []int }

// BeStatus matches one of the HTTP statuses.
func BeStatus(want ...int) types.GomegaMatcher { return &statusMatcher{want} }

func (m *statusMatcher) Match(actual any) (bool, error) {
	status, ok := actual.(int)
	if !ok {
		return false, fmt.Errorf("match: %T is no HTTP status", actual)
	}
	return slices.Contains(m.want, status), nil
}

func (m *statusMatcher) FailureMessage(actual any) string {
	return fmt.Sprintf("the HTTP status is %v\nexpected: %s\ngot: %s", actual, describe(m.want...),
		describe(actual.(int)))
}

func (m *statusMatcher) NegatedFailureMessage(actual any) string {
	return fmt.Sprintf("the HTTP status is %v\nexpected: not %s\ngot: %s", actual, describe(m.want...),
		describe(actual.(int)))
}

func describe(statuses ...int) string {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", s, http.StatusText(s)))
	}
	return strings.Join(names, " or ")
}
