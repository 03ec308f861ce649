package yamldoc

import (
	"strings"
	"testing"
)

func addDocuments(f *testing.F) {
	for _, text := range []string{
		"", "# nothing\n", "a: 1\nb: [x, {c: true}]\n", "a: b: c\n", "- x\n", "a: 1\na: 2\n", "a: [1\n",
		"a: 1\n---\nb: 2\n", "\ufeffa: 1", "a: &x {b: 1}\nc: *x\nd: {<<: *x}\n",
		"a: |\n  text\n  more\n", "? a\n: b\n", "a: !!binary eA==\n", "a: !t [1]\n", "a: 2025-06-18\n", "a: .nan\n",
		"%YAML 1.2\n---\na: 1\n...\n", "a: \"\\ud800\"\n", "\x00", "a: *x",
		"name: skill\ndescription: >-\n  what it does\n  and when\nmetadata: {author: me}\n", strings.Repeat("[", 50),
	} {
		f.Add([]byte(text))
	}
}

// FuzzMapping reads arbitrary text as a mapping. An error is one line, and a
// value has one of the documented types.
func FuzzMapping(f *testing.F) {
	addDocuments(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Mapping(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || err.Error() == "" {
				t.Errorf("the error is %q", err)
			}
			return
		}
		assertTypes(t, v, 0)
	})
}

func assertTypes(t *testing.T, v any, depth int) {
	t.Helper()
	if depth > 20 {
		return
	}
	switch v := v.(type) {
	case nil, bool, string, int, int64, uint64, float64, []byte:
	case []any:
		for _, item := range v {
			assertTypes(t, item, depth+1)
		}
	case map[string]any:
		for _, member := range v {
			assertTypes(t, member, depth+1)
		}
	default:
		t.Errorf("a value is a %T", v)
	}
}

// FuzzParse reads arbitrary text as one document. An error is one line, and a
// root has a line.
func FuzzParse(f *testing.F) {
	addDocuments(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		root, err := Parse(text, "a test is one")
		switch {
		case err != nil && (strings.Contains(err.Error(), "\n") || err.Error() == ""):
			t.Errorf("the error is %q", err)
		case err == nil && root != nil:
			lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 1
			if line := Line(root); line < 1 || line > lines {
				t.Errorf("the root begins on line %d of %d", line, lines)
			}
		}
	})
}
