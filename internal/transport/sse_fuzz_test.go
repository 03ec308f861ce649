package transport

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// addStreams seeds a target with event streams: messages of the golden exchanges as
// events, and streams with parts that a reader ignores.
func addStreams(add func(stream []byte)) {
	for _, rev := range spec.Revisions() {
		var stream []byte
		for _, e := range fixtures.Golden(rev)[:8] {
			for i, frame := range e.Frames {
				stream = fmt.Appendf(stream, "id: %d\nevent: message\ndata: %s\n\n", i, frame.Raw)
			}
		}
		add(stream)
	}
	for _, bad := range fixtures.Malformed() {
		add(fmt.Appendf(nil, "data: %s\r\n\r\n", bad.Bytes))
	}
	for _, stream := range []string{
		"\ufeffdata: x\n\n", "data: a\r\ndata: b\r\rdata: c\n\n",
		": ping\n\nretry: 5\nretry: x\nid: a\x00b\nid\n\ndata",
		"data\n\ndata\ndata\n\n",
		"event: a\nevent\ndata:  x\n\n", "data: \xff\nnonsense\n\n", "\r\n\n\r",
	} {
		add([]byte(stream))
	}
}

// chunkReader returns data in reads of the given sizes, one after another.
type chunkReader struct {
	data  []byte
	sizes []byte
	next  int
}

func (r *chunkReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(r.sizes) > 0 {
		n += int(r.sizes[r.next%len(r.sizes)])
		r.next++
	}
	n = copy(p, r.data[:min(n, len(r.data))])
	r.data = r.data[n:]
	return n, nil
}

// FuzzEventReader reads a stream whole, byte by byte and in chunks: the events
// are the same. Without a limit they equal those of the algorithm of the standard. With a
// limit the size of each is bounded.
func FuzzEventReader(f *testing.F) {
	addStreams(func(stream []byte) { f.Add(stream, []byte{3, 0, 16}, uint8(20)) })
	f.Fuzz(func(t *testing.T, stream, sizes []byte, limit uint8) {
		whole, err := events(t, bytes.NewReader(stream), 0)
		if err != nil {
			t.Fatal(err)
		}
		for way, r := range map[string]io.Reader{
			"byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
			"in chunks":    &chunkReader{data: stream, sizes: sizes},
			"with EOF":     iotest.DataErrReader(bytes.NewReader(stream)),
		} {
			if got, err := events(t, r, 0); err != nil || !reflect.DeepEqual(got, whole) {
				t.Errorf("%s: %+v, %v; want %+v", way, got, err, whole)
			}
		}
		if got, want := dispatched(whole), standardEvents(string(stream)); !reflect.DeepEqual(got, want) {
			t.Errorf("the events are %q, want %q", got, want)
		}
		most := int(limit) + 1
		bounded, err := events(t, bytes.NewReader(stream), most)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range bounded {
			e, kept := f.HTTP.Event, len(f.Raw)
			for _, line := range append(e.Comments, e.IgnoredLines...) {
				kept += wire.LineOverhead + len(line)
			}
			if kept > most || max(len(e.Type), len(f.EventID()), len(e.Retry)) > most {
				t.Errorf("limit %d: %+v", most, e)
			}
		}
		if fits := len(stream) <= most/(wire.LineOverhead+1); fits && !reflect.DeepEqual(bounded, whole) {
			t.Errorf("limit %d changed %+v to %+v", most, whole, bounded)
		}
	})
}

// A standardEvent is an event as a client receives it.
type standardEvent struct{ Type, Data, LastID string }

// dispatched returns the events that a client receives from the reader of this package.
func dispatched(all []wire.Frame) []standardEvent {
	var out []standardEvent
	last := ""
	for _, f := range all {
		if e := f.HTTP.Event; e.ID != nil && !e.Unterminated {
			last = *e.ID
		}
		if f.IsDispatched() && len(f.Raw) > 0 {
			out = append(out, standardEvent{f.HTTP.Event.Type, string(f.Raw), last})
		}
	}
	return out
}

// standardEvents interprets a complete stream by the steps of the standard (HTML, section
// 9.2.6).
func standardEvents(stream string) []standardEvent {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var out []standardEvent
	var data, event, id string
	for _, line := range lines[:len(lines)-1] { // what no line end completes is discarded
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != "" {
				if text := strings.TrimSuffix(data, "\n"); text != "" {
					out = append(out, standardEvent{event, text, id})
				}
			}
			data, event = "", ""
		case field == "event":
			event = value
		case field == "data":
			data += value + "\n"
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		}
	}
	return out
}

// FuzzLineReader compares the line reader with bytes.Split, for any sizes of the reads and
// any limit.
func FuzzLineReader(f *testing.F) {
	for _, bad := range fixtures.Malformed() {
		f.Add(append(bad.Bytes, '\n'), []byte{0, 7}, uint16(40))
	}
	f.Add([]byte("\n\na\r\nb"), []byte{1}, uint16(1))
	f.Fuzz(func(t *testing.T, stream, sizes []byte, limit uint16) {
		most := int(limit) + 1
		want := bytes.Split(stream, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		in := NewLineReader(&chunkReader{data: stream, sizes: sizes}, most)
		for i, line := range want {
			got, err := in.Next()
			if err != nil {
				t.Fatalf("line %d of %d: %v", i, len(want), err)
			}
			last := i == len(want)-1 && !bytes.HasSuffix(stream, []byte("\n"))
			isWhole := got.Length == len(line) && got.IsTruncated() == (len(line) > most) && got.Unterminated == last
			if !isWhole || !bytes.Equal(got.Bytes, line[:min(most, len(line))]) {
				t.Errorf("line %d: %+v, want %q", i, got, line)
			}
		}
		if _, err := in.Next(); err != io.EOF {
			t.Errorf("after the last line: %v", err)
		}
	})
}
