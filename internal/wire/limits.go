package wire

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// A text within these limits is read by every JSON reader in common use. RFC 8259
// section 9 lets readers limit the size and depth of texts and the range of
// numbers; section 8.2 calls their behavior on an unpaired surrogate
// unpredictable.
const (
	maxPlainSize  = 16 << 10
	maxPlainDepth = 32
)

// ExceedsCommonLimits reports whether the message is no JSON text or exceeds a limit
// that readers commonly have. A peer may refuse such a message as unreadable.
func (m Message) ExceedsCommonLimits() bool {
	switch {
	case m.SyntaxError != nil || len(m.Raw) > maxPlainSize || bytes.Contains(m.Raw, []byte("[[[[")):
		return true
	case isPlain(m.Raw):
		return false
	}
	return exceedsLimits(m.Value(), 0)
}

// isPlain reports whether a single pass over the text shows that it is within all
// limits. It returns false where the pass cannot decide: for an escape by number,
// sixteen digits in a row, an exponent or deep nesting.
func isPlain(raw []byte) bool {
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
			if depth++; depth > maxPlainDepth {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
		digits = 0
	}
	return true
}

func exceedsLimits(v gjson.Result, depth int) (found bool) {
	if depth > maxPlainDepth {
		return true
	}
	switch v.Type {
	case gjson.Number:
		f, err := strconv.ParseFloat(v.Raw, 64)
		return err != nil || math.Abs(f) >= 1<<53 || f != 0 && math.Abs(f) < 1e-300 || len(v.Raw) > 40
	case gjson.String:
		return hasUnsafeEscape(v.Raw)
	case gjson.True, gjson.False, gjson.Null:
		return false // ForEach visits such a value as an element of itself
	}
	v.ForEach(func(k, child gjson.Result) bool {
		found = k.Type == gjson.String && hasUnsafeEscape(k.Raw) || exceedsLimits(child, depth+1)
		return !found
	})
	return found
}

// hasUnsafeEscape reports whether a raw string escapes a surrogate, paired or not,
// or NUL, which ends the string for some readers.
func hasUnsafeEscape(raw string) bool {
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
