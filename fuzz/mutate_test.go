package fuzz

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestEditsOfTreesDoWhatTheirNamesTell(t *testing.T) {
	const frame = `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50}}`
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{Op: opDrop, At: "/params/a~1b"}, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"n":1.50}}`},
		{Edit{Op: opDrop, At: "/params/a~1b/0"}, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"a/b":["é"],"n":1.50}}`},
		{Edit{Op: opDrop, At: "/gone"}, frame},
		{Edit{Op: opDuplicate, At: "/id"}, `{"jsonrpc":"2.0","id":4,"id":4,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50}}`},
		{Edit{Op: opDuplicate, At: "/id", Value: "null"}, `{"jsonrpc":"2.0","id":4,"id":null,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50}}`},
		{Edit{Op: opSet, At: "/params", Value: "empty array"}, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":[]}`},
		{Edit{Op: opAdd, At: "/params", Name: "__proto__", Value: "true"}, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50,"__proto__":true}}`},
		{Edit{Op: opRename, At: "/method"}, `{"jsonrpc":"2.0","id":4,"Method":"tools/list","params":{"a/b":[1,"é"],"n":1.50}}`},
		{Edit{Op: opRename, At: "/method", Name: "x"}, `{"jsonrpc":"2.0","id":4,"x":"tools/list","params":{"a/b":[1,"é"],"n":1.50}}`},
		{Edit{Op: opID, Value: "a number and .0"}, `{"jsonrpc":"2.0","id":9.0,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50}}`},
		{Edit{Op: opReuse, N: 1}, `{"jsonrpc":"2.0","id":71,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50}}`},
		{Edit{Op: opMethod, Name: "x/y"}, `{"jsonrpc":"2.0","id":4,"method":"x/y","params":{"a/b":[1,"é"],"n":1.50}}`},
		{Edit{Op: opCursor, Value: "a number"}, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50,"cursor":1}}`},
		{Edit{Op: opMeta, Name: "k", Value: "null"}, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50,"_meta":{"k":null}}}`},
		{Edit{Op: opRespell, At: "/params/a~1b/1"}, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"a/b":[1,"\u00e9"],"n":1.50}}`},
		{Edit{Op: opRespell, At: "/id"}, `{"jsonrpc":"2.0","id":4.0,"method":"tools/list","params":{"a/b":[1,"é"],"n":1.50}}`},
	} {
		root := parseTree(frame)
		c.edit.apply(root, 9, []string{"70", "71"})
		if got := string(root.appendJSON(nil)); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.edit, got, c.want)
		}
	}
}

func TestEditsOfBytesDoWhatTheirNamesTell(t *testing.T) {
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
		c.edit.applyToBytes(nil, nil, nil) // nothing to edit is no reason to fail
	}
}

func TestNamedValuesAreJSONOfDifferentNames(t *testing.T) {
	for _, list := range [][]value{jsonValues, idValues, cursorValues} {
		seen := map[string]bool{}
		for _, v := range list {
			if seen[v.name] {
				t.Errorf("two values are named %q", v.name)
			}
			seen[v.name] = true
			if m := wire.Parse([]byte(v.raw(5))); m.Fault != nil {
				t.Errorf("%s: %v", v.name, m.Fault)
			}
		}
	}
	for _, v := range idValues {
		if a, b := v.raw(5), v.raw(6); wire.ID.Usable(wire.ID{Raw: a}) && a == b && a != "0" && a != `""` {
			t.Errorf("the id %s is the same in two plans: %s", v.name, a)
		}
	}
}

// What is written must be what the plan says, frame by frame, with ids of its
// own for each place in the session.
func TestScriptsNumberTheirFrames(t *testing.T) {
	d := newCorpus(spec.V2025_11_25, offering{})
	p := Plan{Rev: d.rev, Steps: []Step{{Frame: "tools-call#3"}, {Frame: "notifications-cancelled#4"}, {Frame: "tools-list.string-id#3", ByteEdits: []Edit{{Op: opJoin}}}, {Frame: "malformed/duplicate-id"}}}
	lines := d.script(p, 40).messages()
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	if id := lines[0].ID().Raw; id != "41" {
		t.Errorf("the first id is %s", id)
	}
	if id := lines[1].Params().Get("requestId").Raw; id != "41" {
		t.Errorf("what is cancelled is %s", id)
	}
	if last := string(lines[2].Raw); !strings.Contains(last, `"id":"desk-43/α"`) || !strings.Contains(last, `}{"jsonrpc":"2.0","id":10004471,"id":10004472`) {
		t.Errorf("the joined line is %s", last)
	}
	for _, places := range [][]int{nil, {500}, {100, 100, 900}, {0, 999}} {
		q := p
		q.SplitAt = places
		s := d.script(q, 40)
		if got := bytes.Join(s.writes, nil); !bytes.Equal(got, bytes.Join(d.script(p, 40).writes, nil)) || len(s.writes) > len(places)+1 {
			t.Errorf("split at %v: %d writes", places, len(s.writes))
		}
	}
	q := p
	q.Paced = true
	if s := d.script(q, 40); len(s.writes) != 3 {
		t.Errorf("one at a time is %d writes", len(s.writes))
	}
}

func TestAnAnswerIsDueOnlyWhereNothingExcusesThePeer(t *testing.T) {
	request := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for text, want := range map[string]int{
		request: 1,
		request + "\n" + `{"jsonrpc":"2.0","id":2,"method":"no/such","params":"x"}`: 2,
		request + "\n" + request: 0, // which of them is answered is not told
		request + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`: 0,
		request + "\r": 0,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`:                      0,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                             0,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                          0,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:              0,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}`:     0,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`: 0,
		`[` + request + `,{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`:     2,
		`[` + request + `,{"jsonrpc":"2.0","id":{},"method":"tools/list"}]`:    0,
		`{"jsonrpc":"2.0","method":"ping"}`:                                    0,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                 0,
		`{"jsonrpc":"2.0","id":1,"method":`:                                    0,
	} {
		if got := requiredAnswers(script{writes: [][]byte{[]byte(text + "\n")}}.messages(), spec.V2025_03_26.Facts()); len(got) != want {
			t.Errorf("%s: due %v, want %d", text, got, want)
		}
	}
}
