package server

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestMisfitsDoNotFitForTheReasonGiven(t *testing.T) {
	for input, want := range map[string][]string{
		`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`:                         {`without the required "n"`, `with an object of our own for "n"`},
		`{"type":"object","properties":{"o":{"type":"object"},"s":{"type":"string"}}}`:                     {`with an object of our own for "s"`},
		`{"type":"object","properties":{"any":{}}}`:                                                        nil,
		`{"type":"object","additionalProperties":false}`:                                                   nil,
		`{"type":"object","required":["x"]}`:                                                               {`without the required "x"`},
		`{"$schema":"urn:unknown","type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`: nil,
	} {
		var got []string
		for _, m := range misfits(gjson.Parse(`{"name":"t","inputSchema":` + input + `}`)) {
			got = append(got, m.why)
			if !gjson.Valid(m.raw) || !gjson.Parse(m.raw).IsObject() {
				t.Errorf("%s: %s is no object", input, m.raw)
			}
		}
		if strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("%s: misfits %q, want %q", input, got, want)
		}
	}
}

func TestArgumentsAreDifferent(t *testing.T) {
	tool := gjson.Parse(`{"inputSchema":{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}}`)
	got := arguments(tool, 2)
	if len(got) != 2 || got[0] == got[1] {
		t.Errorf("arguments of a boolean: %q", got)
	}
	if got := arguments(gjson.Parse(`{"inputSchema":{"type":"object"}}`), 2); len(got) != 1 {
		t.Errorf("arguments of a tool without parameters: %q", got)
	}
	if got := arguments(gjson.Parse(`{"inputSchema":{"type":"object","not":{}}}`), 2); len(got) != 0 {
		t.Errorf("arguments that cannot exist: %q", got)
	}
}

func TestSwapCase(t *testing.T) {
	if got := swapCase("getUser_2.Ä"); got != "GETuSER_2.ä" {
		t.Errorf("swapCase gives %q", got)
	}
}
