package target

import (
	"slices"
	"testing"
)

func TestMostSevereOutcomeOfASubjectCounts(t *testing.T) {
	one := func(verdict, level string) Outcome { return Outcome{ID: "a", Verdict: verdict, Level: level} }
	got := BySubject([]Outcome{one("pass", "MUST"), one("warn", "SHOULD"), one("not-observed", "MUST")})
	if len(got) != 1 || got[Subject{ID: "a"}].Verdict != "warn" {
		t.Errorf("got %v, want the warning alone", got)
	}
	got = BySubject([]Outcome{one("pass", "ROBUST"), one("pass", "MUST"), one("pass", "SHOULD")})
	if got[Subject{ID: "a"}].Level != "MUST" {
		t.Errorf("got %v, want the level MUST", got)
	}
}

func TestDifferingNamesSubjectsWithSeveralValues(t *testing.T) {
	old := BySubject([]Outcome{
		{ID: "a", Revision: "2", Verdict: "pass"}, {ID: "a", Revision: "1", Verdict: "pass"},
		{ID: "b", Verdict: "pass"},
	})
	now := BySubject([]Outcome{
		{ID: "a", Revision: "1", Verdict: "fail"}, {ID: "b", Verdict: "pass", Detail: "else"},
		{ID: "c", Verdict: "pass"},
	})
	verdict := func(o Outcome) string { return o.Verdict }
	want := []Subject{{ID: "a", Revision: "1"}, {ID: "a", Revision: "2"}, {ID: "c"}}
	if got := Differing(verdict, old, now); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
