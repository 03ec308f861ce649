package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

func TestParseClassifiesWithoutRepair(t *testing.T) {
	for _, c := range []struct {
		raw  string
		kind Kind
		flaw string // part of the flaw, "" for none
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, Request, ""},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, Request, ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification, ""},
		{`{"jsonrpc":"2.0","id":"a","result":{}}`, Result, ""},
		{`{"jsonrpc":"2.0","id":"a","result":null}`, Result, ""},
		{`{"jsonrpc":"2.0","result":{}}`, Result, "no id"},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`, Error, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, Error, "both result and error"},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, Batch, ""},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, Request, "jsonrpc is 2.0"},
		{`{"id":1,"method":"ping"}`, Request, "no jsonrpc"},
		{`{"jsonrpc":"2.0","id":1,"method":5}`, Request, "method is a number"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":[]}`, Request, "params is an array"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":null}`, Request, "params is null"},
		{`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, Invalid, "neither"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","result":{}}`, Invalid, "both method and"},
		{`5`, Invalid, "not a number"},
		{`{"a":1}{"b":2}`, Invalid, "not valid JSON"},
		{`{"jsonrpc":"2.0","id":1,`, Invalid, "not valid JSON"},
		{``, Invalid, "not valid JSON"},
		{"{\"a\":\"\xff\"}", Invalid, "UTF-8 at byte 6"},
		{"\ufeff{}", Invalid, "byte order mark"},
		{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), Invalid, "nested deeper"},
	} {
		m := Parse([]byte(c.raw))
		if m.Kind != c.kind {
			t.Errorf("%.60s is a %v, want %v", c.raw, m.Kind, c.kind)
		}
		switch flaw := m.FormatError(); {
		case c.flaw == "" && flaw != nil:
			t.Errorf("%.60s has the flaw %v", c.raw, flaw)
		case c.flaw != "" && (flaw == nil || !strings.Contains(flaw.Error(), c.flaw)):
			t.Errorf("%.60s has the flaw %v, want %q", c.raw, flaw, c.flaw)
		}
	}
}

func TestParseFindsDuplicateKeys(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 4_000) + `{"b":1,"b":2}` + strings.Repeat(`]}`, 4_000)
	many := `{`
	for i := range 40 {
		many += fmt.Sprintf(`"k%d":%d,`, i, i)
	}
	many += `"k7":1}`
	for raw, want := range map[string]string{
		`{"id":1,"id":2,"result":{"a":[{"b":1,"b":2}],"\u0061":3}}`: "/id /result/a/0/b /result/a",
		`{"a":{"b":1,"c":2,"b":3}}`:                                 "/a/b",
		`[{"x":1},{"x":1,"x":{}}]`:                                  "/1/x",
		`{"a":"a","b":"a","c":["a","a"]}`:                           "",
		`{"\u0061":1,"a":2}`:                                        "/a",
		`{"a\"b":"{\"x\":1,\"x\":2}","x":1}`:                        "",
		`{"":1,"":2}`:                                               "/",
		`{"a":1,"a":2,"a":3}`:                                       "/a /a",
		`{"a":[{"b":{"c":[],"c":{}}}],"a":"\\\""}`:                  "/a/0/b/c /a",
		many: "/k7",
		deep: strings.Repeat("/a/0", 4_000) + "/b",
	} {
		m := Parse([]byte(raw))
		if got := strings.Join(m.DuplicateKeys, " "); m.SyntaxError != nil || got != want {
			t.Errorf("%.60s: duplicates %.80q, want %.80q (%v)", raw, got, want, m.SyntaxError)
		}
	}
}

func TestIDEqualComparesTypeAndExactValue(t *testing.T) {
	long, zeros := strings.Repeat("7", 300), strings.Repeat("0", 300)
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, true}, {`1`, `1e0`, true}, {`1`, `"1"`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1.5`, `1`, false}, {`"a"`, `"\u0061"`, true}, {``, `null`, false}, {`null`, `null`, true},
		{`1e999999999`, `1e999999999`, true}, {`1e999999999`, `1`, false},
		{`-1`, `-1.0`, true}, {`-1`, `1`, false}, {`-0`, `0`, true}, {`-0.0`, `0`, true}, {`-10`, `-1e1`, true},
		{long, long + `.0`, true}, {long, `-` + long, false}, {long, `"` + long + `"`, false},
		{long, long + `.5`, false},
		{`-0.` + zeros, `0`, true}, {`1.` + zeros, `1`, true},
	} {
		if got := (ID{c.a}).Equal(ID{c.b}); got != c.equal {
			t.Errorf("%s equals %s: %v", c.a, c.b, got)
		}
	}
}

func TestUntypedKeys(t *testing.T) {
	for raw, want := range map[string]string{`1`: "1", `"1"`: "1", `1.0`: "1", `"a:b"`: "a:b", ``: "", `1.5`: "3/2"} {
		if got := Untyped(ID{Raw: raw}.Key()); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func TestIDIsValid(t *testing.T) {
	long, zeros := strings.Repeat("7", 300), strings.Repeat("0", 300)
	for raw, valid := range map[string]bool{
		`1`: true, `1.0`: true, `"x"`: true, `""`: true, `1.5`: false, `null`: false, `{}`: false, `true`: false,
		``:   false,
		`-0`: true, `-7`: true, `-`: false, long: true, `-` + long: true, long + `.0`: true, long + `.5`: false,
		`1.` + zeros: true, long + `e1`: false,
	} {
		if got := (ID{raw}).IsValid(); got != valid {
			t.Errorf("id %q is valid: %v", raw, got)
		}
	}
}

// A peer may send a number that is as long as a message may be.
func TestLongNumbersAreCheckedInLinearTime(t *testing.T) {
	long := strings.Repeat("7", 4<<20)
	done := make(chan bool, 1)
	go func() {
		good := ID{long}.IsValid() && ID{"-" + long}.IsValid() && !ID{long + ".5"}.IsValid() &&
			!ID{long + "e1"}.IsValid()
		done <- good && IsInteger(gjson.Parse("-"+long+".0"))
	}()
	select {
	case good := <-done:
		if !good {
			t.Error("a long integer is not recognized, or a long fraction is taken for an integer")
		}
	case <-time.After(5 * time.Second): // arithmetic takes minutes
		t.Fatal("the check of a long number takes more than 5 s")
	}
}

func TestFrameJSONKeepsEveryByte(t *testing.T) {
	for _, raw := range []string{
		`{"jsonrpc":"2.0", "id": 1 , "method":"ping"}`,
		`{"a":1,"a":2,"n":1.50e0,"s":"\u00e9<>&"}`,
		`not json`, "", "{\"a\":\"\xff\"}", "{\n}", ` {"leading":1}`, "\ufeff{}",
	} {
		f := Frame{From: Server, Raw: []byte(raw), At: 1500 * time.Microsecond, Marked: true, Note: `a "note"`}
		line := f.AppendJSON(nil)
		if bytes.ContainsAny(line, "\n") {
			t.Errorf("%q is written as several lines: %s", raw, line)
		}
		back, err := ParseFrame(line)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if string(back.Raw) != raw || back.From != f.From || back.At != f.At || !back.Marked || back.Note != f.Note {
			t.Errorf("%q is read back as %+v", raw, back)
		}
	}
}

func TestParseFrameRejectsInvalidLines(t *testing.T) {
	for line, want := range map[string]string{
		`{"from":"client"}`:                         "neither",
		`{"from":"nobody","raw":{}}`:                `"nobody"`,
		`{"from":"client","raw":{},"bytes":"eA=="}`: "both",
		`{"from":"client","bytes":"***"}`:           "base64",
		`{"from":`:                                  "not valid JSON",
	} {
		if _, err := ParseFrame([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not say %q", line, err, want)
		}
	}
	_, _, err := ParseFrames([]byte("# prose\n\n{\"from\":\"client\",\"raw\":{}}\nx\n"))
	if err == nil || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("error %v does not name line 4", err)
	}
}

func TestTranscriptKeepsOrderAndFirstEnding(t *testing.T) {
	tr := NewTranscript()
	for i := range 3 {
		ping := Frame{From: Client, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}
		if at, m := tr.Add(ping); at != i || m.Kind != Request {
			t.Errorf("frame %d recorded at %d as %v", i, at, m.Kind)
		}
	}
	part := tr.Excerpt(1, 2).Entries()
	if len(part) != 2 || part[1].Index != 1 || part[1].Message.Kind != Request || tr.Len() != 3 {
		t.Errorf("the excerpt has %d frames", len(part))
	}
	tr.End(Ending{Reason: "exit status 0"})
	tr.End(Ending{Reason: "later"})
	if got := tr.Ending().Reason; got != "exit status 0" {
		t.Errorf("ending is %q", got)
	}
	if len(tr.Frames(2)) != 1 || len(tr.Frames(9)) != 0 || len(tr.Entries()) != 3 {
		t.Error("frames from an index are wrong")
	}
}

func TestIsIdentifiableExcludesAmbiguousMessages(t *testing.T) {
	request := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"m","params":` + params + `}`
	}
	for raw, identifiable := range map[string]bool{
		request(`{"a":[1,-2.5e3,"\u00e9","x"]}`):                                             true,
		request(`{"a":` + strings.Repeat("[", 8) + strings.Repeat("]", 8) + `}`):             false,
		request(`{"a":` + strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40) + `}`): false,
		request(`{"a":[true,false,null]}`):                                                   true,
		request(`{"a":1e400}`):                                                               false,
		request(`{"a":9007199254740993}`):                                                    false,
		request(`{"a":"\ud83d\udea2"}`):                                                      false,
		request(`{"a":"\uD800"}`):                                                            false,
		request(`{"a\u0000":1}`):                                                             false,
		request(`{"a":"` + strings.Repeat("w", 20_000) + `"}`):                               false,
		`{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`:                                       false,
		`[` + request(`{}`) + `]`:                                                            false,
	} {
		if got := Parse([]byte(raw)).IsIdentifiable(); got != identifiable {
			t.Errorf("%.80s: identifiable = %v", raw, got)
		}
	}
}

func TestParseFrameReadsAnyDepth(t *testing.T) {
	for _, n := range []int{1, 100, 101, 999, 9_999, 10_000, 10_001, 50_000} {
		raw := strings.Repeat("[", n) + strings.Repeat("]", n)
		f, err := ParseFrame(Frame{From: Server, Raw: []byte(raw)}.AppendJSON(nil))
		if err != nil {
			t.Errorf("depth %d: %v", n, err)
		} else if string(f.Raw) != raw {
			t.Errorf("depth %d: %d bytes are read back, want %d", n, len(f.Raw), len(raw))
		}
	}
}

func TestFrameJSONKeepsMicroseconds(t *testing.T) {
	for at := range time.Duration(5000) {
		at *= 7 * time.Microsecond
		f, err := ParseFrame(Frame{From: Server, Raw: []byte("1"), At: at}.AppendJSON(nil))
		if err != nil || f.At != at {
			t.Fatalf("%v is read back as %v, %v", at, f.At, err)
		}
	}
}

// The HTTP part of a frame is written and read back, without access tokens.
func TestFrameJSONKeepsHTTPWithoutTokens(t *testing.T) {
	id := ""
	for _, f := range []Frame{
		{From: Client, Raw: []byte(`{"a":1}`), HTTP: &HTTP{
			Exchange: 1, Method: "POST", URL: "/mcp", Header: map[string][]string{"Accept": {"a", "b"}},
		}},
		{From: Server, HTTP: &HTTP{Exchange: 1, Status: 404, Body: "no such page"}},
		{From: Server, Raw: []byte(`{}`), HTTP: &HTTP{
			Exchange: 2, Event: &Event{ID: &id, Retry: "5", IgnoredLines: []string{"x"}},
		}},
		{From: Server, HTTP: &HTTP{Exchange: 2, EndReason: "EOF"}},
	} {
		got, err := ParseFrame(f.AppendJSON(nil))
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("%s was read back as %+v, %v", f.AppendJSON(nil), got, err)
		}
		if f.IsTransportOnly() != (f.Raw == nil) {
			t.Errorf("%s: transport-only is %v", f.AppendJSON(nil), f.IsTransportOnly())
		}
	}
	secret := Frame{From: Client, HTTP: &HTTP{
		Header: map[string][]string{"authorization": {"Bearer s3cret"}, "Cookie": {"s3cret"}},
	}}
	if text := string(secret.AppendJSON(nil)); strings.Contains(text, "s3cret") || !strings.Contains(text, "Bearer …") {
		t.Error(text)
	}
	if secret.HTTP.Header["Cookie"][0] != "s3cret" {
		t.Error("writing a frame changed it")
	}
	if _, err := ParseFrame([]byte(`{"from":"client","http":{"exchange":"x"}}`)); err == nil {
		t.Error("an invalid http member was accepted")
	}
}

// A frame without a message is no entry, but has an index.
func TestEntriesOmitTransportOnlyFrames(t *testing.T) {
	tr := NewTranscript()
	tr.Add(Frame{From: Server, HTTP: &HTTP{Exchange: 1, Status: 200}})
	tr.Add(Frame{From: Server, Raw: []byte(`{}`)})
	if e := tr.Entries(); len(e) != 1 || e[0].Index != 1 || tr.Len() != 2 {
		t.Errorf("%+v of %d", e, tr.Len())
	}
}

// A large id is an integer that no double holds with certainty.
func TestLargeIDs(t *testing.T) {
	for _, c := range []struct {
		sent, got string
		large     bool
		rounds    bool
	}{
		{"9007199254740993", "9007199254740992", true, true},
		{"9007199254740993", "9.007199254740992e15", true, true},
		{"-9007199254740993", "-9007199254740992", true, true},
		{"9007199254740993", "7", true, false},
		{"9007199254740993", "null", true, false},
		{"9007199254740991", "9007199254740991", false, false},
		{`"9007199254740993"`, "9007199254740992", false, false},
		{"1.5", "1", false, false},
	} {
		sent := ID{c.sent}
		if sent.IsLarge() != c.large || sent.RoundsTo(ID{c.got}) != c.rounds {
			t.Errorf("%s: large %v, rounds to %s: %v", c.sent, sent.IsLarge(), c.got, sent.RoundsTo(ID{c.got}))
		}
	}
}
