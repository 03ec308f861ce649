package transport

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func events(t *testing.T, r io.Reader, limit int) ([]wire.Frame, error) {
	t.Helper()
	in := NewEventReader(r, limit)
	var out []wire.Frame
	for {
		f, err := in.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return out, err
		}
		out = append(out, f)
	}
}

// event returns the frame of an event with data.
func event(data string, e wire.Event) wire.Frame {
	return wire.Frame{From: wire.Server, Raw: []byte(data), HTTP: &wire.HTTP{Event: &e}}
}

// eventWithoutData returns the frame of an event without data.
func eventWithoutData(e wire.Event) wire.Frame {
	e.NoData = true
	return wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Event: &e}}
}

// dataEvents returns the frames of events that have only data.
func dataEvents(data ...string) []wire.Frame {
	var out []wire.Frame
	for _, d := range data {
		out = append(out, event(d, wire.Event{}))
	}
	return out
}

// Each stream is also read byte by byte, with the same result.
func TestEventReader(t *testing.T) {
	seven, empty := "7", ""
	one := "1"
	for name, c := range map[string]struct {
		stream string
		want   []wire.Frame
	}{
		"one event": {"data: {}\n\n", dataEvents("{}")},
		"all fields": {
			"event: message\nid: 7\nretry: 250\ndata: x\n\n",
			[]wire.Frame{event("x", wire.Event{Type: "message", ID: &seven, Retry: "250"})},
		},
		"CRLF":                      {"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", dataEvents("a\nb", "c")},
		"CR":                        {"data: a\r\rdata: b\r\r", dataEvents("a", "b")},
		"mixed ends":                {"data: a\r\n\ndata: b\n\r", dataEvents("a", "b")},
		"one space only is dropped": {"data:  a\ndata:b\n\n", dataEvents(" a\nb")},
		"a colon in a value":        {"data: a:b\n\n", dataEvents("a:b")},
		"a field without colon":     {"data\n\n", dataEvents("")},
		"empty data and an id":      {"id: 1\ndata:\n\n", []wire.Frame{event("", wire.Event{ID: &one})}},
		"an empty id":               {"id\ndata: x\n\n", []wire.Frame{event("x", wire.Event{ID: &empty})}},
		"a comment of its own": {
			": ping\n\n",
			[]wire.Frame{eventWithoutData(wire.Event{Comments: []string{"ping"}})},
		},
		"empty lines": {"\n\n\ndata: x\n\n\n", dataEvents("x")},
		"garbage": {
			"Data: x\nnonsense\ndata: y\n\n",
			[]wire.Frame{event("y", wire.Event{IgnoredLines: []string{"Data: x", "nonsense"}})},
		},
		"a bad retry": {
			"retry: 1.5\nretry:\n\n",
			[]wire.Frame{eventWithoutData(wire.Event{IgnoredLines: []string{"retry: 1.5", "retry:"}})},
		},
		"an id with NUL": {
			"id: a\x00b\n\n",
			[]wire.Frame{eventWithoutData(wire.Event{IgnoredLines: []string{"id: a\x00b"}})},
		},
		"a byte order mark": {"\ufeffdata: x\n\n", dataEvents("x")},
		"a late byte order mark": {
			"data: x\n\n\ufeffdata\n\n",
			append(dataEvents("x"), eventWithoutData(wire.Event{IgnoredLines: []string{"\ufeffdata"}})),
		},
		"cut off behind the line": {"data: x\n", []wire.Frame{event("x", wire.Event{Unterminated: true})}},
		"cut off in the line": {
			"data: x\n\ndata: y",
			append(dataEvents("x"), event("y", wire.Event{Unterminated: true})),
		},
		"nothing": {"", nil},
	} {
		whole, bytewise := strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))
		for way, r := range map[string]io.Reader{"whole": whole, "byte by byte": bytewise} {
			got, err := events(t, r, 0)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s, %s: %+v, %v; want %+v", name, way, got, err, c.want)
			}
		}
	}
}

func TestEventIsDispatched(t *testing.T) {
	got, _ := events(t, strings.NewReader(": c\n\nid: 1\n\ndata\n\ndata: x\n"), 0)
	var taken []bool
	for _, e := range got {
		taken = append(taken, e.IsDispatched())
	}
	if want := []bool{false, false, true, false}; !reflect.DeepEqual(taken, want) {
		t.Errorf("dispatched %v, want %v", taken, want)
	}
}

// An event is returned as soon as its last line is complete; a CR completes a line
// without waiting for an LF.
func TestEventReaderDoesNotReadAhead(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r\n"} {
		in, out := io.Pipe()
		r := NewEventReader(in, 0)
		go fmt.Fprint(out, "data: x"+end)
		if e, err := r.Next(); err != nil || string(e.Raw) != "x" {
			t.Errorf("after %q: %+v, %v", end, e, err)
		}
		out.Close()
	}
}

func TestEventReaderTruncatesLongLines(t *testing.T) {
	long := strings.Repeat("x", 100)
	got, err := events(t, strings.NewReader("data: "+long+"\ndata: "+long+"\n\ndata: y\n\n"), 50)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !got[0].Truncated || len(got[0].Raw) > 50 || got[1].Truncated || string(got[1].Raw) != "y" {
		t.Errorf("%+v", got)
	}
}

// The size of a block is bounded for any lines.
func TestEventReaderBoundsBlocks(t *testing.T) {
	for _, line := range []string{":\n", ": comment\n", "x\n", "data\n", "data: y\n", "id: \xff\n"} {
		got, err := events(t, strings.NewReader(strings.Repeat(line, 10_000)+"\n"), 1000)
		if err != nil || len(got) != 1 || !got[0].Truncated || got[0].Size() > 1000 {
			t.Errorf("%q: %d blocks, %v", line, len(got), err)
		}
	}
}

// A broken stream returns its events and then the error.
func TestEventReaderReturnsTheReadError(t *testing.T) {
	broke := errors.New("reset")
	got, err := events(t, io.MultiReader(strings.NewReader("data: x\n\ndata: y"), iotest.ErrReader(broke)), 0)
	if !errors.Is(err, broke) || len(got) != 2 || !got[1].HTTP.Event.Unterminated {
		t.Errorf("%+v, %v", got, err)
	}
}

func BenchmarkEventReader(b *testing.B) {
	stream := strings.Repeat("id: 12\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", 1000)
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		r := NewEventReader(strings.NewReader(stream), 0)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
