package check

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// A note that several sessions give is in the outcome once.
func TestJudgeAllNotesEachTextOnce(t *testing.T) {
	session := func(method string) *view.View {
		return view.New(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{{
			From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","method":"` + method + `"}`),
		}}))
	}
	c := Check{Of: wire.Server, Judge: func(j *J) {
		for _, e := range j.Sent() {
			j.Note("%s", e.Message.Method())
			j.Saw()
		}
	}}
	o := JudgeAll(c, []*view.View{session("a"), session("b"), session("a")})
	if want := []string{"a", "b"}; !slices.Equal(o.Notes, want) {
		t.Errorf("notes %q, want %q", o.Notes, want)
	}
}

// Further violations of the same rule are noted once each.
func TestJudgeAllNotesFurtherViolations(t *testing.T) {
	c := Check{ID: "x.y", Judge: func(j *J) {
		for _, e := range j.Entries() {
			j.Fail(e, "method %s", e.Message.Method())
		}
	}}
	session := func(methods ...string) *view.View {
		transcript := wire.NewTranscript()
		for _, m := range methods {
			transcript.Add(wire.Frame{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","method":"` + m + `"}`)})
		}
		return view.New(spec.V2025_11_25, transcript)
	}
	o := JudgeAll(c, []*view.View{session("a", "a", "b", "b1", "b2", "b3"), session("a"), session("c"),
		session("d")})
	if want := []string{
		"also: method b", "also: method b1", "also: method b2", "also: method c",
	}; o.State != Violated || o.Detail != "method a" || !slices.Equal(o.Notes, want) {
		t.Errorf("%q with the notes %q, want %q", o.Detail, o.Notes, want)
	}
}

// A session that was not opened does not show what the server declares.
func TestJudgeAllAppliesIfAnySessionDeclares(t *testing.T) {
	session := func(capabilities string) *view.View {
		return view.New(spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{
			{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)},
			{From: wire.Server, Raw: fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":%s}}`, capabilities)},
		}))
	}
	c := Check{Of: wire.Server, Needs: "tasks", Judge: func(*J) {}}
	for want, sessions := range map[State][]*view.View{
		NotApplicable: {session(`{}`), session(`{}`)},
		NotObserved:   {session(`{}`), session(`{"tasks":{}}`), session(`{}`)},
	} {
		if o := JudgeAll(c, sessions); o.State != want {
			t.Errorf("state %v, want %v: %s", o.State, want, o.Detail)
		}
	}
}
