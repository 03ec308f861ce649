package transcript

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// lines returns a transcript of lines: those after > are of the client, those after < of the server.
func lines(t *testing.T, text string) *wire.Transcript {
	t.Helper()
	var frames []wire.Frame
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ">"):
			frames = append(frames, wire.Frame{From: wire.Client, Raw: []byte(line[1:])})
		case strings.HasPrefix(line, "<"):
			frames = append(frames, wire.Frame{From: wire.Server, Raw: []byte(line[1:])})
		case line != "":
			t.Fatalf("line %q", line)
		}
	}
	return wire.TranscriptOf(frames)
}

func TestClientSessionOfDeterminesTheRevision(t *testing.T) {
	const (
		init     = `>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}` + "\n"
		ready    = `>{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
		discover = `>{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":` +
			`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}` + "\n"
		none    = `<{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"?"}}` + "\n"
		foreign = `<{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"?"}}` + "\n"
		found   = `<{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2026-07-28"]}}` + "\n"
	)
	agree := func(version string) string {
		return `<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + version + `"}}` + "\n"
	}
	for name, c := range map[string]struct {
		text           string
		rev            spec.Revision
		spoken, opened bool
	}{
		"agreed":               {init + agree("2025-06-18") + ready, spec.V2025_06_18, true, true},
		"agreed, and left":     {init + agree("2025-06-18"), spec.V2025_06_18, true, true},
		"another, and went on": {init + agree("2024-11-05") + ready, spec.V2024_11_05, true, true},
		"another, and left":    {init + agree("2024-11-05"), spec.V2025_06_18, false, true},
		"unknown, and went on": {init + agree("2999-01-01") + ready, spec.V2025_06_18, false, true},
		"refused": {
			init + `<{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?"}}`, spec.V2025_06_18, false, true,
		},
		"unanswered":        {init, spec.V2025_06_18, false, true},
		"offer unpublished": {strings.ReplaceAll(init, "2025-06-18", "2025-06-19"), "", false, true},
		"found":             {discover + found, spec.V2026_07_28, true, true},
		"found, then initialize": {
			discover + found + init + agree("2025-06-18") + ready, spec.V2026_07_28, true, true,
		},
		"foreign, then initialize": {discover + foreign + init, spec.V2026_07_28, false, true},
		"probed, then fell back": {
			discover + none + init + agree("2025-06-18") + ready, spec.V2025_06_18, true, true,
		},
		"probed, then left": {discover + none, spec.V2026_07_28, false, true},
		"initialize in a batch": {
			`>[` + strings.TrimSpace(init[1:]) + `]` + "\n" + agree("2025-06-18") + ready, spec.V2025_06_18, true, true,
		},
		"tools without an opening":  {`>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "", false, false},
		"nothing":                   {"", "", false, false},
		"answer under another's id": {init + found + ready, spec.V2025_06_18, false, true},
	} {
		s := ClientSessionOf(lines(t, c.text))
		if s.Rev != c.rev || s.Spoken != c.spoken || s.Opened != c.opened || (s.Why == "") != s.Spoken {
			t.Errorf("%s: revision %q, spoken %v, opened %v: %s", name, s.Rev, s.Spoken, s.Opened, s.Why)
		}
	}
}
