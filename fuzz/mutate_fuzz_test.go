package fuzz

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// FuzzTree parses arbitrary JSON as a tree. The text of the tree is that of the
// JSON without white space, duplicate members included. Without duplicate
// members every pointer names a value.
func FuzzTree(f *testing.F) {
	for _, bad := range fixtures.Malformed() {
		f.Add(bad.Bytes)
	}
	for _, text := range []string{
		`{"a":1,"a":[{"b/c":"~"}]}`, ` [ 1.50 , "\u00e9" ] `, `""`, `{"":{"":0}}`, `{"\ud800":1}`, `{"~/":[{}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		tree := parseTree(string(text))
		if got := tree.appendJSON(nil); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q is written as %q, want %q", text, got, &want)
		}
		if len(wire.Parse(text).DuplicateKeys) > 0 {
			return
		}
		for _, pointer := range tree.pointers() {
			if tree.valueAt(pointer) == nil {
				t.Errorf("%q: %q names no value", text, pointer)
			}
		}
	})
}

// FuzzEdits edits arbitrary frames. A tree remains valid JSON after any edit of
// the tree, and a value that is respelled remains the same.
func FuzzEdits(f *testing.F) {
	ops := []string{opDrop, opDuplicate, opSet, opAdd, opRename, opID, opReuse, opMethod, opCursor, opMeta, opRespell}
	for i, e := range fixtures.Golden(spec.V2025_06_18) {
		last := e.Frames[len(e.Frames)-1].Raw
		f.Add(last, uint8(i), uint8(i), "x", uint8(i), 3)
	}
	f.Add([]byte(`{"é":1,"":2,"\u0041":3}`), uint8(4), uint8(0), "", uint8(0), 0)
	f.Fuzz(func(t *testing.T, raw []byte, op, place uint8, name string, value uint8, n int) {
		if !json.Valid(raw) || !utf8.Valid(raw) || n < 0 {
			return
		}
		tree := parseTree(string(raw))
		e := Edit{Op: ops[int(op)%len(ops)], Name: name, Value: jsonValues[int(value)%len(jsonValues)].name, N: n}
		if pointers := tree.pointers(); len(pointers) > 0 {
			e.At = pointers[int(place)%len(pointers)]
		}
		e.apply(tree, 1, []string{"1", `"a"`})
		edited := tree.appendJSON(nil)
		if !json.Valid(edited) || !utf8.Valid(edited) {
			t.Fatalf("%s made %q of %q", e, edited, raw)
		}
		if e.Op == opRespell && !bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) {
			assertSameValue(t, raw, edited)
		}
	})
}

func assertSameValue(t *testing.T, a, b []byte) {
	t.Helper()
	var x, y any
	errX, errY := json.Unmarshal(a, &x), json.Unmarshal(b, &y)
	if errX != nil || errY != nil {
		return // a number that no float64 holds
	}
	wantText, errX := json.Marshal(x)
	gotText, errY := json.Marshal(y)
	if errX != nil || errY != nil || !bytes.Equal(wantText, gotText) {
		t.Errorf("%q is not the value of %q", b, a)
	}
}

// FuzzToolPolicy reads arbitrary lines as a server in Go reads them. A line that
// calls a forbidden tool must not be allowed.
func FuzzToolPolicy(f *testing.F) {
	const known = `{"at":"x"}`
	policy := toolPolicy{tools: map[string]permission{
		"look": {arguments: []string{known}}, "remove": {}, "mine": {anyArguments: true},
	}}
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove"}}`,
		`{"METHOD":"tools/call","params":{"name":"look","arguments":{"at":"y"}}}`,
		`{"method":"tools/call","params":{"name":"look","arguments":{"at":"x"}}}`,
		`{"method":"tools\/call","params":{"name":"mine","name":"remove"}}`,
		`{"method":"tools/call","params":null,"params":{"Name":"look","arguments":null}}`,
		`{"metho\u0064":"tools/call","params":{"name":"rem\u006fve"}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var m struct {
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if json.Unmarshal(line, &m) != nil || m.Method != "tools/call" || !policy.allows(line) {
			return
		}
		switch m.Params.Name {
		case "look":
			var arguments bytes.Buffer
			if json.Compact(&arguments, m.Params.Arguments) != nil || arguments.String() != known {
				t.Errorf("%q calls look with %q", line, m.Params.Arguments)
			}
		case "remove":
			t.Errorf("%q calls remove", line)
		}
	})
}
