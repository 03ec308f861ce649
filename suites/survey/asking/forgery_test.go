package asking

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// One value at a time is changed, also within arrays.
func TestChangesValueAtPath(t *testing.T) {
	const text = `{"a":["x",{"b":"y"}],"n":1,"empty":[]}`
	for path, changed := range map[string]string{
		"a 0": `"x"`, "a 1 b": `"y"`, "n": `1`, "a 2": "", "empty 0": "", "a x": "",
	} {
		var before, after any
		for _, v := range []*any{&before, &after} {
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			if err := d.Decode(v); err != nil {
				t.Fatal(err)
			}
		}
		after = changeValue(after, strings.Split(path, " "))
		got, err := json.Marshal(after)
		if err != nil {
			t.Fatal(err)
		}
		if changed == "" && !reflect.DeepEqual(before, after) {
			t.Errorf("%s: %s", path, got)
		}
		if changed != "" && (strings.Contains(string(got), changed) || len(got) != len(mustMarshal(t, before))) {
			t.Errorf("%s: %s still has %s", path, got, changed)
		}
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
