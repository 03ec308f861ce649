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
	if len(raw) > maxDepth && nestingDepth(raw) > maxDepth {
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
	var containers [16]container // on the stack, enough for nearly all messages
	var keys [32][]byte
	r := keyReader{containers: containers[:0], keys: keys[:0]}
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			r.open(raw[i] == '{')
		case '}', ']':
			r.close()
		case ',':
			r.nextElement()
		case '"':
			end, escaped := stringEnd(raw, i)
			if r.expectsKey() {
				key := raw[i+1 : end]
				if escaped {
					key = []byte(gjson.ParseBytes(raw[i : end+1]).String())
				}
				if r.addKey(key) {
					found = append(found, r.pointer())
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

// A keyReader keeps the keys of the objects that are open while a text is read.
type keyReader struct {
	containers []container // open, the innermost last
	keys       [][]byte    // of all open objects, those of the innermost last
}

// A container is an object or array that is open while a text is read.
type container struct {
	isObject   bool
	expectsKey bool            // the next string is a key
	index      int             // of the current element or member
	firstKey   int             // where its keys begin
	seen       map[string]bool // its keys, once there are more than manyKeys
}

func (r *keyReader) open(isObject bool) {
	r.containers = append(r.containers, container{
		isObject: isObject, expectsKey: isObject, firstKey: len(r.keys),
	})
}

func (r *keyReader) close() {
	last := len(r.containers) - 1
	r.keys = r.keys[:r.containers[last].firstKey]
	r.containers = r.containers[:last]
}

func (r *keyReader) nextElement() {
	c := &r.containers[len(r.containers)-1]
	c.index++
	c.expectsKey = c.isObject
}

// expectsKey reports whether the next string is a key.
func (r *keyReader) expectsKey() bool {
	n := len(r.containers)
	return n > 0 && r.containers[n-1].expectsKey
}

// addKey adds the key of a member and reports whether the object has it already.
func (r *keyReader) addKey(key []byte) (twice bool) {
	c := &r.containers[len(r.containers)-1]
	c.expectsKey = false
	keys := r.keys[c.firstKey:]
	if c.seen == nil {
		twice = slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
		if len(keys) == manyKeys {
			c.seen = make(map[string]bool)
			for _, k := range keys {
				c.seen[string(k)] = true
			}
		}
	}
	if c.seen != nil {
		twice = c.seen[string(key)]
		c.seen[string(key)] = true
	}
	r.keys = append(r.keys, key)
	return twice
}

// pointer returns the JSON pointer of the member or element being read. Keys are not
// escaped in it.
func (r *keyReader) pointer() string {
	var b strings.Builder
	end := len(r.keys)
	var names []string
	for _, c := range slices.Backward(r.containers) {
		if c.isObject {
			names = append(names, string(r.keys[end-1]))
		} else {
			names = append(names, strconv.Itoa(c.index))
		}
		end = c.firstKey
	}
	for _, name := range slices.Backward(names) {
		b.WriteByte('/')
		b.WriteString(name)
	}
	return b.String()
}
