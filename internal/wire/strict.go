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

// maxDepth bounds how deep a message may nest before it is refused. gjson and
// the strict reader recurse, so an endless "[[[[" must not exhaust the stack.
const maxDepth = 10_000

// A Fault is what is wrong with the bytes of a frame beneath JSON-RPC: not
// UTF-8, not JSON, nested too deep.
type Fault struct {
	What     string // "not valid UTF-8", "not valid JSON", …
	Offset   int    // byte offset of the first offence, -1 if unknown
	Encoding bool   // the bytes are not UTF-8
}

func (f *Fault) Error() string {
	if f.Offset < 0 {
		return f.What
	}
	return fmt.Sprintf("%s at byte %d", f.What, f.Offset)
}

// inspect checks bytes strictly. It returns a fault if they are no JSON text
// at all, and the paths of object keys that occur twice, which JSON leaves
// undefined (RFC 8259 section 4) and parsers resolve differently.
func inspect(raw []byte) (fault *Fault, duplicates []string) {
	if at := invalidUTF8(raw); at >= 0 {
		return &Fault{What: "not valid UTF-8", Offset: at, Encoding: true}, nil
	}
	if bytes.HasPrefix(raw, []byte("\ufeff")) {
		// RFC 8259 section 8.1: implementations must not add a BOM.
		return &Fault{What: "starts with a byte order mark"}, nil
	}
	if depth(raw) > maxDepth {
		return &Fault{What: fmt.Sprintf("nested deeper than %d", maxDepth), Offset: -1}, nil
	}
	if !gjson.ValidBytes(raw) {
		return &Fault{What: "not valid JSON", Offset: -1}, nil
	}
	return nil, duplicateKeys(raw)
}

func invalidUTF8(raw []byte) int {
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

// depth returns the deepest nesting of brackets outside of strings.
func depth(raw []byte) int {
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

// duplicateKeys returns the pointers of members that stand twice in valid
// JSON. It goes over the text once, whatever the nesting: a peer chooses how
// deep that is.
func duplicateKeys(raw []byte) (found []string) {
	var open []level
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			open = push(open, raw[i] == '{')
		case '}', ']':
			open = open[:len(open)-1]
		case ',':
			top := &open[len(open)-1]
			top.index++
			top.name = top.object
		case '"':
			end := i + 1
			escaped := false
			for ; raw[end] != '"'; end++ {
				if raw[end] == '\\' {
					escaped = true
					end++
				}
			}
			if len(open) > 0 && open[len(open)-1].name {
				key := raw[i+1 : end]
				if escaped {
					key = []byte(gjson.ParseBytes(raw[i : end+1]).String())
				}
				top := &open[len(open)-1]
				top.name = false
				if top.add(key) {
					found = append(found, pointer(open))
				}
			}
			i = end
		}
	}
	return found
}

// A level is an object or array that is open while a text is read.
type level struct {
	object bool
	name   bool // the next string is the name of a member
	index  int  // of the element or member
	keys   [][]byte
	seen   map[string]bool // of keys, once there are many
}

// push opens an object or array, in the room of one that was closed before.
func push(open []level, object bool) []level {
	if len(open) == cap(open) {
		return append(open, level{object: object, name: object})
	}
	open = open[:len(open)+1]
	top := &open[len(open)-1]
	*top = level{object: object, name: object, keys: top.keys[:0]}
	return open
}

// add notes the name of a member and tells whether it stood before.
func (l *level) add(key []byte) (twice bool) {
	if l.seen == nil {
		twice = slices.ContainsFunc(l.keys, func(k []byte) bool { return bytes.Equal(k, key) })
		if len(l.keys) == 16 {
			l.seen = make(map[string]bool)
			for _, k := range l.keys {
				l.seen[string(k)] = true
			}
		}
	}
	if l.seen != nil {
		twice = l.seen[string(key)]
		l.seen[string(key)] = true
	}
	l.keys = append(l.keys, key)
	return twice
}

// pointer returns the JSON pointer of the member or element being read. Names
// stand in it as they are.
func pointer(open []level) string {
	var b strings.Builder
	for _, l := range open {
		b.WriteByte('/')
		if l.object {
			b.Write(l.keys[len(l.keys)-1])
		} else {
			b.WriteString(strconv.Itoa(l.index))
		}
	}
	return b.String()
}
