package check

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// What every session shows is noted once.
func TestNotesOfSeveralSessionsAreToldOnce(t *testing.T) {
	session := func(method string) *View {
		return NewView(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","method":"` + method + `"}`)}}))
	}
	c := Check{Of: wire.Server, Judge: func(j *J) {
		for _, e := range j.Sent() {
			j.Note("%s", e.Message.Method())
			j.Saw()
		}
	}}
	o := LookAll(c, []*View{session("a"), session("b"), session("a")})
	if want := []string{"a", "b"}; !slices.Equal(o.Notes, want) {
		t.Errorf("notes %q, want %q", o.Notes, want)
	}
}
