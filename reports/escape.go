package reports

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape returns s with every rune escaped that is not printable: control
// characters, so that a target cannot move the cursor or set colors;
// bidirectional and other format characters, so that it cannot show text in
// another order than it sent; bytes that are not UTF-8; and characters that XML
// forbids. The runes of keep stay as they are.
func escape(s, keep string) string {
	if !needsEscape(s, keep) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case isPrintable(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

func needsEscape(s, keep string) bool {
	isHidden := func(r rune) bool { return !isPrintable(r) && !strings.ContainsRune(keep, r) }
	return !utf8.ValidString(s) || strings.ContainsFunc(s, isHidden)
}

// isPrintable reports whether r has a visible glyph. Unicode counts the Hangul
// fillers and the braille blank as letters or symbols, but they are invisible.
func isPrintable(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800':
		return false
	}
	return unicode.IsPrint(r)
}

// EscapeLines returns a text for a terminal: what is not printable is escaped, and lines
// stay lines.
func EscapeLines(s string) string { return escape(s, "\n") }

// oneLine returns s escaped, on one line, and cut after max bytes with its full
// size appended.
func oneLine(s string, max int) string {
	head, remark := cut(s, max)
	return escape(head, "") + remark
}

// cut returns the first max bytes of s, in whole runes. If that is not all of
// s, it also returns a remark with the length of s.
func cut(s string, max int) (head, remark string) {
	if len(s) <= max {
		return s, ""
	}
	n := max
	for back := 0; back < utf8.UTFMax-1 && n > 0 && !utf8.RuneStart(s[n]); back++ {
		n--
	}
	return s[:n], fmt.Sprintf("… (%s bytes in all)", formatInt(len(s)))
}
