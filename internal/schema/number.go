package schema

import (
	"math/big"
	"strconv"
	"strings"
)

// isInteger reports whether a JSON number has no fractional part: 1.0 and 10e-1
// have none. It reads the digits only, so that no exponent is too large for it.
func isInteger(number string) bool {
	mantissa, exponent := splitExponent(number)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	digits := strings.TrimRight(whole+fraction, "0")
	if strings.Trim(digits, "-0") == "" {
		return true // zero
	}
	// The number is an integer of digits times ten to the power of scale.
	scale := len(whole) - len(digits)
	if fraction != "" {
		scale = -len(fraction)
	}
	if len(exponent) > 9 {
		return exponent[0] != '-'
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && e+scale >= 0
}

func splitExponent(number string) (mantissa, exponent string) {
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return number, "0"
	}
	sign, digits := "", number[i+1:]
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		sign, digits = strings.TrimPrefix(digits[:1], "+"), digits[1:]
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return number[:i], "0"
	}
	return number[:i], sign + digits
}

// compare returns the sign of a-b for JSON numbers. It is exact, except for numbers
// with an exponent that parseRat rejects.
func compare(a, b string) int {
	x, okX := parseRat(a)
	y, okY := parseRat(b)
	if okX && okY {
		return x.Cmp(y)
	}
	f, _ := strconv.ParseFloat(a, 64) // ±Inf or 0 where out of range
	g, _ := strconv.ParseFloat(b, 64)
	switch {
	case f < g:
		return -1
	case f > g:
		return 1
	}
	return 0
}

// parseRat returns a JSON number. It rejects exponents of more than four digits,
// which would take too much memory.
func parseRat(number string) (*big.Rat, bool) {
	if _, exponent := splitExponent(number); len(exponent) > 4 {
		return nil, false
	}
	return new(big.Rat).SetString(number)
}
