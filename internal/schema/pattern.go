package schema

import (
	"regexp"
	"strings"
)

// A pattern is a regular expression of a schema. JSON Schema uses ECMA 262 (core
// 2020-12, section 6.4); a pattern is matched by its translation to RE2.
type pattern struct {
	source string // in the schema
	re     *regexp.Regexp
}

func (p *pattern) String() string            { return p.source }
func (p *pattern) MatchString(s string) bool { return p.re.MatchString(s) }

// compilePattern compiles an ECMA 262 expression. It returns an error if RE2 has
// no equal expression: for lookaround assertions, backreferences and more than
// 1000 repetitions.
func compilePattern(source string) (*pattern, error) {
	re, err := regexp.Compile(translateECMA(source))
	if err != nil {
		return nil, err
	}
	return &pattern{source, re}, nil
}

// longPropertyNames replaces the long names of character properties, which RE2 does
// not know.
var longPropertyNames = strings.NewReplacer(
	"General_Category=", "", "gc=", "", "Script=", "", "sc=", "", "Script_Extensions=", "", "scx=", "",
	"Uppercase_Letter", "Lu", "Lowercase_Letter", "Ll", "Titlecase_Letter", "Lt", "Letter", "L", "Alphabetic", "L",
	"Decimal_Number", "Nd", "Number", "N", "Punctuation", "P", "Symbol", "S", "Separator", "Z", "Mark", "M",
)

// translateECMA rewrites what ECMA 262 and RE2 write differently. It leaves what it
// does not know, which RE2 then rejects.
func translateECMA(in string) string {
	var out strings.Builder
	class := false
	for i := 0; i < len(in); i++ {
		rest := in[i:]
		switch {
		case strings.HasPrefix(rest, `\`) && len(rest) > 1:
			text, n := translateEscape(rest)
			out.WriteString(text)
			i += n - 1
		case class && rest[0] == '[':
			out.WriteString(`\[`)
		case class && rest[0] == ']':
			out.WriteByte(']')
			class = false
		case class:
			out.WriteByte(rest[0])
		case strings.HasPrefix(rest, `[^]`):
			out.WriteString(`[\s\S]`)
			i += 2
		case strings.HasPrefix(rest, `[]`):
			out.WriteString(`[^\s\S]`)
			i++
		case rest[0] == '[':
			out.WriteByte('[')
			if class = true; strings.HasPrefix(rest, `[^`) {
				out.WriteByte('^')
				i++
			}
		case rest[0] == '.':
			out.WriteString(`[^\n\r\x{2028}\x{2029}]`)
		default:
			out.WriteByte(rest[0])
		}
	}
	return out.String()
}

var hexEscape = regexp.MustCompile(`^\\u(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))`)
var propertyEscape = regexp.MustCompile(`^\\[pP]\{[^}]*\}`)

// translateEscape returns the translation of the escape at the start of a text, and
// the length of that escape.
func translateEscape(in string) (text string, n int) {
	if m := hexEscape.FindStringSubmatch(in); m != nil {
		return `\x{` + m[1] + m[2] + `}`, len(m[0])
	}
	if m := propertyEscape.FindString(in); m != "" {
		return longPropertyNames.Replace(m), len(m)
	}
	switch c := in[1]; {
	case c == 'c' && len(in) > 2 && (in[2]|0x20) >= 'a' && (in[2]|0x20) <= 'z':
		return `\x{` + string("0123456789ABCDEF"[in[2]>>4&1]) + string("0123456789ABCDEF"[in[2]&15]) + `}`, 3
	case c == '0' && (len(in) == 2 || in[2] < '0' || in[2] > '9'):
		return `\x{0}`, 2
	}
	return in[:2], 2
}
