package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxText bounds the strings that are made, in characters.
const maxText = 1 << 16

// text makes a string: of the form of format or contentEncoding, although they are
// annotations, or one that matches the patterns, else words.
func (m *valueMaker) text(f []*jsonschema.Schema) (any, bool) {
	low, high := 0, maxText
	var patterns []jsonschema.Regexp
	var samples []string
	for _, s := range f {
		low = max(low, valueOrZero(s.MinLength))
		if s.MaxLength != nil {
			high = min(high, *s.MaxLength)
		}
		if s.Pattern != nil {
			patterns = append(patterns, s.Pattern)
		}
		about := keywordsOf(s)
		if name, ok := about["format"].(string); ok {
			samples = append(samples, formats[name]...)
		}
		if about["contentEncoding"] == "base64" {
			samples = append(samples, "aGVsbG8=", "aGk=", "")
		}
	}
	if low > high {
		return nil, false
	}
	fit := func(text string) bool {
		n := utf8.RuneCountInString(text)
		return n >= low && n <= high && !slices.ContainsFunc(patterns,
			func(p jsonschema.Regexp) bool { return !p.MatchString(text) })
	}
	if good := slices.DeleteFunc(slices.Clone(samples), func(text string) bool { return !fit(text) }); len(good) > 0 {
		return good[m.choose(len(good))], true
	}
	if len(patterns) > 0 {
		return m.matchPatterns(patterns, low, high, fit)
	}
	words := []string{"text", "a", "hello"}
	if m.style == RandomMembers {
		words = append(words, "two words", "", "ünï", "😀", fmt.Sprintf("word%d", m.choose(1000)))
	}
	text := words[m.choose(len(words))]
	if n := utf8.RuneCountInString(text); n < low {
		text += strings.Repeat("x", low-n)
	}
	return string([]rune(text)[:min(utf8.RuneCountInString(text), high)]), true
}

// formats are values of the formats of JSON Schema (validation 2020-12, section
// 7.3) and of other common ones. The simplest is first; some are short.
var formats = map[string][]string{
	"date-time":             {"2025-06-18T12:00:00Z", "2024-02-29T23:59:59.5+01:00"},
	"date":                  {"2025-06-18", "2024-02-29"},
	"time":                  {"12:00:00Z", "23:59:59.5+01:00"},
	"duration":              {"P1D", "PT2H30M", "P3W"},
	"period":                {"2025-01-01T00:00:00Z/P1D"},
	"email":                 {"user@example.com", "a@b.example"},
	"idn-email":             {"user@example.com", "käthe@example.com"},
	"hostname":              {"example.com", "a.example"},
	"idn-hostname":          {"example.com", "münchen.example"},
	"ipv4":                  {"192.0.2.1", "198.51.100.7"},
	"ip":                    {"192.0.2.1", "2001:db8::1"},
	"ipv6":                  {"2001:db8::1", "::1"},
	"ipv4network":           {"192.0.2.0/24"},
	"uri":                   {"https://example.com/", "urn:a:1", "https://example.com/a?b=c#d"},
	"url":                   {"https://example.com/", "http://a.example"},
	"uri-reference":         {"https://example.com/", "/a/b?c", "#d"},
	"iri":                   {"https://example.com/", "https://example.com/ü"},
	"iri-reference":         {"https://example.com/", "/ü"},
	"uri-template":          {"https://example.com/{id}", "/{a}{?b}"},
	"uuid":                  {"123e4567-e89b-42d3-a456-426614174000", "9b2d7f64-0c1e-4a52-8f3b-5d6c7e8f9a0b"},
	"json-pointer":          {"/a/b", "", "/a~1b/0"},
	"relative-json-pointer": {"0", "1/a", "0#"},
	"regex":                 {"^a+$", "[0-9]"},
	"byte":                  {"aGVsbG8=", ""},
	"binary":                {"hello", ""},
	"path":                  {"/tmp/example.txt", "a"},
	"file-path":             {"/tmp/example.txt", "a"},
	"directory-path":        {"/tmp", "."},
	"color":                 {"#336699", "red"},
	"phone":                 {"+12025550123"},
	"semver":                {"1.0.0", "2.1.3-rc.1"},
	"int32":                 {"1"},
	"int64":                 {"1"},
	"decimal":               {"1.5"},
}
