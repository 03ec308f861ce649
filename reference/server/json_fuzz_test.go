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

// FuzzDecode compares decode with encoding/json, which reads the same values.
func FuzzDecode(f *testing.F) {
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
