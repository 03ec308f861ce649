package asking

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// ChangeMiddle returns a requestState whose middle character is changed.
func ChangeMiddle(state string) []Forgery {
	if len(state) < 8 {
		return nil
	}
	b := []byte(state)
	at := len(b) / 2
	if b[at]++; b[at] > 'z' || b[at] == '[' || b[at] == ':' {
		b[at] = 'A'
	}
	return []Forgery{{string(b), "another letter in the middle"}}
}

// A Forgery is a requestState with one changed value.
type Forgery struct{ State, What string }

// maxForgeries bounds the changed values of one requestState.
const maxForgeries = 12

// ChangeValues returns copies of a requestState, each with one value changed that can
// be decoded: the whole, or a part between dots, is JSON or JSON in base64.
func ChangeValues(state string) []Forgery {
	var out []Forgery
	parts := strings.Split(state, ".")
	for i, p := range parts {
		text, encode := decodeJSON(p)
		if text == "" {
			continue
		}
		for _, path := range leafPaths("", gjson.Parse(text)) {
			var doc any
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			if d.Decode(&doc) != nil || len(out) == maxForgeries {
				break
			}
			changed := slices.Clone(parts)
			changed[i] = encode(check.MustJSON(changeValue(doc, strings.Split(path, "\x00")[1:])))
			out = append(out, Forgery{
				strings.Join(changed, "."), "another " + strings.ReplaceAll(path[1:], "\x00", "/"),
			})
		}
	}
	return out
}

// decodeJSON returns the JSON object in a part of an opaque text and the function that
// encodes one; "" if the part holds none.
func decodeJSON(part string) (text string, write func([]byte) string) {
	if gjson.Valid(part) && gjson.Parse(part).IsObject() {
		return part, func(b []byte) string { return string(b) }
	}
	for _, e := range []*base64.Encoding{
		base64.RawURLEncoding, base64.URLEncoding, base64.StdEncoding, base64.RawStdEncoding,
	} {
		if b, err := e.DecodeString(part); err == nil && gjson.ValidBytes(b) && gjson.ParseBytes(b).IsObject() {
			return string(b), e.EncodeToString
		}
	}
	return "", nil
}

// leafPaths returns the paths of the strings and numbers in a value, each step after a
// zero byte. The last of the deepest values come first, because the answers of a client
// tend to be there.
func leafPaths(at string, v gjson.Result) []string {
	switch {
	case v.IsObject() || v.IsArray():
		var out []string
		n := 0
		v.ForEach(func(key, inner gjson.Result) bool {
			step := key.String()
			if v.IsArray() {
				step = strconv.Itoa(n)
			}
			n++
			out = append(leafPaths(at+"\x00"+step, inner), out...)
			return true
		})
		return out
	case v.Type == gjson.String && v.Str != "", v.Type == gjson.Number:
		return []string{at}
	}
	return nil
}

// changeValue changes the last letter or digit of the value at a path.
func changeValue(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		if len(path) > 0 {
			v[path[0]] = changeValue(v[path[0]], path[1:])
		}
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(v) {
			v[i] = changeValue(v[i], path[1:])
		}
	case string:
		return changeLastCharacter(v)
	case json.Number:
		return json.Number(changeLastCharacter(v.String()))
	}
	return v
}

// changeLastCharacter changes the last letter or digit of a text, or appends a digit if
// there is none.
func changeLastCharacter(s string) string {
	b := []byte(s)
	for i := len(b) - 1; i >= 0; i-- {
		switch c := b[i]; {
		case c >= '1' && c <= '8', c >= 'a' && c <= 'y', c >= 'A' && c <= 'Y':
			b[i]++
			return string(b)
		case c == '0', c == '9':
			b[i] = '1'
			return string(b)
		case c == 'z', c == 'Z':
			b[i]--
			return string(b)
		}
	}
	return s + "1"
}
