package yamldoc

import (
	"strings"
	"testing"
)

func TestParseTakesOneDocument(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n":             "",
		"# nothing\n":        "",
		"a: 1\n---\nb: 2\n":  "line 3: a second document; a list is one",
		"a: [1\n":            "line 1: ",
		"- x\n---\n- y: 1\n": "line 3: a second document; a list is one",
	} {
		node, err := Parse([]byte(text), "a list is one")
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		case err == nil && (node == nil) != !strings.Contains(text, "a:"):
			t.Errorf("%q: the root is %v", text, node)
		}
	}
}

func TestLineIsThatOfTheFirstKey(t *testing.T) {
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
