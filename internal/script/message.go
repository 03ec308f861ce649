package script

import (
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
