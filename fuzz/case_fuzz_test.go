package fuzz

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// FuzzParseCase reads arbitrary text as a case file. An accepted case is the same
// when it is written and read again, and every frame that it replays is sent in full over
// each transport.
func FuzzParseCase(f *testing.F) {
	head := "# revision: 2025-06-18\n# oracle: liveness.dead\n# outcome: the peer ended: x\n"
	for _, rest := range []string{
		"# seed: 7\n# split: 5\n# split: 9\n# timeout: 2s\n",
		"# transport: http\n# paced: true\n# header: X-Key\n" +
			"# target: [\"--url\",\"http://127.0.0.1:1/\",\"--\",\"a b\"]\n",
		"# transport: sse\n# target: [\"http://127.0.0.1:1/sse\"]\n", "# says: a  b\n# mcpcheck: v1 # x\n",
		"# paced: true\n", "# split: 0\n", "# seed: -1\n", "# transport: carrier\n",
	} {
		for _, bad := range fixtures.Malformed()[:6] {
			text := []byte(head + rest)
			for _, frame := range []wire.Frame{
				{
					From: wire.Client, Note: noteOpening,
					Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`),
				},
				{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":"a","method":"roots/list"}`), Marked: true},
				{From: wire.Client, Note: noteAnswer, Raw: []byte(`{"jsonrpc":"2.0","id":"a","result":{}}`)},
				{From: wire.Client, Raw: bad.Bytes},
				{
					From: wire.Client, Note: noteLiveness,
					Raw: []byte(`{"jsonrpc":"2.0","id":"alive-1","method":"ping"}`),
				},
			} {
				text = append(frame.AppendJSON(text), '\n')
			}
			f.Add(text)
		}
	}
	f.Add([]byte(head))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseCase(text)
		if err != nil {
			return
		}
		written := c.Append(nil)
		again, err := ParseCase(written)
		if err != nil {
			t.Fatalf("%s\nis not read again: %v", written, err)
		}
		if twice := again.Append(nil); !bytes.Equal(twice, written) {
			t.Errorf("written again:\n%s\nwant\n%s", twice, written)
		}
		for _, over := range []transport.Kind{transport.Stdio, transport.HTTP, transport.SSE} {
			assertSendsFrames(t, c, over)
			if got, want := again.script(over), c.script(over); !reflect.DeepEqual(got, want) {
				t.Errorf("read again it sends %q, want %q", got.writes, want.writes)
			}
		}
	})
}

// assertSendsFrames asserts that the writes of a script are the frames of the
// client that have none of the notes.
func assertSendsFrames(t *testing.T, c Case, over transport.Kind) {
	t.Helper()
	s := c.script(over)
	notes := []string{noteOpening, noteAnswer, noteLiveness}
	var want []byte
	count := 0
	for _, frame := range c.Frames {
		if frame.From == wire.Client && !frame.IsTransportOnly() && !slices.Contains(notes, frame.Note) {
			want = append(append(want, frame.Raw...), '\n')
			count++
		}
	}
	got := bytes.Join(s.writes, nil)
	if s.overHTTP {
		got = append(bytes.Join(s.writes, []byte("\n")), '\n')
	}
	if !bytes.Equal(got, want) || s.overHTTP && len(s.writes) != count {
		t.Errorf("over %s it sends %q, want %q", over, s.writes, want)
	}
}
