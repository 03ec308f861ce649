package wire

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// An ID is the raw JSON token of a request id. It keeps the bytes as sent, so that
// types and large numbers are preserved. The zero ID means that the message has no
// id member.
type ID struct{ Raw string }

// StringID returns the id of a JSON string.
func StringID(s string) ID { return ID{string(gjson.AppendJSONString(nil, s))} }

// IntID returns the id of a JSON number.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// IsPresent reports whether the message has an id member.
func (id ID) IsPresent() bool { return id.Raw != "" }

// IsNull reports whether the id is null.
func (id ID) IsNull() bool { return id.Raw == "null" }

// IsValid reports whether the id may identify a request: it is a string, or a number
// without fractional part (basic#requests).
func (id ID) IsValid() bool {
	return strings.HasPrefix(id.Raw, `"`) || isPlainInteger(id.Key())
}

// Equal reports whether both ids have the same JSON type and value: 1 and 1.0 are
// equal, 1 and "1" are not.
func (id ID) Equal(other ID) bool {
	if id.Raw == other.Raw {
		return true
	}
	return !(id.isCanonical() && other.isCanonical()) && id.Key() == other.Key()
}

// isCanonical reports whether ids that are equal to this one and canonical too have the
// same bytes: it is a string without escapes, or an integer without fraction and
// exponent. Nearly all ids are.
func (id ID) isCanonical() bool {
	isString := strings.HasPrefix(id.Raw, `"`) && !strings.Contains(id.Raw, `\`)
	return isString || isPlainInteger(id.Raw)
}

// Key returns the canonical form of the id; equal ids have equal keys. An integral
// number is written as JSON without fraction and exponent. The key of another value
// has the prefix s: for a string, f: for a number and x: for a value that is no id. The
// key of a missing id is empty.
func (id ID) Key() string {
	switch {
	case id.Raw == "":
		return ""
	case isPlainInteger(id.Raw):
		return id.Raw
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

// Untyped returns a key of an id without its type, so that the keys of 1 and "1" are
// equal.
func Untyped(key string) string {
	if _, text, hasPrefix := strings.Cut(key, ":"); hasPrefix {
		return text
	}
	return key
}

// maxSafeInteger is the greatest integer below which a double holds all.
const maxSafeInteger = 1<<53 - 1

// IsLarge reports whether the id is an integer beyond plus or minus 2^53-1, which a
// reader that holds numbers as doubles may change (RFC 8259 section 6).
func (id ID) IsLarge() bool {
	if !isPlainInteger(id.Key()) {
		return false
	}
	n, err := strconv.ParseInt(id.Key(), 10, 64)
	return err != nil || n > maxSafeInteger || n < -maxSafeInteger
}

// RoundsTo reports whether another id is this one as a reader of doubles holds it.
func (id ID) RoundsTo(other ID) bool {
	if !id.IsLarge() || !isPlainInteger(other.Key()) {
		return false
	}
	a, _ := strconv.ParseFloat(id.Key(), 64) // an overflow gives an infinity
	b, _ := strconv.ParseFloat(other.Key(), 64)
	return a == b
}

// isPlainInteger reports whether a token is an integer in canonical spelling, as
// nearly all ids are. Such a token needs no arithmetic.
func isPlainInteger(raw string) bool {
	digits := strings.TrimPrefix(raw, "-")
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return digits != "" && (digits[0] != '0' || raw == "0")
}

// maxExactDigits bounds, in bytes, the tokens that are compared by arithmetic. Its
// cost is quadratic in their length, and a peer may send as many digits as fit
// into a message.
const maxExactDigits = 100

// numberKey returns the key of a number by its exact value. A number with a long
// exponent keeps its spelling, since 1e999999999 would be expanded digit by digit.
// So does a long number, except that a fraction of zeros is dropped.
func numberKey(raw string) string {
	if len(raw) > maxExactDigits {
		whole, fraction, cut := strings.Cut(raw, ".")
		switch {
		case strings.ContainsAny(raw, "eE"), strings.Trim(fraction, "0") != "":
			return "f:" + raw
		case cut:
			return numberKey(whole)
		}
		return raw
	}
	if !strings.ContainsAny(raw, ".eE") {
		if n, ok := new(big.Int).SetString(raw, 10); ok {
			return n.String()
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
		return r.Num().String()
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

// IsInteger reports whether a JSON value is a number without fractional part, in
// any spelling.
func IsInteger(v gjson.Result) bool {
	return v.Type == gjson.Number && isPlainInteger(numberKey(v.Raw))
}
