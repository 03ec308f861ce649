package asking

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// InvalidForm returns content for a form with the marker in one field where it is
// invalid, and why it is invalid; nil if no such content can be made. In a field that
// takes no text the marker is a string, which any client may send by mistake; in a
// field that takes text it is inside an object.
func InvalidForm(requested gjson.Result) (content []byte, why string) {
	valid, err := schema.SampleArguments([]byte(requested.Raw))
	compiled, bad := schema.CompileToolAnyDialect([]byte(requested.Raw))
	if err != nil || bad != nil {
		return nil, ""
	}
	for _, value := range []any{Marker, map[string]any{"mcpcheck": Marker}} {
		requested.Get("properties").ForEach(func(name, field gjson.Result) bool {
			members := map[string]any{}
			if json.Unmarshal(valid, &members) != nil {
				return false
			}
			members[name.String()] = value
			raw, err := json.Marshal(members)
			if err != nil {
				return false
			}
			if broken, err := compiled.Validate(raw); err == nil && len(broken) > 0 {
				content, why = raw, name.String()+" "+wire.Clip(string(check.MustJSON(value)), 80)
			}
			return content == nil
		})
		if content != nil {
			break
		}
	}
	return content, why
}

// Marker is part of values that a server must not use. If it is in a result, the server
// used the value.
const Marker = "mcpcheck-unusable-7f3a"

// AnswerCount counts the outcomes of answers that a server must not use. Refused counts
// requests that failed or whose input was requested again, Used those whose result
// holds the marker. A success without the marker shows nothing.
type AnswerCount struct{ Refused, Used int }

// Count counts one answer.
func (u *AnswerCount) Count(t *check.T, m wire.Message) {
	switch {
	case !check.Succeeded(t, m):
		u.Refused++
	case strings.Contains(m.Result().Raw, Marker):
		u.Used++
	}
}
