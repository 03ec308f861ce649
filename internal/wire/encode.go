package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Encode returns a value as JSON on one line, members in the order of their names, so that
// equal values have equal bytes. Unlike json.Marshal it does not escape HTML. It panics
// if the value cannot be encoded.
func Encode(v any) []byte { return EncodeBetween("", v, "") }

// EncodeBetween returns a value as Encode does, between two texts.
func EncodeBetween(prefix string, v any, suffix string) []byte {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.text, e.keys = append(e.text[:0], prefix...), e.keys[:0]
	e.value(v)
	e.text = append(e.text, suffix...)
	return bytes.Clone(e.text)
}

// EncodeCall returns the bytes of a request, or of a notification if the id is zero;
// without params if they are nil.
func EncodeCall(id ID, method string, params map[string]any) []byte {
	prefix := `{"jsonrpc":"2.0",`
	if id.IsPresent() {
		prefix += `"id":` + id.Raw + `,`
	}
	if params == nil {
		return EncodeBetween(prefix+`"method":`, method, "}")
	}
	return EncodeBetween(prefix+`"method":`+string(Encode(method))+`,"params":`, params, "}")
}

// An encoder writes one JSON text. It writes the types of JSON values itself, since
// encoding/json takes several times as long to write them by reflection.
type encoder struct {
	text []byte
	keys []string // of the objects that are being written, outermost first
}

var encoders = sync.Pool{New: func() any { return &encoder{} }}

func (e *encoder) value(v any) {
	switch v := v.(type) {
	case string:
		e.string(v)
	case bool:
		e.text = strconv.AppendBool(e.text, v)
	case int:
		e.text = strconv.AppendInt(e.text, int64(v), 10)
	case map[string]any:
		e.object(v)
	case []any:
		e.array(v)
	default:
		e.other(v)
	}
}

// object writes the members in the order of their keys.
func (e *encoder) object(o map[string]any) {
	if o == nil {
		e.other(o)
		return
	}
	begin := len(e.keys)
	for key := range o {
		e.keys = append(e.keys, key)
	}
	keys := e.keys[begin:]
	slices.Sort(keys)
	e.text = append(e.text, '{')
	for i, key := range keys {
		if i > 0 {
			e.text = append(e.text, ',')
		}
		e.string(key)
		e.text = append(e.text, ':')
		e.value(o[key])
	}
	e.text = append(e.text, '}')
	e.keys = e.keys[:begin]
}

func (e *encoder) array(a []any) {
	if a == nil {
		e.other(a)
		return
	}
	e.text = append(e.text, '[')
	for i, v := range a {
		if i > 0 {
			e.text = append(e.text, ',')
		}
		e.value(v)
	}
	e.text = append(e.text, ']')
}

func (e *encoder) string(s string) {
	if !isUnescaped(s) {
		e.other(s)
		return
	}
	e.text = append(e.text, '"')
	e.text = append(e.text, s...)
	e.text = append(e.text, '"')
}

// isUnescaped reports whether a string is ASCII without a character that needs an escape.
func isUnescaped(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return false
		}
	}
	return true
}

// other writes any value by encoding/json.
func (e *encoder) other(v any) {
	b := bytes.NewBuffer(e.text)
	general := json.NewEncoder(b)
	general.SetEscapeHTML(false)
	if err := general.Encode(v); err != nil {
		panic(fmt.Sprintf("wire: encode %T: %v", v, err))
	}
	e.text = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
