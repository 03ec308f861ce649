package skills

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

func TestRootOfSkill(t *testing.T) {
	for uri, want := range map[string][2]string{
		"skill://git-workflow/SKILL.md":          {"skill://git-workflow", "git-workflow"},
		"skill://acme/billing/refunds/SKILL.md":  {"skill://acme/billing/refunds", "refunds"},
		"github://owner/repo/re%66unds/SKILL.md": {"github://owner/repo/re%66unds", "refunds"},
		"urn:skills:refunds/SKILL.md":            {"urn:skills:refunds", "refunds"},
		"skill://refunds/skill.md":               {},
		"skill://acme:billing/refunds/SKILL.md":  {"skill://acme:billing/refunds", "refunds"},
		"skill://a:b/SKILL.md":                   {"skill://a:b", "a:b"},
		"skill://refunds":                        {},
		"skill:///SKILL.md":                      {},
		"/refunds/SKILL.md":                      {},
		"":                                       {},
	} {
		s := skill{Result: gjson.Parse(`{"uri":` + contract.Quote(uri) + `}`)}
		if got := s.root(); got != want[0] || got != "" && lastSegment(got) != want[1] {
			t.Errorf("%s is in %q, called %q; want %q", uri, got, lastSegment(got), want)
		}
	}
	s := skill{Result: gjson.Parse(`{"uri":"skill://a/b/SKILL.md"}`)}
	for uri, want := range map[string]bool{
		"skill://a/b/SKILL.md": true, "skill://a/b/c/d.md": true, "skill://a/b": false, "skill://a/b/": false,
		"skill://a/bc/d.md": false, "skill://a/b/../c.md": false, "skill://a/b//c.md": false,
	} {
		if s.contains(uri) != want {
			t.Errorf("%s contains %s: %v", s, uri, !want)
		}
	}
}

func TestIsValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "git-workflow": true, "v2": true, "größe": true, strings.Repeat("a", 64): true,
		"": false, "Git": false, "-git": false, "git-": false, "git--flow": false, "git_flow": false, "git flow": false,
		"git.flow": false, strings.Repeat("a", 65): false, strings.Repeat("ü", 64): true,
		"e\u0301t": true, "12": true, "a\u00b2": false, "a-": false,
	} {
		if isValidName(name) != want {
			t.Errorf("%q is well named: %v", name, !want)
		}
	}
}

func TestFrontmatterOf(t *testing.T) {
	for text, want := range map[string]string{
		"---\nname: a\n---\n\n# A\n":          "a",
		"---\r\nname: a\r\n---\r\ntext":       "a",
		"\ufeff---\nname: a\n---":             "a",
		"---\nname: a # b\nx: \"---\"\n---\n": "a",
		"--- \nname: a\n--- \n---\n":          "a",
		"# A\n---\nname: a\n---\n":            "",
		"---\nname: a\n":                      "",
		"---\nname: a: b\n---\n":              "",
		"---\n- name\n---\n":                  "",
		"":                                    "",
	} {
		front, err := frontmatterOf([]byte(text))
		if got, _ := front["name"].(string); got != want || (err == nil) != (want != "") {
			t.Errorf("%q has the name %q, %v", text, got, err)
		}
	}
	if front, err := frontmatterOf([]byte("---\n---\n")); err != nil || len(front) != 0 {
		t.Errorf("an empty frontmatter is %v, %v", front, err)
	}
}

// frontmatters are a file and an entry, with the first member in which they differ.
var frontmatters = []struct{ yaml, json, differs string }{
	{"a: x\nb: 1", `{"a":"x","b":1}`, ""},
	{"a: x", `{"a":"y"}`, "a"},
	{"a: x", `{}`, "a"},
	{"a: x", `{"a":"x","b":null}`, ""},
	{"a: x", `{"a":"x","b":"y"}`, "b"},
	{"a:", `{}`, ""},
	{"a: >\n  x\n  y\n", `{"a":"x y\n"}`, ""},
	{"a: [x, 1]", `{"a":["x",1]}`, ""},
	{"a: [x, 1]", `{"a":["x"]}`, "a"},
	{"a: [x, 1]", `{"a":[1,"x"]}`, "a"},
	{"a: [x]", `{"a":"x"}`, "a"},
	{"a: {b: {c: d}}", `{"a":{"b":{"c":"d"}}}`, ""},
	{"a: {b: {c: d}}", `{"a":{"b":{"c":"e"}}}`, "a"},
	{"a: {b: c}", `{"a":"b: c"}`, "a"},
	{"a: 2026-01-02", `{"a":"2026-01-02T00:00:00.000Z"}`, ""},
	{"a: 1.10", `{"a":1.1}`, ""},
	{"a: 1.10", `{"a":"1.10"}`, ""},
	{"a: 1.10", `{"a":"1.2"}`, "a"},
	{"a: 1.10", `{"a":1.2}`, "a"},
	{"a: \"1.10\"", `{"a":1.1}`, "a"},
	{"a: 12:30", `{"a":750}`, ""},
	{"a: true", `{"a":true}`, ""},
	{"a: true", `{"a":"true"}`, ""},
	{"a: true", `{"a":false}`, "a"},
	{"a: yes", `{"a":true}`, ""},
	{"a: x", `{"a":true}`, "a"},
	{"a: x", `{"a":1}`, "a"},
	{"a: x", `{"a":["x"]}`, "a"},
	{"a: x", `{"a":null}`, "a"},
	{"a: ''", `{"a":null}`, ""},
	{"a: ''", `{}`, ""},
	{"a: ''", `{"a":[]}`, "a"},
	{"a:", `{"a":null}`, ""},
	{"a:", `{"a":""}`, ""},
	{"a:", `{"a":"x"}`, "a"},
	{"a:", `{"a":false}`, "a"},
	{"a: []", `{"a":[]}`, ""},
	{"a: [x]", `{"a":{"0":"x"}}`, "a"},
	{"a: {b: c}", `{"a":["c"]}`, "a"},
	{"a: true", `{"a":"TRUE"}`, ""},
	{"a: true", `{"a":"x"}`, "a"},
	{"a: true", `{"a":1}`, "a"},
	{"a: yes", `{"a":1}`, "a"},
	{"a: maybe", `{"a":true}`, "a"},
	{"a: Off", `{"a":false}`, ""},
	{"a: 2026-01-02", `{"a":20260102}`, ""},
	{"a: 1", `{"a":"one"}`, ""},
	{"a: 1", `{"a":true}`, "a"},
	{"a: 1", `{"a":[1]}`, "a"},
}

// A value that some reader of YAML makes of a plain scalar is equal to it; a value that
// none makes is not.
func TestComparesFrontmatterOfFileAndEntry(t *testing.T) {
	for _, c := range frontmatters {
		front, err := frontmatterOf([]byte("---\n" + c.yaml + "\n---\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := firstDifference(front, gjson.Parse(c.json)); got != c.differs {
			t.Errorf("%q and %s differ in %q, want %q", c.yaml, c.json, got, c.differs)
		}
	}
}

func TestChildrenOfDirectory(t *testing.T) {
	s := skill{Result: gjson.Parse(`{"uri":"skill://a/SKILL.md","resources":[{"uri":"skill://a/SKILL.md"},` +
		`{"uri":"skill://a/b/c/d.md"},{"uri":"skill://a/b/e.md"},{"uri":"skill://ab/f.md"}]}`)}
	for dir, want := range map[string]string{
		"skill://a": "skill://a/SKILL.md > skill://a/b", "skill://a/b": "skill://a/b/e.md > skill://a/b/c",
		"skill://a/b/c": "skill://a/b/c/d.md > ", "skill://a/x": " > ",
	} {
		files, below := s.childrenOf(dir)
		if got := contract.Join(files) + " > " + contract.Join(below); got != want {
			t.Errorf("in %s are %q, want %q", dir, got, want)
		}
	}
}
