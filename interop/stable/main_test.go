package main

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

func TestCompareReportsDifferentVerdicts(t *testing.T) {
	pass := target.Outcome{ID: "ping.answered", Revision: "2025-11-25", Transport: "stdio", Verdict: "pass"}
	fail := pass
	fail.Verdict, fail.Detail = "fail", "it was not answered"
	slow := pass
	slow.Detail = "in 3 s"
	older := pass
	older.Revision = "2025-06-18"
	none := []target.Outcome{}
	for _, c := range []struct {
		name string
		runs [][]target.Outcome
		want []string
	}{
		{"the same in another order", [][]target.Outcome{{pass, older}, {older, pass}}, nil},
		{"another detail of the same verdict", [][]target.Outcome{{pass}, {slow}}, nil},
		{"another verdict", [][]target.Outcome{{pass}, {fail}, {pass}}, []string{
			"ping.answered at 2025-11-25 on stdio\n  run 1,3: pass\n  run 2: fail: it was not answered",
		}},
		{"one is missing", [][]target.Outcome{{pass, older}, {pass}}, []string{
			"ping.answered at 2025-06-18 on stdio\n  run 1: pass\n  run 2: no verdict",
		}},
		{"one is more", [][]target.Outcome{none, {older}, {older}}, []string{
			"ping.answered at 2025-06-18 on stdio\n  run 1: no verdict\n  run 2,3: pass",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var reports []map[target.Subject]target.Outcome
			for _, run := range c.runs {
				reports = append(reports, target.BySubject(run))
			}
			if got := compare(reports); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
