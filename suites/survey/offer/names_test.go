package offer

import (
	"slices"
	"testing"
)

func TestEqualNamesIgnoresTheOrder(t *testing.T) {
	for _, c := range []struct {
		a, b []string
		want bool
	}{
		{nil, nil, true},
		{[]string{"b", "a"}, []string{"a", "b"}, true},
		{[]string{"a", "b"}, []string{"b", "a"}, true},
		{[]string{"a", "a"}, []string{"a"}, false},
		{[]string{"a"}, []string{"b"}, false},
	} {
		a, b := slices.Clone(c.a), slices.Clone(c.b)
		if got := EqualNames(a, b); got != c.want {
			t.Errorf("%q and %q are equal: %v", a, b, got)
		}
		if !slices.Equal(a, c.a) || !slices.Equal(b, c.b) {
			t.Errorf("the order of %q and %q is changed: %q and %q", c.a, c.b, a, b)
		}
	}
}

func TestDistinctKeepsTheFirst(t *testing.T) {
	all := []string{"b", "a", "b", "c", "a"}
	for most, want := range [][]string{nil, {"b"}, {"b", "a"}, {"b", "a", "c"}, {"b", "a", "c"}} {
		if got := distinct(all, most); !slices.Equal(got, want) {
			t.Errorf("at most %d of %q are %q, want %q", most, all, got, want)
		}
	}
}
