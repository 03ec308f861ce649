package fuzz

import (
	"fmt"
	"strings"
)

// A value is a JSON value that servers may handle wrongly, under the name that
// plans have for it.
type value struct {
	name string
	raw  func(salt int) string // values that a session must not repeat differ by the salt
}

func fixedValue(name, raw string) value { return value{name, func(int) string { return raw }} }

// jsonValues are the values that members are set to, the simple ones first: rapid
// shrinks towards the front of a list.
var jsonValues = []value{
	fixedValue("null", `null`),
	fixedValue("true", `true`),
	fixedValue("false", `false`),
	fixedValue("0", `0`),
	fixedValue("1", `1`),
	fixedValue("-1", `-1`),
	fixedValue("empty string", `""`),
	fixedValue("a string", `"mcpcheck"`),
	fixedValue("empty array", `[]`),
	fixedValue("empty object", `{}`),
	fixedValue("an array", `[1,"a",null]`),
	fixedValue("an object", `{"mcpcheck":{"a":[1]}}`),
	fixedValue("1.5", `1.5`),
	fixedValue("1.0", `1.0`),
	fixedValue("1e2", `1e2`),
	fixedValue("-0", `-0`),
	fixedValue("2^31", `2147483648`),
	fixedValue("2^53+1", `9007199254740993`),
	fixedValue("2^63", `9223372036854775808`),
	fixedValue("-2^63-1", `-9223372036854775809`),
	fixedValue("1e400", `1e400`),
	fixedValue("1e-400", `1e-400`),
	{"a number of 400 digits", func(int) string { return strings.Repeat("7", 400) }},
	fixedValue("escaped characters", `"a\"b\\c\/d\u00e9\t"`),
	fixedValue("an astral character", `"\ud83d\udea2 🚢"`),
	fixedValue("a lone surrogate", `"\ud800"`),
	fixedValue("a NUL", `"a\u0000b"`),
	fixedValue("a line break", `"a\nb\r\nc"`),
	fixedValue("right-to-left marks", `"\u202eabc\u2066"`),
	fixedValue("__proto__", `"__proto__"`),
	fixedValue("a path", `"../../../../mcpcheck-no-such-file"`),
	fixedValue("a URI", `"mcpcheck://no-such/thing"`),
	fixedValue("a format string", `"%s%n{0}${x}"`),
	fixedValue("a digit string", `"1"`),
	{"a string of 300", func(int) string { return quote(strings.Repeat("w", 300)) }},
	{"a string of 70000", func(int) string { return quote(strings.Repeat("w", 70_000)) }},
	{"arrays 20 deep", func(int) string { return nestedJSON(20, "[", "1", "]") }},
	{"objects 20 deep", func(int) string { return nestedJSON(20, `{"a":`, "1", "}") }},
	{"arrays 200 deep", func(int) string { return nestedJSON(200, "[", "1", "]") }},
	{"objects 200 deep", func(int) string { return nestedJSON(200, `{"a":`, "1", "}") }},
	{"arrays 5000 deep", func(int) string { return nestedJSON(5000, "[", "1", "]") }},
	{"an object of 1000 members", wideObject},
}

// idValues are the values that the id of a request is set to. Where possible they
// differ from plan to plan, since the ids of a session must be unique.
var idValues = []value{
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
	fixedValue("null", `null`),
	fixedValue("true", `true`),
	fixedValue("an array", `[1]`),
	fixedValue("an object", `{}`),
	fixedValue("0", `0`),
	fixedValue("empty string", `""`),
}

// unknownMethods are set in place of the method of a base frame. Most of them do
// not exist.
var unknownMethods = []string{
	"mcpcheck/unknown", "notifications/mcpcheck-unknown", "", "rpc.discover", "__proto__", "constructor", "PING",
	"tools/list/", " tools/list", "tools/list\u0000", "notifications/initialized", "notifications/cancelled",
	"notifications/progress", "tools", "/", "ping", "server/discover", "logging/setLevel", "tasks/list",
}

// unknownMembers are names of members that the changed object does not define.
var unknownMembers = []string{
	"mcpcheck-unknown", "_meta", "__proto__", "", "a\u0000b", "jsonrpc", "result", "error", "progressToken",
	"io.modelcontextprotocol/unknown",
}

// cursorValues are the values that a cursor is set to.
var cursorValues = []value{
	fixedValue("an unknown cursor", `"bWNwY2hlY2s"`),
	fixedValue("an empty cursor", `""`),
	fixedValue("a number", `1`),
	fixedValue("null", `null`),
	fixedValue("an object", `{}`),
	fixedValue("a negative page", `"-1"`),
	fixedValue("no base64", `"%%%"`),
	fixedValue("a lone surrogate", `"\udfff"`),
	{"a cursor of 70000", func(int) string { return quote(strings.Repeat("Y", 70_000)) }},
}

// An insertion is a sequence of bytes that is put into a frame, under the name
// that plans have for it.
type insertion struct{ name, bytes string }

var byteInsertions = []insertion{
	{"a space", " "},
	{"a carriage return", "\r"},
	{"a newline", "\n"},
	{"a NUL byte", "\x00"},
	{"an invalid byte", "\xff"},
	{"an overlong slash", "\xc0\xaf"},
	{"half a character", "\xe2\x82"},
	{"a byte order mark", "\ufeff"},
	{"a control character", "\x1b"},
	{"a brace", "}"},
	{"an open bracket", "["},
	{"a quote", `"`},
	{"a comma", ","},
	{"a digit", "9"},
	{"an encoded surrogate", "\xed\xa0\x80"},
}

func namesOf(list []insertion) []string {
	var out []string
	for _, i := range list {
		out = append(out, i.name)
	}
	return out
}

func nestedJSON(depth int, open, inner, close string) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(close, depth)
}

func wideObject(int) string {
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

// lookupValue returns the JSON of a named value, null for an unknown name.
func lookupValue(list []value, name string, salt int) string {
	for _, v := range list {
		if v.name == name {
			return v.raw(salt)
		}
	}
	return "null"
}

// lookupInsertion returns the bytes of a named insertion, none for an unknown
// name.
func lookupInsertion(name string) string {
	for _, i := range byteInsertions {
		if i.name == name {
			return i.bytes
		}
	}
	return ""
}
