package tools

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clientJudges returns the judges of clients of server/tools.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "tools.client.call.params",
			Says:  "the params of tools/call have a string name, and the arguments, if present, are an object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-call-request-params"},
			Idle:  "the client called no tool",
			Hint:  "let the client call a tool",
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if e.Message.Kind != wire.Request || e.Message.Method() != "tools/call" {
						return false
					}
					params := e.Message.Params()
					name, args := params.Get("name"), params.Get("arguments")
					switch {
					case name.Type != gjson.String:
						j.Fail(e, "the name in tools/call is %s, not a string", wire.TypeName(name))
					case args.Exists() && !args.IsObject():
						j.Fail(e, "the arguments in tools/call are %s, not an object", wire.TypeName(args))
					}
					return true
				})
			},
		},
	}
}
