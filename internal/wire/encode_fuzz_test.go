package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// FuzzEncode compares Encode with encoding/json, which writes the same bytes.
func FuzzEncode(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `7`, ` { "a" : [ 1 , -2.50e+3 , true , false , null , [] , {} ] } `, `[{"a":1}]`, `"{}"`,
		`{"\u0061\n\"\\":"\ud83d\ude00 \ud800 \ud800\u0041 \u2028"}`, `{"b":{"d":1,"c":2},"a":"\\\""}`,
		"{\"a\":\"<&> Grüße, 図書館 \u007f \u2028\"}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if wire.Parse(raw).SyntaxError != nil {
			return
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		assertEncoding(t, v)
	})
}

func assertEncoding(t *testing.T, v any) {
	t.Helper()
	var want bytes.Buffer
	general := json.NewEncoder(&want)
	general.SetEscapeHTML(false)
	if err := general.Encode(v); err != nil {
		t.Fatal(err)
	}
	if got := string(wire.Encode(v)) + "\n"; got != want.String() {
		t.Errorf("got %s, want %s", got, want.String())
	}
}

func TestEncodesCalls(t *testing.T) {
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`:        wire.EncodeCall(wire.StringID("a"), "ping", nil),
		`{"jsonrpc":"2.0","method":"n\"","params":{"a":1}}`: wire.EncodeCall(wire.ID{}, `n"`, map[string]any{"a": 1}),
	} {
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestEncodesAsEncodingJSON(t *testing.T) {
	assertEncoding(t, map[string]any{
		"b": []any{1, -2, 0.5, json.Number("1e9"), nil, true, "\xff\x00\t\n<&>\u2028\\\"é\u007f", []any{}, []any(nil)},
		"a": map[string]any{
			"d": map[string]any{}, "c": map[string]any(nil), "\"\n": []map[string]any{{"x": 1}}, "e": []string{"y"},
		},
		"c": map[string]string{"z": "<"}, "d": json.RawMessage("1.0"), "e": []byte("bytes"), "f": int64(7),
		"g": struct {
			A string `json:"a,omitempty"`
			B map[string]any
		}{B: map[string]any{"k": 1}},
	})
	for range 3 { // encoders are used again
		assertEncoding(t, []any{map[string]any{"b": map[string]any{"d": 1, "c": 2}, "a": 3}, "text"})
	}
}
