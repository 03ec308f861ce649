package transcript

import "testing"

func TestPointerMatchesStepByStep(t *testing.T) {
	for _, c := range []struct {
		place, pointer string
		want           bool
	}{
		{"/nextCursor", "/nextCursor", true},
		{"/nextCursor", "/nextCursor/x", false},
		{"/messages/*/role", "/messages/0/role", true},
		{"/messages/*/role", "/messages/0", false},
		{"/messages/*/content/**", "/messages/0/content", true},
		{"/messages/*/content/**", "/messages/0/content/type", true},
		{"/messages/*/content/**", "/messages", false},
		{"**/_meta/**", "/_meta", true},
		{"**/_meta/**", "/a/0/_meta/b", true},
		{"**/_meta/**", "/a/0", false},
		{"**/annotations/*/**", "/resources/0/annotations", false},
		{"**/annotations/*/**", "/resources/0/annotations/audience/1", true},
		{"/jsonrpc", "", false},
	} {
		if got := PointerMatches(c.pointer, []string{c.place}); got != c.want {
			t.Errorf("%q matches %q: %v", c.pointer, c.place, got)
		}
	}
}
