package wire_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// FuzzIDEqual compares the comparison of ids with exact arithmetic and with the strings of
// encoding/json.
func FuzzIDEqual(f *testing.F) {
	ids := []string{
		`1`, `1.0`, `1e0`, `"1"`, `"\u0031"`, `-0`, `0.0`, `null`, `1.5`, `15e-1`, `9007199254740993`, `1e999999999`,
		`{}`, `[1]`, `true`, `""`, `"\ud800"`, strings.Repeat("7", 101), strings.Repeat("7", 101) + ".0",
		"-" + strings.Repeat("0", 101) + "1",
		"100e-2", "1E5", "0e99999", `0.` + strings.Repeat("0", 100),
	}
	for i, a := range ids {
		f.Add(a, ids[(i+1)%len(ids)])
		f.Add(a, a)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isToken(a) || !isToken(b) {
			return
		}
		x, y := wire.ID{Raw: a}, wire.ID{Raw: b}
		equal := x.Equal(y)
		if equal != y.Equal(x) || equal != (x.Key() == y.Key()) || !x.Equal(x) {
			t.Errorf("%s and %s: equal %v, the other way %v, keys %q and %q", a, b, equal, y.Equal(x), x.Key(), y.Key())
		}
		if equal && x.IsValid() != y.IsValid() {
			t.Errorf("%s and %s are equal and not both usable", a, b)
		}
		want, known := equalJSON(a, b)
		if known && equal != want {
			t.Errorf("%s equals %s: %v, want %v", a, b, equal, want)
		}
	})
}

// isToken reports whether raw is one JSON value without surrounding space, as the parser
// extracts it from a message.
func isToken(raw string) bool {
	return json.Valid([]byte(raw)) && utf8.ValidString(raw) && strings.TrimSpace(raw) == raw
}

// equalJSON compares two strings or two numbers. known is false for other
// types, for half of a surrogate pair, and for numbers of many digits.
func equalJSON(a, b string) (equal, known bool) {
	switch {
	case a[0] == '"' && b[0] == '"' && !strings.Contains(strings.ToLower(a+b), `\ud`):
		var x, y string
		errX, errY := json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)
		return x == y, errX == nil && errY == nil
	case isNumber(a) && isNumber(b):
		x, okX := exactNumber(a)
		y, okY := exactNumber(b)
		return okX && okY && x.Cmp(y) == 0, okX && okY
	}
	return false, isNumber(a) && b[0] == '"' || a[0] == '"' && isNumber(b)
}

func isNumber(raw string) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// exactNumber returns the value of a number of at most 100 bytes with an
// exponent of at most three digits.
func exactNumber(raw string) (*big.Rat, bool) {
	if i := strings.IndexAny(raw, "eE"); len(raw) > 100 || i >= 0 && len(raw)-i > 5 {
		return nil, false
	}
	return new(big.Rat).SetString(raw)
}
