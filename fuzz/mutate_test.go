package fuzz

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestTreeEdits(t *testing.T) {
	const frame = `{"id":4,"method":"x/y","params":{"p/q":[1,"é"]}}`
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{Op: opDrop, At: "/params/p~1q"}, `{"id":4,"method":"x/y","params":{}}`},
		{Edit{Op: opDrop, At: "/params/p~1q/0"}, `{"id":4,"method":"x/y","params":{"p/q":["é"]}}`},
		{Edit{Op: opDrop, At: "/gone"}, frame},
		{Edit{Op: opDuplicate, At: "/id"}, `{"id":4,"id":4,"method":"x/y","params":{"p/q":[1,"é"]}}`},
		{Edit{Op: opDuplicate, At: "/id", Value: "null"}, `{"id":4,"id":null,"method":"x/y","params":{"p/q":[1,"é"]}}`},
		{Edit{Op: opSet, At: "/params", Value: "empty array"}, `{"id":4,"method":"x/y","params":[]}`},
		{
			Edit{Op: opAdd, At: "/params", Name: "x", Value: "0"},
			`{"id":4,"method":"x/y","params":{"p/q":[1,"é"],"x":0}}`,
		},
		{Edit{Op: opRename, At: "/method"}, `{"id":4,"Method":"x/y","params":{"p/q":[1,"é"]}}`},
		{Edit{Op: opRename, At: "/method", Name: "x"}, `{"id":4,"x":"x/y","params":{"p/q":[1,"é"]}}`},
		{Edit{Op: opID, Value: "a number and .0"}, `{"id":9.0,"method":"x/y","params":{"p/q":[1,"é"]}}`},
		{Edit{Op: opReuse, N: 1}, `{"id":71,"method":"x/y","params":{"p/q":[1,"é"]}}`},
		{Edit{Op: opMethod, Name: "z"}, `{"id":4,"method":"z","params":{"p/q":[1,"é"]}}`},
		{Edit{Op: opCursor, Value: "a number"}, `{"id":4,"method":"x/y","params":{"p/q":[1,"é"],"cursor":1}}`},
		{
			Edit{Op: opMeta, Name: "k", Value: "null"},
			`{"id":4,"method":"x/y","params":{"p/q":[1,"é"],"_meta":{"k":null}}}`,
		},
		{Edit{Op: opRespell, At: "/params/p~1q/1"}, `{"id":4,"method":"x/y","params":{"p/q":[1,"\u00e9"]}}`},
		{Edit{Op: opRespell, At: "/id"}, `{"id":4.0,"method":"x/y","params":{"p/q":[1,"é"]}}`},
	} {
		root := parseTree(frame)
		c.edit.apply(root, 9, []string{"70", "71"})
		if got := string(root.appendJSON(nil)); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.edit, got, c.want)
		}
	}
}

func TestByteEdits(t *testing.T) {
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{Op: opCut, N: 500}, "ab\n"},
		{Edit{Op: opFlip, N: 0}, "`bcd\n"},
		{Edit{Op: opInsert, N: 500, Value: "an invalid byte"}, "ab\xffcd\n"},
		{Edit{Op: opPrefix, Value: "a byte order mark"}, "\ufeffabcd\n"},
		{Edit{Op: opSuffix, Value: "a brace"}, "abcd}\n"},
		{Edit{Op: opErase, N: 999}, "abc\n"},
		{Edit{Op: opJoin}, "abcd"},
		{Edit{Op: opBlank, N: 1}, "\n\nabcd\n"},
		{Edit{Op: opCRLF}, "abcd\r\n"},
	} {
		before, line, end := c.edit.applyToBytes(nil, []byte("abcd"), []byte("\n"))
		if got := string(before) + string(line) + string(end); got != c.want {
			t.Errorf("%s: %q, want %q", c.edit, got, c.want)
		}
		c.edit.applyToBytes(nil, nil, nil) // must not panic
	}
}

func TestValuesAreJSONWithUniqueNames(t *testing.T) {
	for _, list := range [][]value{jsonValues, idValues, cursorValues} {
		seen := map[string]bool{}
		for _, v := range list {
			if seen[v.name] {
				t.Errorf("two values are named %q", v.name)
			}
			seen[v.name] = true
			if m := wire.Parse([]byte(v.raw(5))); m.SyntaxError != nil {
				t.Errorf("%s: %v", v.name, m.SyntaxError)
			}
		}
	}
	for _, v := range idValues {
		a, b := v.raw(5), v.raw(6)
		if (wire.ID{Raw: a}).IsValid() && a == b && a != "0" && a != `""` {
			t.Errorf("the id %s is the same in two plans: %s", v.name, a)
		}
	}
}
