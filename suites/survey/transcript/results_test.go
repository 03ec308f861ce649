package transcript

import (
	"testing"

	"github.com/tidwall/gjson"
)

func TestEqualJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1.0 } `, true},
		{`"\u0041"`, `"A"`, true},
		{`1`, `"1"`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,2]`, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`true`, `false`, false},
		{`{}`, `[]`, false},
		{`9007199254740993`, `9007199254740992`, false},
	} {
		if got := EqualJSON(gjson.Parse(c.a), gjson.Parse(c.b)); got != c.want {
			t.Errorf("%s and %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
