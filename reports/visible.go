package reports

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns s with every rune that is not a visible sign or a plain
// space spelt out: control characters, so that a target cannot move the
// cursor or set colours; bidirectional and other format characters, so that
// it cannot show text in another order than it sent; bytes that are not
// UTF-8; and what XML forbids. Runes of keep are left as they are.
func visible(s, keep string) string {
	if !hidden(s, keep) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case shown(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

func hidden(s, keep string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return true
			}
		}
		if !shown(r) && !strings.ContainsRune(keep, r) {
			return true
		}
	}
	return false
}

// shown tells whether r is printed as a sign of its own. The Hangul fillers
// and the braille blank are letters or symbols to Unicode and invisible all
// the same.
func shown(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800':
		return false
	}
	return unicode.IsPrint(r)
}

// oneLine returns s visible and on one line, cut after max bytes with the full
// size told.
func oneLine(s string, max int) string {
	head, rest := cut(s, max)
	return visible(head, "") + rest
}

// cut returns the first max bytes of s, whole runes, and, if that is not all,
// a remark that tells how long s is.
func cut(s string, max int) (head, remark string) {
	if len(s) <= max {
		return s, ""
	}
	n := max
	for back := 0; back < utf8.UTFMax-1 && n > 0 && !utf8.RuneStart(s[n]); back++ {
		n--
	}
	return s[:n], fmt.Sprintf("… (%s bytes in all)", group(len(s)))
}

// columns returns how many cells of a terminal s takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

func cells(r rune) int {
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

// fit cuts s to at most width cells.
func fit(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += cells(r); n > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks s at spaces into lines of at most width cells; a longer word
// stays whole. Width 0 does not break.
func wrap(s string, width int) []string {
	if width <= 0 || columns(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// group returns n with its thousands set apart: 1,234,567.
func group(n int) string {
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
	return group(n) + " " + many
}

// duration returns milliseconds as people write them.
func duration(ms float64) string {
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
