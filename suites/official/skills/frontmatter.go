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
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
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

func skillTextsFronted(t *check.T) {
	eachRead(t, "no SKILL.md could be read", func(f fileRead) bool {
		content, ok := f.content()
		if !ok || !f.main() {
			return false
		}
		front, err := frontmatterOf(content)
		if err != nil {
			t.Fail("a frontmatter", contract.AsJSON(wire.Clip(string(content), 120)), "%s: %v", f.skill, err)
		}
		for _, member := range []string{"name", "description"} {
			if v, ok := front[member].(string); !ok || strings.TrimSpace(v) == "" {
				t.Fail("a frontmatter with "+member, contract.AsJSON(wire.Clip(string(content), 120)), "the frontmatter of %s has no %s that is a text", f.skill, member)
			}
		}
		return true
	})
}

// skillTextsSame leaves what cannot be parsed to the check above. A skill may
// change between entry and file, so that both are asked for again.
func skillTextsSame(t *check.T) {
	eachRead(t, "no SKILL.md with a frontmatter could be read", func(f fileRead) bool {
		differ := func(s skill) (string, bool) {
			content, ok := f.content()
			front, err := frontmatterOf(content)
			if entry := s.Get("frontmatter"); ok && err == nil && entry.IsObject() {
				return unlike(front, entry), true
			}
			return "", false
		}
		if !f.main() {
			return false
		}
		key, ok := differ(f.skill)
		if !ok || key == "" {
			return ok
		}
		fresh, ok := refreshed(t, f.skill)
		if f.answer, f.err = usage.ReadResource(t, f.uri); !ok || f.err != nil || !fresh.Get("frontmatter").IsObject() {
			return false
		}
		if key, ok = differ(fresh); key != "" {
			t.Mark(f.answer)
			t.Fail("the same "+key, contract.ShortJSON(wire.Member(fresh.Get("frontmatter"), key)), "%s in the frontmatter of %s is not as in its SKILL.md", wire.Clip(key, 80), f.skill)
		}
		return ok
	})
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
