package wire

import (
	"strings"
	"testing"
)

func TestExceedsCommonLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	for raw, want := range map[string]bool{
		`{"a":true,"b":false,"c":null,"d":[true]}`: false,
		`{"a":1,"b":-2.5,"c":"x","d":{"e":[]}}`:    false,
		`{"a":9007199254740993}`:                   true,
		`{"a":"\ud83d"}`:                           true,
		`{"a":"\u0000"}`:                           true,
		`{"a"`:                                     true,
		nested(10):                                 false,
		nested(40):                                 true,
		`{"b":"` + strings.Repeat("}", 40) + `","a":` + nested(40) + `}`: true,
		`{"b":"\"` + strings.Repeat("[{", 40) + `"}`:                     false,
		`{"a":"\\","b":"\u0000"}`:                                        true,
	} {
		if got := Parse([]byte(raw)).ExceedsCommonLimits(); got != want {
			t.Errorf("%.60s: exceeds the limits: %t", raw, got)
		}
	}
}
