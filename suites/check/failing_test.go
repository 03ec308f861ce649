package check

import "testing"

// The parts of a failure are those that a matcher of internal/match or of gomega wrote.
func TestSplitsMessagesOfMatchers(t *testing.T) {
	for text, want := range map[string][3]string{
		"tools/list\nwas answered\nexpected: a result\ngot: an error\n": {
			"tools/list: was answered", "a result", "an error",
		},
		"Expected\n    <string>: a\n    b\nto be empty": {
			"expected a b to be empty", "to be empty", "a b",
		},
		"":                    {},
		"one thing\n":         {"one thing", "", ""},
		"a page\nexpected: b": {"a page expected: b", "", ""},
		"a page\nExpected\n    <int>: 200\nto equal\n    <int>: 405": {"a page", "to equal 405", "200"},
		"a page\nExpected\n    <bool>: true":                         {"a page", "", "true"},
	} {
		detail, expected, got := split(text)
		if parts := [3]string{detail, expected, got}; parts != want {
			t.Errorf("%q has the parts %q, want %q", text, parts, want)
		}
	}
}
