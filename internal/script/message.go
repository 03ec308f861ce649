package script

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An Object is a JSON object.
type Object = map[string]any

// AnswerWith returns a handler that answers every request with a result.
func AnswerWith(result Object) Handler {
	return func(c *Conn, m wire.Message) { c.Answer(m, result) }
}

// RefuseWith returns a handler that answers every request with an error; data may be
// nil.
func RefuseWith(code int, text string, data any) Handler {
	return func(c *Conn, m wire.Message) {
		e := Object{"code": code, "message": text}
		if data != nil {
			e["data"] = data
		}
		c.reply(m, "error", e)
	}
}

// encodeMessage returns the bytes of a request, or of a notification if the id is
// zero.
func encodeMessage(id wire.ID, method string, params Object) []byte {
	b := []byte(`{"jsonrpc":"2.0"`)
	if id.IsPresent() {
		b = append(append(b, `,"id":`...), id.Raw...)
	}
	b = append(append(b, `,"method":`...), encode(method)...)
	if params != nil {
		b = append(append(b, `,"params":`...), encode(params)...)
	}
	return append(b, '}')
}

// encode returns JSON without the HTML escapes of encoding/json. Keys are sorted, so
// that equal values have equal bytes.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("script: encode a message: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
