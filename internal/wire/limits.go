package wire

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Limits that any reader may be expected to go beyond. RFC 8259 section 9 lets
// readers bound the size and depth of texts and the range of numbers, and
// section 8.2 calls what they do with half of a surrogate pair unpredictable.
const (
	plainSize  = 16 << 10
	plainDepth = 32
)

// Extreme tells whether the message goes to limits that a reader may have, or
// is no JSON at all: a peer may then refuse it as unreadable.
func (m Message) Extreme() bool {
	switch {
	case m.Fault != nil || len(m.Raw) > plainSize || bytes.Contains(m.Raw, []byte("[[[[")):
		return true
	case plain(m.Raw):
		return false
	}
	return extreme(m.v, 0)
}

// plain tells by one look over a text that it comes near no limit. What it is
// not sure of is no plain text: escapes by number, sixteen digits in a row,
// exponents, many brackets.
func plain(raw []byte) bool {
	digits, depth := 0, 0
	quoted, escaped := false, false
	for _, c := range raw {
		switch {
		case escaped:
			if escaped = false; c == 'u' {
				return false
			}
		case c >= '0' && c <= '9':
			if digits++; digits == 16 {
				return false
			}
			continue
		case c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case (c == 'e' || c == 'E') && digits > 0:
			return false
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > plainDepth {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
		digits = 0
	}
	return true
}

func extreme(v gjson.Result, depth int) (found bool) {
	if depth > plainDepth {
		return true
	}
	switch v.Type {
	case gjson.Number:
		f, err := strconv.ParseFloat(v.Raw, 64)
		return err != nil || math.Abs(f) >= 1<<53 || f != 0 && math.Abs(f) < 1e-300 || len(v.Raw) > 40
	case gjson.String:
		return surrogate(v.Raw)
	case gjson.True, gjson.False, gjson.Null:
		return false // gjson takes such a value for a list of itself
	}
	v.ForEach(func(k, child gjson.Result) bool {
		found = k.Type == gjson.String && surrogate(k.Raw) || extreme(child, depth+1)
		return !found
	})
	return found
}

// surrogate reports whether a raw string has an escape of a surrogate, paired
// or not, or of NUL, which ends a string for some readers.
func surrogate(raw string) bool {
	for {
		i := strings.IndexByte(raw, '\\')
		if i < 0 || len(raw) < i+6 {
			return false
		}
		if raw[i+1] != 'u' {
			raw = raw[i+2:]
			continue
		}
		hex := strings.ToLower(raw[i+2 : i+6])
		if hex == "0000" || hex[0] == 'd' && hex[1] >= '8' {
			return true
		}
		raw = raw[i+6:]
	}
}
