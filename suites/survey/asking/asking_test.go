package asking

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// entries returns the messages of lines; "> " precedes those of the client.
func entries(t *testing.T, lines string) []wire.Entry {
	t.Helper()
	var out []wire.Entry
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		raw, ours := strings.CutPrefix(strings.TrimSpace(line), "> ")
		f := wire.Frame{From: wire.Server, Raw: []byte(raw), At: 0}
		if ours {
			f.From = wire.Client
		}
		out = append(out, wire.Entry{Index: i, Frame: f, Message: wire.Parse(f.Raw)})
	}
	return out
}

// A request of the server belongs to a request of the client that was open meanwhile.
func TestUsesInAttributesRequestsOfTheServer(t *testing.T) {
	frames := entries(t, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"early","arguments":{}}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asking","arguments":{"a":1},"_meta":{"x":1}}}
		{"jsonrpc":"2.0","id":1,"result":{"content":[]}}
		{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"later","arguments":{}}}
		> {"jsonrpc":"2.0","id":"s1","result":{}}
		{"jsonrpc":"2.0","id":3,"result":{"content":[]}}
		{"jsonrpc":"2.0","id":"s2","method":"ping"}
		{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"asking","arguments":{}}}
		{"jsonrpc":"2.0","id":4,"result":{"content":[]}}`)
	var got []string
	for _, x := range usesIn(frames) {
		got = append(got, fmt.Sprintf("%s %s %d", x.Name, check.MustJSON(x.Params), len(x.requestsDuring)))
	}
	want := []string{
		`early {"arguments":{},"name":"early"} 0`, `later {"arguments":{},"name":"later"} 0`,
		`asking {"arguments":{"a":1},"name":"asking"} 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// The values of JSON in an opaque text are changed one at a time.
func TestChangeValuesChangesDecodableValues(t *testing.T) {
	body := `{"for":"x","until":10,"days":["mon","tue"],"answers":{"day":{"content":{"people":3}}}}`
	for name, state := range map[string]string{
		"plain":    body,
		"base64":   base64.StdEncoding.EncodeToString([]byte(body)),
		"sealed":   base64.RawURLEncoding.EncodeToString([]byte(body)) + ".c2VhbA",
		"versions": "v1." + base64.RawURLEncoding.EncodeToString([]byte(body)) + ".c2VhbA",
	} {
		forged := ChangeValues(state)
		var what []string
		for _, f := range forged {
			if f.What = strings.TrimPrefix(f.What, "another "); f.State == state {
				t.Errorf("%s: another %s changes nothing", name, f.What)
			}
			what = append(what, f.What)
		}
		if got := strings.Join(what, " "); got != "answers/day/content/people days/1 days/0 until for" {
			t.Errorf("%s: changed values %s", name, got)
		}
		if name == "plain" && gjson.Get(forged[0].State, "answers.day.content.people").Raw != "4" {
			t.Errorf("got %s", forged[0].State)
		}
	}
	for _, state := range []string{"", "opaque", "b3BhcXVl", "[1,2]"} {
		if forged := ChangeValues(state); forged != nil {
			t.Errorf("%q became %v", state, forged)
		}
	}
	if got := ChangeMiddle("0123456789"); len(got) != 1 || got[0].State != "0123466789" ||
		ChangeMiddle("short") != nil {
		t.Errorf("ChangeMiddle returned %v", got)
	}
	for from, to := range map[string]string{
		"1999": "1998", "a9": "a1", "z": "y", "-": "-1", "10": "11", "2024-05-01": "2024-05-02",
	} {
		if got := changeLastCharacter(from); got == from || from != "1999" && got != to {
			t.Errorf("%q became %q, want %q", from, got, to)
		}
	}
}

// The marker is in an invalid place, and everything else is valid.
func TestInvalidFormBreaksOneField(t *testing.T) {
	for _, c := range []struct{ requested, want string }{
		{
			`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}`,
			`"age":"` + Marker,
		},
		{
			`{"type":"object","properties":{"wing":{"type":"string","enum":["A","B"]}},"required":["wing"]}`,
			`"wing":"` + Marker,
		},
		{
			`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
			`"name":{"mcpcheck":"` + Marker,
		},
		{`{"type":"object","properties":{}}`, ""},
		{`"no schema"`, ""},
	} {
		content, why := InvalidForm(gjson.Parse(c.requested))
		if c.want == "" {
			if content != nil {
				t.Errorf("%s: %s", c.requested, content)
			}
			continue
		}
		compiled, err := schema.CompileTool([]byte(c.requested))
		if err != nil {
			t.Fatal(err)
		}
		broken, err := compiled.Validate(content)
		if err != nil || len(broken) != 1 || !strings.Contains(string(content), c.want) || why == "" {
			t.Errorf("%s: %s (%s) breaks %v, %v", c.requested, content, why, broken, err)
		}
	}
}
