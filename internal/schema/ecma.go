package schema

import (
	"regexp"
	"strings"
)

// A pattern is a regular expression of a schema. JSON Schema asks for ECMA 262
// (core 2020-12, section 6.4); what is judged and generated is its translation
// to RE2.
type pattern struct {
	written string // in the schema
	re      *regexp.Regexp
}

func (p *pattern) String() string            { return p.written }
func (p *pattern) MatchString(s string) bool { return p.re.MatchString(s) }

// readPattern reads an ECMA 262 expression. The error tells that RE2 has no
// expression of the same meaning: assertions that look around, references back,
// more than 1000 repetitions.
func readPattern(written string) (*pattern, error) {
	re, err := regexp.Compile(fromECMA(written))
	if err != nil {
		return nil, err
	}
	return &pattern{written, re}, nil
}

// properties of characters by the long names that ECMA 262 knows and RE2 does not.
var longProperties = strings.NewReplacer(
	"General_Category=", "", "gc=", "", "Script=", "", "sc=", "", "Script_Extensions=", "", "scx=", "",
	"Uppercase_Letter", "Lu", "Lowercase_Letter", "Ll", "Titlecase_Letter", "Lt", "Letter", "L", "Alphabetic", "L",
	"Decimal_Number", "Nd", "Number", "N", "Punctuation", "P", "Symbol", "S", "Separator", "Z", "Mark", "M",
)

// fromECMA rewrites what ECMA 262 and RE2 write differently. What neither this
// nor RE2 knows stays as it is and is refused there.
func fromECMA(in string) string {
	var out strings.Builder
	class := false
	for i := 0; i < len(in); i++ {
		rest := in[i:]
		switch {
		case strings.HasPrefix(rest, `\`) && len(rest) > 1:
			text, n := escapeFromECMA(rest)
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

// escapeFromECMA returns what stands for the escape that a text begins with,
// and its length there.
func escapeFromECMA(in string) (text string, n int) {
	if m := hexEscape.FindStringSubmatch(in); m != nil {
		return `\x{` + m[1] + m[2] + `}`, len(m[0])
	}
	if m := propertyEscape.FindString(in); m != "" {
		return longProperties.Replace(m), len(m)
	}
	switch c := in[1]; {
	case c == 'c' && len(in) > 2 && (in[2]|0x20) >= 'a' && (in[2]|0x20) <= 'z':
		return `\x{` + string("0123456789ABCDEF"[in[2]>>4&1]) + string("0123456789ABCDEF"[in[2]&15]) + `}`, 3
	case c == '0' && (len(in) == 2 || in[2] < '0' || in[2] > '9'):
		return `\x{0}`, 2
	}
	return in[:2], 2
}
