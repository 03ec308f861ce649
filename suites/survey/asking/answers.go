package asking

import (
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// MisfitForm returns content for a form with the marker in one field where it
// does not fit, and says in which; nil where none can be made. A field that
// takes no text gets it as a text, which any client could send by mistake; one
// that does, inside of an object.
func MisfitForm(requested gjson.Result) (content []byte, why string) {
	valid, err := schema.MakeArguments(rand.New(rand.NewPCG(1, 1)), []byte(requested.Raw))
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

// Marker stands in what must not be used: where it comes back in a result, it
// was.
const Marker = "mcpcheck-unusable-7f3a"

// UnusableCount tells what came of answers that are not to be used: refused is that
// the request failed or was put again, used that its result holds the marker. A
// success that does not show it tells nothing.
type UnusableCount struct{ Refused, Used int }

// Take judges one answer.
func (u *UnusableCount) Take(t *check.T, m wire.Message) {
	switch {
	case !check.Succeeded(t, m):
		u.Refused++
	case strings.Contains(m.Result().Raw, Marker):
		u.Used++
	}
}
