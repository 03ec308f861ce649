package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func liveText(run *Run, o TextOptions) string {
	var b bytes.Buffer
	live := newLive(&b, o, func() time.Time { return time.Unix(0, 0) })
	for _, o := range run.Outcomes {
		live.Outcome(o)
	}
	live.Close()
	return b.String()
}

func summaryText(t *testing.T, run *Run, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSummary(&b, run, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGoldens(t *testing.T) {
	run := smallRun()
	compareGolden(t, "small.live.txt", []byte(liveText(run, TextOptions{})))
	compareGolden(t, "small.live.terminal.txt",
		[]byte(liveText(run, TextOptions{Terminal: true, Width: 60, Color: true})))
	next := []Step{{"mcpcheck explain tools.call.unknown", "what the clause says"}}
	compareGolden(t, "small.brief.txt", []byte(summaryText(t, run, TextOptions{Next: next})))
	compareGolden(t, "small.brief.80.color.txt", []byte(summaryText(t, run, TextOptions{Width: 80, Color: true})))
	compareGolden(t, "large.brief.txt", []byte(summaryText(t, largeRun(t), TextOptions{Width: 100})))
	compareGolden(t, "small.summary.quiet.txt", []byte(summaryText(t, run, TextOptions{Quiet: true})))
	whole := TextOptions{Verbose: true}
	compareGolden(t, "small.summary.txt", []byte(summaryText(t, run, whole)))
	whole.Width = 100
	compareGolden(t, "large.summary.txt", []byte(summaryText(t, largeRun(t), whole)))
	whole.Width, whole.Color = 80, true
	compareGolden(t, "small.summary.80.color.txt", []byte(summaryText(t, run, whole)))
}

// No control character of a target is written to a terminal. The only ones are the newlines
// and color sequences of the report.
func TestTextEscapesTheTarget(t *testing.T) {
	run := hostileRun()
	text := liveText(run, TextOptions{Terminal: false}) + summaryText(t, run, TextOptions{}) +
		summaryText(t, run, TextOptions{Quiet: true}) + summaryText(t, run, TextOptions{Verbose: true})
	for i, r := range text {
		if r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			t.Fatalf("%q in the text near %q", r, text[max(0, i-40):i+4])
		}
	}
	if !strings.Contains(text, `\u202egnp.exe`) || !strings.Contains(text, `\x1b[2J`) {
		t.Error("the hostile characters are not escaped")
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain äöü 漢字 🙂": "plain äöü 漢字 🙂",
		"a\tb\nc\r":      `a\tb\nc\r`,
		"\x1b[31mred":    `\x1b[31mred`,
		"\u009b31m":      `\u009b31m`,
		"\x7f":           `\x7f`,
		"\u202e\u2066":   `\u202e\u2066`,
		"\u200b\u200f":   `\u200b\u200f`,
		"\U000e0041":     `\U000e0041`,
		"\ufeff":         `\ufeff`,
		"\u00a0":         `\u00a0`,
		"\u3164":         `\u3164`,
		"\xff\xfea":      `\xff\xfea`,
		"\ufffd":         "\ufffd",
		"\ufffe":         `\ufffe`,
		"\u2028":         `\u2028`,
	} {
		if got := escape(in, ""); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
	if got := escape("a\n\tb\r", "\n\t"); got != "a\n\tb\\r" {
		t.Errorf("kept runes: %q", got)
	}
}

func TestLongStringsAreCut(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	o := Outcome{ID: "a.b", Verdict: Fail, Detail: long, Got: long, Revision: spec.V2025_06_18, Transport: "stdio"}
	run := &Run{Outcomes: []Outcome{o}}
	text := liveText(run, TextOptions{Terminal: true}) + summaryText(t, run, TextOptions{Width: 80, Verbose: true})
	if len(text) > 8000 || !strings.Contains(text, "2,097,152 bytes in all") {
		t.Errorf("a string of 2 MB takes %d bytes of text: %.300s", len(text), text)
	}
	if got := oneLine("äää", 3); got != "ä… (6 bytes in all)" {
		t.Errorf("a rune was split: %q", got)
	}
}

func TestWrappedTextFitsTheTerminal(t *testing.T) {
	run := largeRun(t)
	for _, width := range []int{60, 80, 120} {
		text := summaryText(t, run, TextOptions{Width: width}) +
			summaryText(t, run, TextOptions{Width: width, Verbose: true})
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			// Links, messages and commands stay whole, to be copied; the table has its
			// own width.
			if textWidth(line) > width && !strings.Contains(line, "https://") && !strings.HasPrefix(line, "  rerun") &&
				!strings.HasPrefix(line, "  rule") && !strings.HasPrefix(line, "  client") &&
				!strings.HasPrefix(line, "  server") && strings.Contains(line, "  ") &&
				!strings.HasPrefix(line, "20") && !strings.HasPrefix(line, "all") &&
				!strings.Contains(line, "not-applicable") &&
				!strings.HasPrefix(line, "mcpcheck") {
				t.Errorf("width %d: %d columns: %q", width, textWidth(line), line)
			}
		}
	}
}

func TestStatusLineFitsAndIsRemoved(t *testing.T) {
	text := liveText(largeRun(t), TextOptions{Terminal: true, Width: 40})
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		part = strings.TrimPrefix(part, "\x1b[K")
		if textWidth(part) > 40 && !strings.Contains(part, ": ") {
			t.Errorf("%d columns: %q", textWidth(part), part)
		}
	}
	if i := strings.LastIndex(text, "\r"); !strings.HasPrefix(text[i:], "\r\x1b[K") ||
		strings.Count(text[i:], "\n") != 1 {
		t.Errorf("the last status line is not removed: %q", text[i:])
	}
}

func TestLiveWritesNothingWhenQuiet(t *testing.T) {
	if got := liveText(smallRun(), TextOptions{Quiet: true, Terminal: true}); got != "" {
		t.Errorf("%q", got)
	}
}

// The summary names a cause once for all checks that did not run because of it.
func TestNotRunIsGroupedByCause(t *testing.T) {
	run := &Run{Ended: Complete, Exit: 1,
		Outcomes: []Outcome{{ID: "lifecycle.open", Verdict: Fail, Revision: spec.V2025_06_18, Transport: "stdio",
			Says: "the server opens", Detail: "no answer"}}}
	for i := range 300 {
		run.Outcomes = append(run.Outcomes, Outcome{ID: fmt.Sprintf("a.c%d", i), Verdict: NotRun,
			Cause: "lifecycle.open failed", Revision: spec.V2025_06_18, Transport: "stdio"})
	}
	text := summaryText(t, run, TextOptions{})
	if n := strings.Count(text, "lifecycle.open failed"); n != 1 {
		t.Errorf("the cause is named %d times:\n%s", n, text)
	}
	if n := strings.Count(text, "\n"); n > 25 {
		t.Errorf("%d lines for one cause:\n%s", n, text)
	}
	if !strings.Contains(text, "300 verdicts: a.c0, a.c1, a.c2, a.c3 and 296 more") {
		t.Errorf("the summary does not count the checks that did not run:\n%s", text)
	}
}

func TestOneCheckAtSeveralRevisionsIsOneProblem(t *testing.T) {
	text := summaryText(t, smallRun(), TextOptions{Verbose: true})
	if n := strings.Count(text, "FAIL  tools.call.unknown"); n != 1 {
		t.Errorf("shown %d times:\n%s", n, text)
	}
	if !strings.Contains(text, "2025-06-18, 2025-11-25 stdio, 2025-11-25 http") {
		t.Errorf("the places are not listed:\n%s", text)
	}
}

// The short summary of a server with two fails has at most 40 lines: that of a server at all
// revisions with many warns, checks not observed, and commands to run next.
func TestBriefSummaryIsShort(t *testing.T) {
	run := largeRun(t)
	fails := map[string]bool{}
	run.Outcomes = slices.DeleteFunc(run.Outcomes, func(o Outcome) bool {
		if o.Verdict == Fail && o.Baselined == "" && len(fails) < 2 {
			fails[o.ID] = true
		}
		return o.Verdict == Fail && !fails[o.ID]
	})
	run.Exit = ExitCode(run, StrictOff)
	o := TextOptions{Next: []Step{{"a", "b"}, {"c", "d"}, {"e", "f"}, {"not", "shown"}}}
	text := summaryText(t, run, o)
	if n := strings.Count(text, "\n"); n > 40 || len(fails) != 2 || strings.Contains(text, "not  # shown") {
		t.Errorf("%d fails take %d lines:\n%s", len(fails), n, text)
	}
	for id := range fails {
		if !strings.Contains(text, "FAIL  "+id) {
			t.Errorf("%s is not in the summary", id)
		}
	}
}

// Without a terminal, a line says every half minute how far the run is, and no fail is
// printed before the summary.
func TestProgressWithoutTerminal(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	live := newLive(&b, TextOptions{}, func() time.Time { return now })
	for range 100 {
		now = now.Add(time.Second)
		live.Outcome(Outcome{ID: "a.b", Verdict: Fail, Revision: spec.V2025_11_25, Transport: "stdio"})
	}
	live.Close()
	want := "2025-11-25 stdio  30 verdicts in 30s, last a.b\n2025-11-25 stdio  60 verdicts in 1m0s, last a.b\n" +
		"2025-11-25 stdio  90 verdicts in 1m30s, last a.b\n2025-11-25 stdio: 100 fail (0.0 ms)\n"
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

// A session counts its request ids up, so that they differ between outcomes that
// say the same. Larger ids are part of the test and keep outcomes apart.
func TestOutcomesThatDifferInCountedIDsAreOneVariant(t *testing.T) {
	at := func(r spec.Revision, detail, got string) Outcome {
		return Outcome{ID: "tools.call.unknown", Verdict: Warn, Revision: r, Detail: detail, Got: got}
	}
	all := problemsOf(&Run{Outcomes: []Outcome{
		at(spec.V2024_11_05, "the request with id 7 was answered", "result for id 53"),
		at(spec.V2025_03_26, "the request with id 9 was answered", "result for id 56"),
		at(spec.V2025_06_18, "the request with id 9007199254740993 was answered", "result for id 9007199254740992"),
		at(spec.V2025_11_25, "the request with id 9007199254740995 was answered", "result for id 9007199254740996"),
		at(spec.V2026_07_28, "the request with id 9 was answered", "error -32603 for id 9"),
	}}, false)
	if len(all) != 1 || len(all[0].Variants) != 4 || len(all[0].Variants[0].Places) != 2 {
		t.Errorf("the variants are %v", all)
	}
}

// Every outcome is in the text: fails, warns and broken ones by name, the others
// in the totals of their row.
func TestTextHasEveryOutcome(t *testing.T) {
	for _, run := range []*Run{smallRun(), largeRun(t)} {
		text := summaryText(t, run, TextOptions{Verbose: true})
		live := liveText(run, TextOptions{Terminal: true})
		for _, o := range run.Outcomes {
			switch o.Verdict {
			case Fail, Warn, Broken:
				if !strings.Contains(text, "  "+o.ID+"\n") && !strings.Contains(text, "  "+o.ID+"  (in the baseline)") {
					t.Errorf("%s is not in the summary", o.ID)
				}
				if !strings.Contains(live, fmt.Sprintf("%-7s %s %s %s", label(o.Verdict), o.ID, o.Revision,
					o.Transport)) {
					t.Errorf("%s at %s is not in the progress", o.ID, o.Revision)
				}
			}
		}
		for _, s := range suitesOf(run) {
			row := ""
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, s.name()+" ") {
					row = line
				}
			}
			sum := 0
			for _, f := range strings.Fields(row)[2:] {
				n := 0
				fmt.Sscan(strings.ReplaceAll(f, ",", ""), &n)
				sum += n
			}
			if sum != len(s.Outcomes) {
				t.Errorf("the row %q sums to %d of %d outcomes", row, sum, len(s.Outcomes))
			}
		}
	}
}
