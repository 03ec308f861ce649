package server

import (
	"encoding/json"
	"strconv"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func isString(v any) bool { _, ok := v.(string); return ok }
func isObject(v any) bool { _, ok := v.(Object); return ok }

// isInteger reports whether v is a number without fractional part, in any
// notation.
func isInteger(v any) bool {
	n, ok := v.(json.Number)
	return ok && wire.ID{Raw: n.String()}.IsValid()
}

// intOr returns v as an integer, or other if v is no number.
func intOr(v any, other int) int {
	n, ok := v.(json.Number)
	if !ok {
		return other
	}
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		return other
	}
	return int(f)
}

// stringOf returns the string v, or "" if v is none.
func stringOf(v any) string { s, _ := v.(string); return s }

// clip shortens a value of the client for an error message.
func clip(s string) string { return wire.Clip(s, 60) }

// rawID returns an id as a value that is encoded byte for byte.
func rawID(id wire.ID) json.RawMessage { return json.RawMessage(id.Raw) }

// deepCopy copies a JSON value, so that the copy can be changed.
func deepCopy(v any) any {
	switch v := v.(type) {
	case Object:
		o := make(Object, len(v))
		for k, e := range v {
			o[k] = deepCopy(e)
		}
		return o
	case []any:
		a := make([]any, len(v))
		for i, e := range v {
			a[i] = deepCopy(e)
		}
		return a
	}
	return v
}

// pick returns the members with the given names.
func pick(o Object, names ...string) Object {
	out := Object{}
	for _, name := range names {
		if v, ok := o[name]; ok {
			out[name] = v
		}
	}
	return out
}
