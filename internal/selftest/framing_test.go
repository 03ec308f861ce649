package selftest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// No check fails a server whose event streams have another form that the format
// allows.
func TestAllowedEventFormsFailNoCheck(t *testing.T) {
	replace := func(from, to string) func(written []byte) []byte {
		return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(from), []byte(to)) }
	}
	for name, edit := range map[string]func(written []byte) []byte{
		"lines end with CR LF": replace("\n", "\r\n"),
		"lines end with CR":    replace("\n", "\r"),
		"data in several lines": func(b []byte) []byte {
			return bytes.Replace(b, []byte("data: {"), []byte("data: {\ndata: \ndata:"), 1)
		},
		"no space after the colon": replace("data: ", "data:"),
		"messages without a type":  replace("event: message\n", ""),
		"comments and other events": func(b []byte) []byte {
			return fmt.Appendf(nil, ": tide\n\n%sevent: tide\ndata: low\n\n", b)
		},
	} {
		revisions := map[transport.Kind]spec.Revision{transport.SSE: spec.V2024_11_05, transport.HTTP: spec.V2025_11_25}
		for over, rev := range revisions {
			t.Run(name+"/"+string(over), func(t *testing.T) {
				t.Parallel()
				o := server.Options{StepDelay: pace}
				o.HTTP.PreferSSE = true
				o.HTTP.EncodeEvent = func(next server.EventEncoder) server.EventEncoder {
					return func(e server.Event) []byte { return edit(next(e)) }
				}
				requireNoProblems(t, subject{over: over, options: o}, rev)
			})
		}
	}
}

// requireNoProblems requires that the checks of a revision pass or do not apply.
func requireNoProblems(t *testing.T, s subject, rev spec.Revision) {
	t.Helper()
	r, err := s.judge(t.Context(), engine.Options{Revisions: []spec.Revision{rev}, Session: longDeadlines()})
	if err != nil {
		t.Fatal(err)
	}
	passes := 0
	for _, o := range r.Outcomes {
		switch {
		case o.Verdict == reports.Pass:
			passes++
		case isProblem(o.Verdict):
			t.Errorf("%s at %s is %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
		}
	}
	if passes == 0 {
		t.Error("no check passes")
	}
}
