package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// maxDepth bounds the nesting of a message. gjson recurses, so an endless "[[[["
// must not exhaust the stack.
const maxDepth = 10_000

// SyntaxError is the reason why the bytes of a frame are no JSON text: they are not
// UTF-8, not JSON, or too deeply nested.
type SyntaxError struct {
	Problem string // e.g. "not valid JSON"
	Offset  int    // of the first invalid byte; -1 if unknown
	NotUTF8 bool   // the bytes are not UTF-8
}

func (f *SyntaxError) Error() string {
	if f.Offset < 0 {
		return f.Problem
	}
	return fmt.Sprintf("%s at byte %d", f.Problem, f.Offset)
}

// checkText checks bytes strictly. It returns a fault if they are no JSON text, and
// the paths of object keys that occur twice. JSON leaves the meaning of such keys
// undefined (RFC 8259 section 4), and parsers resolve them differently.
func checkText(raw []byte) (fault *SyntaxError, duplicates []string) {
	if at := firstInvalidUTF8(raw); at >= 0 {
		return &SyntaxError{Problem: "not valid UTF-8", Offset: at, NotUTF8: true}, nil
	}
	if bytes.HasPrefix(raw, []byte("\ufeff")) {
		// RFC 8259 section 8.1: implementations must not add a BOM.
		return &SyntaxError{Problem: "starts with a byte order mark"}, nil
	}
	if nestingDepth(raw) > maxDepth {
		return &SyntaxError{Problem: fmt.Sprintf("nested deeper than %d", maxDepth), Offset: -1}, nil
	}
	if !gjson.ValidBytes(raw) {
		return &SyntaxError{Problem: "not valid JSON", Offset: -1}, nil
	}
	return nil, duplicateKeys(raw)
}

// firstInvalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func firstInvalidUTF8(raw []byte) int {
	if utf8.Valid(raw) {
		return -1
	}
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// nestingDepth returns the deepest nesting of brackets outside of strings.
func nestingDepth(raw []byte) int {
	deepest, level, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			level++
			deepest = max(deepest, level)
		case c == ']' || c == '}':
			level--
		}
	}
	return deepest
}

// duplicateKeys returns the pointers of object keys that occur twice in valid
// JSON. It makes one pass over the text and does not recurse, since a peer chooses
// the nesting.
func duplicateKeys(raw []byte) (found []string) {
	var open []container
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			open = pushContainer(open, raw[i] == '{')
		case '}', ']':
			open = open[:len(open)-1]
		case ',':
			top := &open[len(open)-1]
			top.index++
			top.expectsKey = top.isObject
		case '"':
			end, escaped := stringEnd(raw, i)
			if len(open) > 0 && open[len(open)-1].expectsKey {
				key := raw[i+1 : end]
				if escaped {
					key = []byte(gjson.ParseBytes(raw[i : end+1]).String())
				}
				top := &open[len(open)-1]
				top.expectsKey = false
				if top.addKey(key) {
					found = append(found, pointerTo(open))
				}
			}
			i = end
		}
	}
	return found
}

// stringEnd returns the index of the quote that ends the string starting at begin,
// and whether the string has an escape.
func stringEnd(raw []byte, begin int) (end int, escaped bool) {
	for end = begin + 1; raw[end] != '"'; end++ {
		if raw[end] == '\\' {
			escaped = true
			end++
		}
	}
	return end, escaped
}

// manyKeys is the number of keys of an object from which a map is faster than a
// search.
const manyKeys = 16

// A container is an object or array that is open while a text is read.
type container struct {
	isObject   bool
	expectsKey bool // the next string is a key
	index      int  // of the current element or member
	keys       [][]byte
	seen       map[string]bool // the keys, once there are more than manyKeys
}

// pushContainer opens an object or array. It reuses the memory of one that was
// closed before.
func pushContainer(open []container, object bool) []container {
	if len(open) == cap(open) {
		return append(open, container{isObject: object, expectsKey: object})
	}
	open = open[:len(open)+1]
	top := &open[len(open)-1]
	*top = container{isObject: object, expectsKey: object, keys: top.keys[:0]}
	return open
}

// addKey adds the key of a member and reports whether the object has it already.
func (c *container) addKey(key []byte) (twice bool) {
	if c.seen == nil {
		twice = slices.ContainsFunc(c.keys, func(k []byte) bool { return bytes.Equal(k, key) })
		if len(c.keys) == manyKeys {
			c.seen = make(map[string]bool)
			for _, k := range c.keys {
				c.seen[string(k)] = true
			}
		}
	}
	if c.seen != nil {
		twice = c.seen[string(key)]
		c.seen[string(key)] = true
	}
	c.keys = append(c.keys, key)
	return twice
}

// pointerTo returns the JSON pointer of the member or element being read. Keys are
// not escaped in it.
func pointerTo(open []container) string {
	var b strings.Builder
	for _, c := range open {
		b.WriteByte('/')
		if c.isObject {
			b.Write(c.keys[len(c.keys)-1])
		} else {
			b.WriteString(strconv.Itoa(c.index))
		}
	}
	return b.String()
}
