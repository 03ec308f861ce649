package wire

import (
	"strings"
	"testing"
)

func TestExtremeIsWhatReadersMayRefuse(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"a":true,"b":false,"c":null,"d":[true]}`: false,
		`{"a":1,"b":-2.5,"c":"x","d":{"e":[]}}`:    false,
		`{"a":9007199254740993}`:                   true,
		`{"a":"\ud83d"}`:                           true,
		`{"a":"\u0000"}`:                           true,
		`{"a"`:                                     true,
		strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40):                                                 true,
		`{"b":"` + strings.Repeat("}", 40) + `","a":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 41): true,
		`{"b":"\"` + strings.Repeat("[{", 40) + `"}`:                                                                false,
		`{"a":"\\","b":"\u0000"}`:                                      true,
		strings.Repeat(`{"a":`, 10) + `true` + strings.Repeat(`}`, 10): false,
	} {
		if got := Parse([]byte(raw)).Extreme(); got != want {
			t.Errorf("%.60s: extreme is %t", raw, got)
		}
	}
}
