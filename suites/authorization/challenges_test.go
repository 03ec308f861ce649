package authorization

import (
	"net/http"
	"reflect"
	"testing"
)

func TestParsesChallenges(t *testing.T) {
	for header, want := range map[string][]challenge{
		``:       nil,
		`Bearer`: {{"bearer", map[string]string{}}},
		`Bearer realm="a, b", error="invalid_token"`: {{
			"bearer", map[string]string{"realm": "a, b", "error": "invalid_token"},
		}},
		`Basic realm="x", BEARER scope = "a b" , Error=insufficient`: {
			{"basic", map[string]string{"realm": "x"}},
			{"bearer", map[string]string{"scope": "a b", "error": "insufficient"}},
		},
		`Negotiate YWJj, Bearer resource_metadata="http://h/.w?a=\"b"`: {
			{"negotiate", map[string]string{}}, {"bearer", map[string]string{"resource_metadata": `http://h/.w?a="b`}},
		},
		`Bearer error="open`: {{"bearer", map[string]string{}}},
		`Bearer error="a\\`:  {{"bearer", map[string]string{}}},
		`Negotiate YWJj==, Bearer`: {
			{"negotiate", map[string]string{}}, {"bearer", map[string]string{}},
		},
		"Negotiate YWJj=\t, Bearer\ta\t=\tb": {
			{"negotiate", map[string]string{}}, {"bearer", map[string]string{"a": "b"}},
		},
		`realm="x"`: nil,
	} {
		h := http.Header{}
		if header != "" {
			h.Set("WWW-Authenticate", header)
		}
		got := challenges(h)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %v\nwant %v", header, got, want)
		}
	}
}
