package wire

import (
	"math/big"
	"strings"

	"github.com/tidwall/gjson"
)

// An ID is the raw JSON token of a request id, kept as sent so that types and
// large numbers survive. The zero ID means that there is no id member.
type ID struct{ Raw string }

// StringID and IntID return the ids of those JSON values.
func StringID(s string) ID { return ID{string(gjson.AppendJSONString(nil, s))} }
func IntID(n int64) ID     { return ID{big.NewInt(n).String()} }

// Present tells whether the message has an id member at all.
func (id ID) Present() bool { return id.Raw != "" }

// Null tells whether the id is present and null.
func (id ID) Null() bool { return id.Raw == "null" }

// Usable tells whether the id may name a request: a string, or a number
// without fractional part (basic#requests).
func (id ID) Usable() bool {
	if plainInteger(id.Raw) {
		return true
	}
	key := id.Key()
	return strings.HasPrefix(key, "s:") || strings.HasPrefix(key, "n:")
}

// Equal tells whether both ids have the same JSON type and value; 1 and 1.0
// are equal, 1 and "1" are not.
func (id ID) Equal(other ID) bool { return id.Raw == other.Raw || id.Key() == other.Key() }

// Key returns a canonical form: equal ids have equal keys. Its prefix tells
// the type: s for strings, n for integral numbers, f for other numbers, x for
// what can be no id, empty if there is no id.
func (id ID) Key() string {
	switch {
	case id.Raw == "":
		return ""
	case plainInteger(id.Raw):
		return "n:" + id.Raw
	}
	v := gjson.Parse(id.Raw)
	switch v.Type {
	case gjson.String:
		return "s:" + v.String()
	case gjson.Number:
		return numberKey(id.Raw)
	default:
		return "x:" + id.Raw
	}
}

// plainInteger tells whether a token is a number in the one spelling that
// nearly all ids have, which needs no arithmetic.
func plainInteger(raw string) bool {
	digits := strings.TrimPrefix(raw, "-")
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return digits != "" && (digits[0] != '0' || raw == "0")
}

// maxExact bounds the tokens in bytes that arithmetic is done with: it takes the
// square of their length, and a peer may send as many digits as a message has
// room for.
const maxExact = 100

// numberKey compares numbers exactly. Exponents are bounded, since 1e999999999
// would be expanded digit by digit; such a number keeps its spelling, and so
// does a long one but for a fraction that is nothing.
func numberKey(raw string) string {
	if len(raw) > maxExact {
		whole, fraction, cut := strings.Cut(raw, ".")
		switch {
		case strings.ContainsAny(raw, "eE"), strings.Trim(fraction, "0") != "":
			return "f:" + raw
		case cut:
			return numberKey(whole)
		}
		return "n:" + raw
	}
	if !strings.ContainsAny(raw, ".eE") {
		if n, ok := new(big.Int).SetString(raw, 10); ok {
			return "n:" + n.String()
		}
	}
	if i := strings.IndexAny(raw, "eE"); i >= 0 && len(raw)-i > 5 {
		return "f:" + raw
	}
	r, ok := new(big.Rat).SetString(raw)
	switch {
	case !ok:
		return "x:" + raw
	case r.IsInt():
		return "n:" + r.Num().String()
	default:
		return "f:" + r.RatString()
	}
}

func (id ID) String() string {
	if id.Raw == "" {
		return "no id"
	}
	return id.Raw
}

// IsInteger tells whether a JSON value is a number without fractional part,
// however it is spelled.
func IsInteger(v gjson.Result) bool {
	return v.Type == gjson.Number && strings.HasPrefix(numberKey(v.Raw), "n:")
}
