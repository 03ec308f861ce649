package tools

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clientJudges are the judges of server/tools.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.tools.call.params",
			Says:  "tools/call has a name that is a string, and arguments, where present, that are an object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-call-request-params"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					if m.Kind != wire.Request || m.Method() != "tools/call" {
						continue
					}
					name, args := m.Params().Get("name"), m.Params().Get("arguments")
					switch {
					case name.Type != gjson.String:
						j.Fail(e, "the name in tools/call is %s, not a string", wire.TypeName(name))
					case args.Exists() && !args.IsObject():
						j.Fail(e, "the arguments in tools/call are %s, not an object", wire.TypeName(args))
					default:
						j.Saw()
					}
				}
			},
		},
	}
}
