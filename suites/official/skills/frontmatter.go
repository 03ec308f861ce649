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

// frontmatterPattern matches the beginning of a text with a frontmatter.
var frontmatterPattern = regexp.MustCompile(`^---[ \t]*\r?\n((?s:.*?)(?:\r?\n)?)---[ \t]*(?:\r?\n|$)`)

// frontmatterOf returns the frontmatter at the beginning of a SKILL.md.
func frontmatterOf(content []byte) (map[string]any, error) {
	parts := frontmatterPattern.FindStringSubmatch(strings.TrimPrefix(string(content), "\ufeff"))
	if parts == nil {
		return nil, fmt.Errorf("it does not begin with a block of YAML between lines of three hyphens")
	}
	front, err := yamldoc.Mapping([]byte(parts[1]))
	if err != nil {
		return nil, fmt.Errorf("the frontmatter cannot be parsed: %w", err)
	}
	return front, nil
}

// firstDifference returns a key under which YAML and JSON differ, "" for none.
func firstDifference(front map[string]any, entry gjson.Result) string {
	keys := map[string]bool{}
	for key := range front {
		keys[key] = true
	}
	for key := range entry.Map() {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !equalValue(front[key], wire.Member(entry, key)) {
			return key
		}
	}
	return ""
}

// equalWords reports whether two texts are equal except for white space.
func equalWords(a, b string) bool {
	return slices.Equal(strings.Fields(a), strings.Fields(b))
}

// equalValue reports whether a value of YAML equals one of JSON. The versions and
// schemas of YAML read plain scalars differently, also as texts: a value that one of
// them could mean is equal.
func equalValue(y any, j gjson.Result) bool {
	switch y := y.(type) {
	case nil:
		return !j.Exists() || j.Type == gjson.Null || j.String() == ""
	case map[string]any:
		return j.IsObject() && firstDifference(y, j) == ""
	case []any:
		items := j.Array()
		if !j.IsArray() || len(items) != len(y) {
			return false
		}
		for i := range y {
			if !equalValue(y[i], items[i]) {
				return false
			}
		}
		return true
	case string:
		return equalText(y, j)
	case bool:
		return j.IsBool() && j.Bool() == y || j.Type == gjson.String && strings.EqualFold(j.Str, strconv.FormatBool(y))
	}
	number, err := strconv.ParseFloat(fmt.Sprint(y), 64)
	if j.Type == gjson.String { // read as a text, in whatever notation
		other, otherErr := strconv.ParseFloat(j.Str, 64)
		return err != nil || otherErr != nil || other == number
	}
	return j.Type == gjson.Number && (err != nil || j.Num == number)
}

// datePattern matches the beginning of a date, which some readers of YAML take for a
// time.
var datePattern = regexp.MustCompile(`^\d{4}-\d{1,2}-\d{1,2}`)

// equalText reports whether a text in YAML equals a value of JSON. A number in every
// notation is a text only if it was quoted.
func equalText(y string, j gjson.Result) bool {
	switch {
	case j.Type == gjson.String:
		return equalWords(y, j.Str) || datePattern.MatchString(y)
	case j.IsBool():
		return slices.Contains([]string{"yes", "no", "on", "off", "y", "n"}, strings.ToLower(y))
	case j.Type == gjson.Number:
		_, err := strconv.ParseFloat(y, 64)
		return err != nil && strings.ContainsAny(y, "0123456789")
	}
	return strings.TrimSpace(y) == "" && (!j.Exists() || j.Type == gjson.Null)
}
