package yamldoc

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseAcceptsOneDocument(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n":             "",
		"# nothing\n":        "",
		"a: 1\n---\nb: 2\n":  "line 3: a second document; a list is one",
		"a: [1\n":            "line 1: ",
		"- x\n---\n- y: 1\n": "line 3: a second document; a list is one",
	} {
		node, err := Parse([]byte(text), "a list is one")
		got := ""
		if err != nil {
			got = err.Error()
		}
		isRight := got == want || want != "" && strings.HasPrefix(got, want)
		if !isRight || strings.Contains(got, "\n") {
			t.Errorf("%q: the error is %q, want %q", text, got, want)
		}
		if err == nil && (node == nil) != !strings.Contains(text, "a:") {
			t.Errorf("%q: the root is %v", text, node)
		}
	}
}

func TestMappingRequiresStringKeys(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [x, {c: true}]\n":             "map[a:1 b:[x map[c:true]]]",
		"":                                      "map[]",
		"- a\n":                                 "line 1: ",
		"a: 1\na: 2\n":                          "line 2: ",
		"a: b: c\n":                             "line 1: ",
		"\ufeffa: 1\n":                          "map[a:1]",
		"a: " + strings.Repeat("x", maxMapping): "it is longer than",
	} {
		v, err := Mapping([]byte(text))
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestLineReturnsLineOfFirstKey(t *testing.T) {
	for text, want := range map[string]int{"\n\na: 1\nb: 2\n": 3, "\na: 1\n": 2, "- x\n": 1} {
		node, err := Parse([]byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := Line(node); got != want {
			t.Errorf("%q begins on line %d, want %d", text, got, want)
		}
	}
}
