package wire_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// FuzzFrameRoundTrip writes frames and reads them back: a frame line is one
// line of JSON and keeps every byte of the message.
func FuzzFrameRoundTrip(f *testing.F) {
	for _, bad := range fixtures.Malformed() {
		f.Add(bad.Bytes, "", int64(0))
	}
	f.Add([]byte("{\r\n}"), "a \"note\" \u2028", int64(time.Millisecond))
	f.Add([]byte(" {} "), "\x1b[31m", int64(time.Hour))
	f.Fuzz(func(t *testing.T, raw []byte, note string, at int64) {
		if raw == nil || !utf8.ValidString(note) || at < 0 {
			return
		}
		since := time.Duration(at).Truncate(time.Microsecond)
		want := wire.Frame{From: wire.Server, Raw: raw, Note: note, At: since, Marked: at%2 == 1}
		line := want.AppendJSON(nil)
		if !json.Valid(line) || bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("the line is not JSON on one line: %q", line)
		}
		got, err := wire.ParseFrame(line)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v; want %+v", line, got, err, want)
		}
	})
}

// FuzzParseFrames reads arbitrary text as frame lines. Accepted frames are the same when
// they are written and read again.
func FuzzParseFrames(f *testing.F) {
	for _, text := range []string{
		"# prose\n\n{\"from\":\"client\",\"raw\":{}}\n",
		`{"from":"server","at":1.5,"mark":true,"note":"x","bytes":"eA=="}`,
		`{"from":"server","http":{"exchange":1,"status":200,` +
			`"header":{"Content-Type":["text/event-stream"]}},"raw":[1]}`,
		`{"from":"client","http":{"exchange":1,"method":"POST","header":{"Authorization":["Bearer x y"]}}}`,
		`{"from":"client","at":1e300,"raw":1}`, `{"from":"client","raw":1,"raw":2}`,
		"{\"from\":\"client\",\"raw\":{\r\"a\":1}}",
		`{"from":"server","http":{"exchange":2,"event":{"id":"","retry":"5","odd":["x"],"lost":true},"end":"EOF"}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		frames, _, err := wire.ParseFrames(text)
		if err != nil {
			return
		}
		once := appendFrames(frames)
		again, prose, err := wire.ParseFrames(once)
		if err != nil || len(prose) > 0 || len(again) != len(frames) {
			t.Fatalf("%q is read as %d frames and %d lines of prose, %v", once, len(again), len(prose), err)
		}
		for i, got := range again {
			want := frames[i]
			isSame := got.From == want.From && got.Marked == want.Marked &&
				got.IsTransportOnly() == want.IsTransportOnly()
			if !isSame || !bytes.Equal(got.Raw, want.Raw) {
				t.Errorf("frame %d is read as %+v, want %+v", i, got, want)
			}
		}
		if twice := appendFrames(again); !bytes.Equal(once, twice) {
			t.Errorf("written again:\n%q, want\n%q", twice, once)
		}
	})
}

func appendFrames(frames []wire.Frame) []byte {
	var out []byte
	for _, frame := range frames {
		out = append(frame.AppendJSON(out), '\n')
	}
	return out
}

// FuzzMaskedHeader asserts that no value of a field that grants access is
// shown, in any case and form.
func FuzzMaskedHeader(f *testing.F) {
	for _, value := range []string{"Bearer s3cret", "s3cret", "id=s3cret; Path=/", " s3cret", "s3cret ", "\ts3cret x"} {
		f.Add("authorization", value)
		f.Add("Set-Cookie", value)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		secret := "secret-" + value
		for _, key := range []string{
			"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "authorization", "COOKIE",
		} {
			header := map[string][]string{key: {"Scheme " + secret, secret}, name: {value}}
			if name == key {
				continue
			}
			for _, shown := range wire.Masked(header)[key] {
				if bytes.Contains([]byte(shown), []byte(secret)) && value != "" {
					t.Errorf("%s shows %q", key, shown)
				}
			}
			if header[key][1] != secret {
				t.Error("the header was changed")
			}
		}
	})
}
