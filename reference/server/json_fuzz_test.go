package server

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// FuzzJSON compares decode and encode with encoding/json, which reads the same values
// and writes the same bytes.
func FuzzJSON(f *testing.F) {
	for _, rev := range spec.Revisions() {
		for _, e := range fixtures.Golden(rev) {
			for _, frame := range e.Frames {
				f.Add(frame.Raw)
			}
		}
	}
	for _, text := range []string{
		`{}`, ` { "a" : [ 1 , -2.50e+3 , true , false , null , [] , {} ] } `, `[{"a":1}]`, `"{}"`, `7`,
		`{"a":1,"a":{"b":2},"a":{"c":3}}`, `{"\u0061\n\"\\":"\ud83d\ude00 \ud800 \ud800\u0041 \u2028"}`,
		"{\"a\":\"<&> Grüße, 図書館 \u007f \u2028\"}", `{"a":"\\","b":"\\\""}`,
		`{"a":[` + strings.Repeat("9", maxNumberLength+1) + `]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := wire.Parse(raw)
		if m.SyntaxError != nil {
			return
		}
		var want any
		general := json.NewDecoder(bytes.NewReader(raw))
		general.UseNumber()
		if err := general.Decode(&want); err != nil {
			t.Fatal(err)
		}
		wantObject, _ := want.(Object)
		got, err := decode(m.Value().Raw)
		if !reflect.DeepEqual(got, wantObject) {
			t.Fatalf("got %#v, want %#v", got, wantObject)
		}
		if isLong := holdsLongNumber(want); isLong != (err != nil) && got != nil && m.DuplicateKeys == nil {
			t.Errorf("the error is %v, a number is too long: %v", err, isLong)
		}
		assertEncoding(t, want)
	})
}

// holdsLongNumber reports whether a number of a value is longer than decode allows.
func holdsLongNumber(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return len(v) > maxNumberLength
	case []any:
		return slices.ContainsFunc(v, holdsLongNumber)
	case Object:
		for _, e := range v {
			if holdsLongNumber(e) {
				return true
			}
		}
	}
	return false
}

func assertEncoding(t *testing.T, v any) {
	t.Helper()
	var want bytes.Buffer
	general := json.NewEncoder(&want)
	general.SetEscapeHTML(false)
	if err := general.Encode(v); err != nil {
		t.Fatal(err)
	}
	if got := string(encode(v)) + "\n"; got != want.String() {
		t.Errorf("got %s, want %s", got, want.String())
	}
}

func TestEncodesAsEncodingJSON(t *testing.T) {
	assertEncoding(t, Object{
		"b": []any{1, -2, 0.5, json.Number("1e9"), nil, true, "\xff\x00\t\n<&>\u2028\\\"é\u007f", []any{}, []any(nil)},
		"a": Object{"d": Object{}, "c": Object(nil), "\"\n": []Object{{"x": 1}}, "e": []string{"y"}},
		"c": map[string]string{"z": "<"}, "d": rawID(wire.ID{Raw: "1.0"}), "e": []byte("bytes"), "f": int64(7),
		"g": struct {
			A string `json:"a,omitempty"`
			B Object
		}{B: Object{"k": 1}},
	})
	for range 3 { // encoders are used again
		assertEncoding(t, []any{Object{"b": Object{"d": 1, "c": 2}, "a": 3}, "text"})
	}
}
