// Package contract holds the assertions that the checks of the public conformance
// contract share.
package contract

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// ShortJSON returns a JSON value, cut to a length that fits a sentence.
func ShortJSON(v gjson.Result) string {
	if !v.Exists() {
		return "nothing"
	}
	return wire.Clip(v.Raw, 200)
}

// Join returns names separated by commas.
func Join(names []string) string { return strings.Join(names, ", ") }

// MustBeString asserts that a value is a certain string.
func MustBeString(t *check.T, what string, got gjson.Result, want string) {
	if got.Type != gjson.String || got.Str != want {
		t.Fail(Quote(want), ShortJSON(got), "%s is %s, not %s", what, ShortJSON(got), Quote(want))
	}
}

// Quote returns a string as JSON.
func Quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can be written
	}
	return string(raw)
}

// EqualJSON reports whether two JSON texts have the same value.
func EqualJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// MustBeNonEmpty asserts that a value is a string that is not empty.
func MustBeNonEmpty(t *check.T, what string, got gjson.Result) {
	if got.Type != gjson.String || got.Str == "" {
		t.Fail("a string that is not empty", ShortJSON(got), "%s is %s", what, ShortJSON(got))
	}
}
