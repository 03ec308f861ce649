package server

import (
	"encoding/json"
	"strconv"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func isString(v any) bool { _, ok := v.(string); return ok }
func isObject(v any) bool { _, ok := v.(Object); return ok }

// isInteger tells whether v is a number without fractional part, however it
// is spelled.
func isInteger(v any) bool {
	n, ok := v.(json.Number)
	return ok && wire.ID{Raw: n.String()}.Usable()
}

// integer returns the value of an integral argument, or other if there is none.
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

// text returns the string v, or "".
func stringOf(v any) string { s, _ := v.(string); return s }

func clip(s string) string { return wire.Clip(s, 60) }

// rawID is an id as a value that is encoded as it came.
func rawID(id wire.ID) json.RawMessage { return json.RawMessage(id.Raw) }

// own copies a value deeply, so that whoever gets it may change it.
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

// pick returns the members of those names.
func pick(o Object, names ...string) Object {
	out := Object{}
	for _, name := range names {
		if v, ok := o[name]; ok {
			out[name] = v
		}
	}
	return out
}
