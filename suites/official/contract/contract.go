package contract

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// ShortJSON is a JSON value short enough for a sentence.
func ShortJSON(v gjson.Result) string {
	if !v.Exists() {
		return "nothing"
	}
	return wire.Clip(v.Raw, 200)
}

func Commas(names []string) string { return strings.Join(names, ", ") }

// MustDeclare asserts that a value is a certain string.
func MustDeclare(t *check.T, what string, got gjson.Result, want string) {
	if got.Type != gjson.String || got.Str != want {
		t.Fail(AsJSON(want), ShortJSON(got), "%s is %s, not %s", what, ShortJSON(got), AsJSON(want))
	}
}

func AsJSON(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can be written
	}
	return string(raw)
}

// EqualJSON tells whether two JSON texts have the same value.
func EqualJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// MustHaveText asserts that a value is a string with something in it.
func MustHaveText(t *check.T, what string, got gjson.Result) {
	if got.Type != gjson.String || got.Str == "" {
		t.Fail("a string", ShortJSON(got), "%s is %s, not a string with something in it", what, ShortJSON(got))
	}
}
