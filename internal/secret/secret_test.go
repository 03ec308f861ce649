package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"
)

const token = `kB7/<w9"é>+z&Q31x`

func TestHidesEncodings(t *testing.T) {
	t.Parallel()
	var s Set
	s.Add(token)
	quoted, _ := json.Marshal(token)
	for name, text := range map[string]string{
		"plain": token, "query": url.QueryEscape(token), "path": url.PathEscape(token),
		"HTML": html.EscapeString(token), "JSON": string(quoted), "hex": hex.EncodeToString([]byte(token)),
		"base64":        base64.StdEncoding.EncodeToString([]byte(token)),
		"base64 URL":    base64.URLEncoding.EncodeToString([]byte(token)),
		"after 1 byte":  base64.StdEncoding.EncodeToString([]byte("u" + token + "!")),
		"after 2 bytes": base64.StdEncoding.EncodeToString([]byte("u:" + token)),
		"Basic":         base64.StdEncoding.EncodeToString([]byte("user:" + token)),
	} {
		hidden := s.Hide("before " + text + " after")
		if !strings.HasPrefix(hidden, "before ") || !strings.HasSuffix(hidden, " after") ||
			!strings.Contains(hidden, Mask) || len(hidden) > len("before  after")+len(Mask)+16 {
			t.Errorf("%s: %q became %q", name, text, hidden)
		}
	}
}

func TestHidesPartsOfTokens(t *testing.T) {
	t.Parallel()
	var s Set
	s.AddToken("0123456789abcdefghij")
	for text, want := range map[string]string{
		"first 0123456789abc rest": "first " + Mask + " rest",
		"then defghij alone":       "then defghij alone", // too short to be told from other text
		"6789abcdefghij, 01234":    Mask + ", 01234",
		"nothing here":             "nothing here",
	} {
		if got := s.Hide(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestLeavesCommonValues(t *testing.T) {
	t.Parallel()
	var s Set
	for _, value := range []string{"", "abc", "true", "false", "3000", "1234567"} {
		s.Add(value)
		s.AddToken(value)
	}
	const text = `{"abc":true,"port":3000,"id":1234567,"ok":false}`
	if got := s.Hide(text); got != text {
		t.Errorf("%s became %s", text, got)
	}
}

func TestHidesInValues(t *testing.T) {
	t.Parallel()
	type inner struct {
		Raw  []byte
		JSON json.RawMessage
	}
	type value struct {
		Text   string
		List   []string
		Map    map[string][]string
		Any    map[string]any
		Ptr    *inner
		Number int
	}
	v := value{
		Text: "a " + token, List: []string{token}, Map: map[string][]string{"k": {token}},
		Any: map[string]any{"x": token, "y": []any{token, 1}, "z": nil},
		Ptr: &inner{Raw: []byte(token), JSON: json.RawMessage(`"` + token + `"`)}, Number: 1,
	}
	var s Set
	s.Add(token)
	s.HideIn(&v)
	text, err := json.Marshal(map[string]any{
		"v": v.Text, "l": v.List, "m": v.Map, "a": v.Any, "r": string(v.Ptr.Raw), "j": string(v.Ptr.JSON),
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), Mask); n != 7 || v.Number != 1 {
		t.Errorf("%d of 7 texts are hidden: %s", n, text)
	}
}

func TestNilSetHidesNothing(t *testing.T) {
	t.Parallel()
	var s *Set
	s.Add(token)
	s.AddToken(token)
	text := token
	s.HideIn(&text)
	if text != token || s.Hide(token) != token {
		t.Errorf("hidden: %q", text)
	}
}
