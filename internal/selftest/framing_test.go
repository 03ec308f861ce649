package selftest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// Nobody objects to a server whose event streams say the same in another way
// that the format allows.
func TestOtherFramingIsNotObjectedTo(t *testing.T) {
	for name, edit := range map[string]func(honest []byte) []byte{
		"lines end with CR LF": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) },
		"lines end with CR":    func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r")) },
		"data in several lines": func(b []byte) []byte {
			return bytes.Replace(b, []byte("data: {"), []byte("data: {\ndata: \ndata:"), 1)
		},
		"no space behind the colon":             func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("data: "), []byte("data:")) },
		"messages are of the type that is none": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("event: message\n"), nil) },
		"comments and events of its own between": func(b []byte) []byte {
			return fmt.Appendf(nil, ": tide\n\n%sevent: tide\ndata: low\n\n", b)
		},
	} {
		for over, rev := range map[transport.Kind]spec.Revision{transport.SSE: spec.V2024_11_05, transport.HTTP: spec.V2025_11_25} {
			t.Run(name+"/"+string(over), func(t *testing.T) {
				t.Parallel()
				o := server.Options{Pace: pace}
				o.HTTP.PreferSSE = true
				o.HTTP.Event = func(next server.Eventer) server.Eventer {
					return func(e server.Event) []byte { return edit(next(e)) }
				}
				run, err := judge(t.Context(), target{over: over, o: o}, []spec.Revision{rev}, "", nil, alone())
				if err != nil {
					t.Fatal(err)
				}
				passes := 0
				for _, outcome := range run.Outcomes {
					switch outcome.Verdict {
					case reports.Pass:
						passes++
					case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
						t.Errorf("%s at %s is %s: %s%s", outcome.ID, outcome.Revision, outcome.Verdict, outcome.Detail, outcome.Cause)
					}
				}
				if passes == 0 {
					t.Error("nothing passes")
				}
			})
		}
	}
}
