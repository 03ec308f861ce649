package reports

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// textWidth returns how many cells of a terminal s takes.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2 // East Asian wide and emoji
	}
	return 1
}

// cutToWidth cuts s to at most width cells.
func cutToWidth(s string, width int) string {
	if textWidth(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks s at spaces into lines of at most width cells; a longer word
// stays whole. Width 0 does not break.
func wrap(s string, width int) []string {
	if width <= 0 || textWidth(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case textWidth(line)+1+textWidth(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// formatInt returns n with its thousands separated: 1,234,567.
func formatInt(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return formatInt(n) + " " + many
}

// formatMS returns a number of milliseconds in a unit that suits it.
func formatMS(ms float64) string {
	switch {
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms < 60_000:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	s := int(ms / 1000)
	return fmt.Sprintf("%d min %02d s", s/60, s%60)
}

// firstNonEmpty returns the first of its arguments that is not "".
func firstNonEmpty(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return ""
}
