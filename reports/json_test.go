package reports

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/skip"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func renderJSON(t *testing.T, run *Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJSON(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSONGolden(t *testing.T) { compareGolden(t, "small.json", renderJSON(t, smallRun())) }

// ReadJSON returns what WriteJSON wrote: every field, every outcome, every byte
// of every frame. Only bytes of texts that are not UTF-8 are replaced.
func TestJSONRoundTrip(t *testing.T) {
	for name, run := range map[string]*Run{"small": smallRun(), "large": largeRun(t)} {
		got, err := ReadJSON(bytes.NewReader(renderJSON(t, run)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := *run
		replaced := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
		want.Target.Name = replaced(want.Target.Name)
		for i := range want.Revisions {
			want.Revisions[i].Why = replaced(want.Revisions[i].Why)
		}
		for i := range want.Outcomes {
			o := &want.Outcomes[i]
			o.Detail, o.Got = replaced(o.Detail), replaced(o.Got)
		}
		if len(got.Outcomes) != len(want.Outcomes) {
			t.Fatalf("%s: %d outcomes read, %d written", name, len(got.Outcomes), len(want.Outcomes))
		}
		for i := range want.Outcomes {
			if !reflect.DeepEqual(got.Outcomes[i], want.Outcomes[i]) {
				t.Errorf("%s: outcome %d:\n got %#v\nwant %#v", name, i, got.Outcomes[i], want.Outcomes[i])
			}
		}
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: the run differs:\n got %#v\nwant %#v", name, got, &want)
		}
	}
}

// nested returns JSON arrays nested n levels deep.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestJSONKeepsFramesByteForByte(t *testing.T) {
	for _, raw := range []string{
		`{"jsonrpc": "2.0" ,	"id":1}`, `{ }`, `[1,  2]`, `"<&>"`, "\"\u2028\"", `1.0e+2`, `{"a":1,"a":2}`,
		`"\ud800"`, `"\u0041\/"`,
		`{"a":1} `, "{\r\n}", "", " ", "\xff", "\ufeff{}", "{", "null", nested(9998), nested(300),
		strings.Repeat("[", 20000),
	} {
		sent := wire.Frame{From: wire.Server, Raw: []byte(raw), At: time.Millisecond, Note: "n\n\"<", Marked: true}
		run := &Run{Outcomes: []Outcome{{ID: "a", Verdict: Fail, Frames: []wire.Frame{sent}}}}
		text := renderJSON(t, run)
		if !json.Valid(text) {
			t.Errorf("frame %.40q: the report is no JSON", raw)
			continue
		}
		got, err := ReadJSON(bytes.NewReader(text))
		if err != nil {
			t.Errorf("frame %.40q: %v", raw, err)
			continue
		}
		if f := got.Outcomes[0].Frames[0]; !reflect.DeepEqual(f, sent) {
			t.Errorf("frame %.40q is read as %.40q %+v", raw, f.Raw, f)
		}
	}
}

// WriteJSON counts the outcomes itself: the totals are right even if the caller
// did not count them, or counted too early.
func TestJSONTotalsMatchOutcomes(t *testing.T) {
	for _, run := range []*Run{smallRun(), largeRun(t), {}} {
		run.Totals = map[Verdict]int{Pass: 99}
		totals := gjson.GetBytes(renderJSON(t, run), "totals")
		sum := 0
		for _, v := range Verdicts() {
			n := totals.Get(string(v))
			if !n.Exists() {
				t.Errorf("no total for %s", v)
			}
			sum += int(n.Int())
		}
		if sum != len(run.Outcomes) || len(totals.Map()) != len(Verdicts()) {
			t.Errorf("totals %s sum to %d over %d outcomes", totals, sum, len(run.Outcomes))
		}
	}
}

func TestJSONOfAnEmptyRunHasEmptyLists(t *testing.T) {
	text := renderJSON(t, &Run{})
	for _, key := range []string{"outcomes", "revisions"} {
		if v := gjson.GetBytes(text, key); v.Raw != "[]" {
			t.Errorf("%s is %q, not an empty list", key, v.Raw)
		}
	}
	if gjson.GetBytes(text, "format").Int() != 1 {
		t.Errorf("format is not 1: %s", text)
	}
}

func TestReadJSONRejectsOtherFormats(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":2}`: "the format is 2",
		`{}`:           "the format is 0",
		`{"format":1`:  "unexpected end",
		`{"format":1,"outcomes":[{"id":"x","frames":[{"from":"moon","raw":1}]}]}`: "outcome x: frame 1",
	} {
		if _, err := ReadJSON(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one with %q", text, err, want)
		}
	}
	if _, err := ReadJSON(strings.NewReader(`{"format":1,"later":true}`)); err != nil {
		t.Errorf("an unknown member: %v", err)
	}
}

// Python's parser reads the report and finds every outcome and frame.
func TestPythonReadsJSON(t *testing.T) {
	python := skip.WithoutProgram(t, "python3")
	run := smallRun()
	run.Outcomes[1].Frames = append(run.Outcomes[1].Frames, wire.Frame{From: wire.Server, Raw: []byte(nested(5000))})
	cmd := exec.Command(python, "-c", `
import json, sys
r = json.load(sys.stdin)
assert sum(r["totals"].values()) == len(r["outcomes"]), "totals do not sum"
frames = sum(len(o.get("frames", [])) for o in r["outcomes"])
print(r["format"], len(r["outcomes"]), frames, r["outcomes"][1]["frames"][1]["raw"]["result"]["a"])
`)
	cmd.Stdin = bytes.NewReader(renderJSON(t, run))
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "1 14 13 100.0\n" {
		t.Errorf("python printed %q, %v", out, err)
	}
}
