package streamablehttp

import (
	"math"
	"testing"
)

func TestVarietyCountsCharactersOfEachPlace(t *testing.T) {
	for _, c := range []struct {
		ids  []string
		want float64
	}{
		{nil, 0}, {[]string{"abc"}, 0}, {[]string{"abc", "abc"}, 0}, {[]string{"abc", "abd"}, 1},
		{[]string{"ab", "cd"}, 2}, {[]string{"a", "ab"}, 1}, {[]string{"ab", "a"}, 1},
		{[]string{"a", "b", "c", "d"}, 2}, {[]string{"", "a", "b", "c"}, 2},
	} {
		if got := variety(c.ids); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%q vary in %v bits, want %v", c.ids, got, c.want)
		}
	}
}

// A similar id differs in its last eight letters and digits, and in nothing else.
func TestSimilarIDHasTheFormOfTheOther(t *testing.T) {
	for id, want := range map[string]string{
		"00000000": "55555555", "x-01234567": "x-56789012", "abcdefab": "defabcde", "ABCDEFAB": "DEFABCDE",
		"ghijklmn": "qrstuvwx", "GHIJKLMN": "QRSTUVWX", "zZ9-fF4-gG0": "zP4-cC9-qQ5", "é00000000": "é55555555",
		"0000000": "", "": "", "--------": "", "000-0000": "",
	} {
		got, ok := similarID(id)
		if ok != (want != "") || ok && got != want {
			t.Errorf("similar to %q is %q, %v; want %q", id, got, ok, want)
		}
	}
}
