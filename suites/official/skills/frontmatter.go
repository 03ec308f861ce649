package skills

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/internal/yamldoc"
)

// fronted is how a text with a frontmatter begins.
var fronted = regexp.MustCompile(`^---[ \t]*\r?\n((?s:.*?)(?:\r?\n)?)---[ \t]*(?:\r?\n|$)`)

// frontmatterOf returns what a SKILL.md begins with.
func frontmatterOf(content []byte) (map[string]any, error) {
	parts := fronted.FindStringSubmatch(strings.TrimPrefix(string(content), "\ufeff"))
	if parts == nil {
		return nil, fmt.Errorf("it does not begin with a block of YAML between lines of three hyphens")
	}
	front, err := yamldoc.Mapping([]byte(parts[1]))
	if err != nil {
		return nil, fmt.Errorf("the frontmatter cannot be parsed: %w", err)
	}
	return front, nil
}

// unlike names a key under which YAML and JSON differ, "" for none.
func unlike(front map[string]any, entry gjson.Result) string {
	keys := map[string]bool{}
	for key := range front {
		keys[key] = true
	}
	for key := range entry.Map() {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !sameValue(front[key], wire.Member(entry, key)) {
			return key
		}
	}
	return ""
}

// sameWords compares texts up to white space.
func sameWords(a, b string) bool {
	return slices.Equal(strings.Fields(a), strings.Fields(b))
}

// sameValue compares a value of YAML with one of JSON. Of plain scalars the
// versions and schemas of YAML make different things, texts among them: what one
// of them could mean is the same.
func sameValue(y any, j gjson.Result) bool {
	switch y := y.(type) {
	case nil:
		return !j.Exists() || j.Type == gjson.Null || j.String() == ""
	case map[string]any:
		return j.IsObject() && unlike(y, j) == ""
	case []any:
		items := j.Array()
		if !j.IsArray() || len(items) != len(y) {
			return false
		}
		for i := range y {
			if !sameValue(y[i], items[i]) {
				return false
			}
		}
		return true
	case string:
		return sameText(y, j)
	case bool:
		return j.IsBool() && j.Bool() == y || j.Type == gjson.String && strings.EqualFold(j.Str, strconv.FormatBool(y))
	}
	number, err := strconv.ParseFloat(fmt.Sprint(y), 64)
	if j.Type == gjson.String { // read as a text, in whatever notation
		told, strange := strconv.ParseFloat(j.Str, 64)
		return err != nil || strange != nil || told == number
	}
	return j.Type == gjson.Number && (err != nil || j.Num == number)
}

// dated is how a date begins, which some readers of YAML take for a time.
var dated = regexp.MustCompile(`^\d{4}-\d{1,2}-\d{1,2}`)

// sameText compares a text in YAML with a value of JSON. What is a number in
// every notation is a text only where it was quoted.
func sameText(y string, j gjson.Result) bool {
	switch {
	case j.Type == gjson.String:
		return sameWords(y, j.Str) || dated.MatchString(y)
	case j.IsBool():
		return slices.Contains([]string{"yes", "no", "on", "off", "y", "n"}, strings.ToLower(y))
	case j.Type == gjson.Number:
		_, err := strconv.ParseFloat(y, 64)
		return err != nil && strings.ContainsAny(y, "0123456789")
	}
	return strings.TrimSpace(y) == "" && (!j.Exists() || j.Type == gjson.Null)
}
