package fuzz

import (
	"fmt"
	"strings"
)

// A value is an odd JSON value under a name that stands for it in plans.
type value struct {
	name string
	raw  func(salt int) string // salt makes values that must not repeat in a session differ
}

func fixed(name, raw string) value { return value{name, func(int) string { return raw }} }

// values are what members are set to. Simple ones first: shrinking goes there.
var values = []value{
	fixed("null", `null`),
	fixed("true", `true`),
	fixed("false", `false`),
	fixed("0", `0`),
	fixed("1", `1`),
	fixed("-1", `-1`),
	fixed("empty string", `""`),
	fixed("a string", `"mcpcheck"`),
	fixed("empty array", `[]`),
	fixed("empty object", `{}`),
	fixed("an array", `[1,"a",null]`),
	fixed("an object", `{"mcpcheck":{"a":[1]}}`),
	fixed("1.5", `1.5`),
	fixed("1.0", `1.0`),
	fixed("1e2", `1e2`),
	fixed("-0", `-0`),
	fixed("2^31", `2147483648`),
	fixed("2^53+1", `9007199254740993`),
	fixed("2^63", `9223372036854775808`),
	fixed("-2^63-1", `-9223372036854775809`),
	fixed("1e400", `1e400`),
	fixed("1e-400", `1e-400`),
	{"a number of 400 digits", func(int) string { return strings.Repeat("7", 400) }},
	fixed("escaped characters", `"a\"b\\c\/d\u00e9\t"`),
	fixed("an astral character", `"\ud83d\udea2 🚢"`),
	fixed("a lone surrogate", `"\ud800"`),
	fixed("a NUL", `"a\u0000b"`),
	fixed("a line break", `"a\nb\r\nc"`),
	fixed("right-to-left marks", `"\u202eabc\u2066"`),
	fixed("__proto__", `"__proto__"`),
	fixed("a path", `"../../../../mcpcheck-no-such-file"`),
	fixed("a URI", `"mcpcheck://no-such/thing"`),
	fixed("a format string", `"%s%n{0}${x}"`),
	fixed("a digit string", `"1"`),
	{"a string of 300", func(int) string { return quote(strings.Repeat("w", 300)) }},
	{"a string of 70000", func(int) string { return quote(strings.Repeat("w", 70_000)) }},
	{"arrays 20 deep", func(int) string { return nested(20, "[", "1", "]") }},
	{"objects 20 deep", func(int) string { return nested(20, `{"a":`, "1", "}") }},
	{"arrays 200 deep", func(int) string { return nested(200, "[", "1", "]") }},
	{"objects 200 deep", func(int) string { return nested(200, `{"a":`, "1", "}") }},
	{"arrays 5000 deep", func(int) string { return nested(5000, "[", "1", "]") }},
	{"an object of 1000 members", wide},
}

// ids are what the id of a request is set to. Where possible they differ from
// plan to plan, since a session must not see an id twice.
var ids = []value{
	{"a number and .0", func(n int) string { return fmt.Sprintf("%d.0", n) }},
	{"a string", func(n int) string { return fmt.Sprintf(`"m-%d"`, n) }},
	{"a digit string", func(n int) string { return fmt.Sprintf(`"%d"`, n) }},
	{"escaped characters", func(n int) string { return fmt.Sprintf(`"a\"b\\c\u00e9-%d"`, n) }},
	{"a string in escapes", func(n int) string { return fmt.Sprintf(`"\u006d\u002d%d"`, n) }},
	{"an astral character", func(n int) string { return fmt.Sprintf(`"\ud83d\udea2%d"`, n) }},
	{"beyond 2^53", func(n int) string { return fmt.Sprint(9007199254740993 + 2*int64(n)) }},
	{"beyond 2^63", func(n int) string { return fmt.Sprintf("92233720368547%d", 758_080+n) }},
	{"negative", func(n int) string { return fmt.Sprint(-n) }},
	{"with exponent", func(n int) string { return fmt.Sprintf("%de0", n) }},
	{"a fraction", func(n int) string { return fmt.Sprintf("%d.5", n) }},
	{"a long string", func(n int) string { return fmt.Sprintf(`"%s%d"`, strings.Repeat("i", 200), n) }},
	{"a string of 70000", func(n int) string { return fmt.Sprintf(`"%s%d"`, strings.Repeat("i", 70_000), n) }},
	{"a lone surrogate", func(n int) string { return fmt.Sprintf(`"\ud800%d"`, n) }},
	{"a NUL", func(n int) string { return fmt.Sprintf(`"\u0000%d"`, n) }},
	fixed("null", `null`),
	fixed("true", `true`),
	fixed("an array", `[1]`),
	fixed("an object", `{}`),
	fixed("0", `0`),
	fixed("empty string", `""`),
}

// methods are what method is set to besides those of the deck.
var methods = []string{"mcpcheck/unknown", "notifications/mcpcheck-unknown", "", "rpc.discover", "__proto__", "constructor", "PING", "tools/list/", " tools/list", "tools/list\u0000", "notifications/initialized", "notifications/cancelled", "notifications/progress", "tools", "/", "ping", "server/discover", "logging/setLevel", "tasks/list"}

// names are members that nobody asked for.
var names = []string{"mcpcheck-unknown", "_meta", "__proto__", "", "a\u0000b", "jsonrpc", "result", "error", "progressToken", "io.modelcontextprotocol/unknown"}

// cursors are what a cursor is tampered to.
var cursors = []value{
	fixed("an unknown cursor", `"bWNwY2hlY2s"`),
	fixed("an empty cursor", `""`),
	fixed("a number", `1`),
	fixed("null", `null`),
	fixed("an object", `{}`),
	fixed("a negative page", `"-1"`),
	fixed("no base64", `"%%%"`),
	fixed("a lone surrogate", `"\udfff"`),
	{"a cursor of 70000", func(int) string { return quote(strings.Repeat("Y", 70_000)) }},
}

// insertions are bytes put into a frame.
var insertions = []struct {
	name  string
	bytes string
}{
	{"a space", " "}, {"a carriage return", "\r"}, {"a newline", "\n"}, {"a NUL byte", "\x00"}, {"an invalid byte", "\xff"},
	{"an overlong slash", "\xc0\xaf"}, {"half a character", "\xe2\x82"}, {"a byte order mark", "\ufeff"}, {"a control character", "\x1b"},
	{"a brace", "}"}, {"an open bracket", "["}, {"a quote", `"`}, {"a comma", ","}, {"a digit", "9"}, {"an encoded surrogate", "\xed\xa0\x80"},
}

func nested(depth int, open, middle, shut string) string {
	return strings.Repeat(open, depth) + middle + strings.Repeat(shut, depth)
}

func wide(int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"m%d":%d`, i, i)
	}
	return b.String() + "}"
}

// rawOf returns the JSON of a named value, null for a name that is not known.
func rawOf(list []value, name string, salt int) string {
	for _, v := range list {
		if v.name == name {
			return v.raw(salt)
		}
	}
	return "null"
}
