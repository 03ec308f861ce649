package wire

import (
	"strings"
	"testing"
)

// FuzzPlain asserts that a text that one scan finds to be within all limits is within them
// by the parse of its values too.
func FuzzPlain(f *testing.F) {
	for _, raw := range []string{
		`{"a":[1,-2.5,"x",true,null]}`, `{"a":1e400}`, `{"a":9007199254740993}`, `{"a":"\ud83d"}`, `{"a\u0000":1}`,
		`{"a":"\\u0000"}`,
		strings.Repeat("[", 33) + strings.Repeat("]", 33), `{"a":"[[[["}`, `"1e9"`, `1E5`, `{"e":1}`,
		`{"a":0.0000000000000000000000000001}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := Parse(raw)
		if m.SyntaxError == nil && isPlain(raw) && exceedsLimits(m.Value(), 0) {
			t.Errorf("%q is plain and extreme", raw)
		}
	})
}
