package wire

import (
	"bytes"
	"fmt"
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
	return nil, duplicateKeys(gjson.ParseBytes(raw), "", nil)
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

func duplicateKeys(v gjson.Result, path string, found []string) []string {
	if !v.IsObject() && !v.IsArray() {
		return found
	}
	var seen map[string]bool
	if v.IsObject() {
		seen = make(map[string]bool)
	}
	i := 0
	v.ForEach(func(k, child gjson.Result) bool {
		at := fmt.Sprintf("%s/%d", path, i)
		if seen != nil {
			at = path + "/" + k.String()
			if seen[k.String()] {
				found = append(found, at)
			}
			seen[k.String()] = true
		}
		if child.IsObject() || child.IsArray() {
			found = duplicateKeys(child, at, found)
		}
		i++
		return true
	})
	return found
}
