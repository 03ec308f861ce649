package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

func TestNormalizeReplacesVaryingValues(t *testing.T) {
	const root = "/home/ada/mcpcheck"
	for _, c := range []struct{ detail, want string }{
		{"a request, id 38, was not answered within 1.5s", "a request, id N, was not answered within Ns"},
		{"the error has code -32603 at 2025-06-18", "the error has code -32603 at 2025-06-18"},
		{"http://127.0.0.1:42733/mcp answered 404", "http://N.N:N/mcp answered N"},
		{"session 0b9c4f7e-6a53-4f0e-9d4b-1d2f3a4b5c6d ended", "session ID ended"},
		{"session 0B9C4F7E6A534F0E9D4B1D2F3A4B5C6D ended", "session ID ended"},
		{"read " + root + "/interop/data/files", "read {root}/interop/data/files"},
		{"a revision 1999-01-01, error -3260 and -1", "a revision 1999-01-01, error -N and -N"},
	} {
		if got := normalize(c.detail, root); got != c.want {
			t.Errorf("%q became %q, want %q", c.detail, got, c.want)
		}
	}
}

func TestLinesHoldVerdictsWithoutTimes(t *testing.T) {
	var r target.Report
	err := json.Unmarshal([]byte(`{
		"revisions":[{"revision":"2025-06-18","spoken":true},{"revision":"2026-07-28"}],
		"outcomes":[
			{"id":"b.two","says":"s","level":"MUST","revision":"2025-06-18","transport":"stdio",
			 "verdict":"fail","detail":"id 7","rules":[{"id":"r"}],"frames":[{}],"ms":3},
			{"id":"a.one","level":"SHOULD","revision":"2025-06-18","transport":"stdio",
			 "verdict":"pass","detail":"in 3 ms"},
			{"id":"a.one","level":"SHOULD","revision":"2026-07-28","transport":"stdio",
			 "verdict":"not-applicable"}]}`), &r)
	if err != nil {
		t.Fatal(err)
	}
	r.Exit = 1
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := write(path, [][]line{linesOf("notes", &r, "/root")}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`{"target":"notes","id":"a.one","level":"SHOULD","revision":"2025-06-18",` +
			`"transport":"stdio","verdict":"pass"}`,
		`{"target":"notes","id":"b.two","level":"MUST","revision":"2025-06-18",` +
			`"transport":"stdio","verdict":"fail","detail":"id N"}`,
		`{"target":"notes","id":"exit","verdict":"1"}`,
		`{"target":"notes","id":"spoken","revision":"2025-06-18","verdict":"yes"}`,
		`{"target":"notes","id":"spoken","revision":"2026-07-28","verdict":"no"}`,
		"",
	}, "\n")
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func file(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRenamesReturnNewestIDs(t *testing.T) {
	ids, err := readRenames(file(t,
		"# old\tnew", "",
		"moved\tm.moved",
		"twice\tt.once", "t.once\tt.twice",
		"split\ts.one", "split\ts.two",
		"kept\tkept", "kept\tk.more",
		"left\tj.joined", "right\tj.joined",
		"removed\t-", "gone\t",
	))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"moved": "m.moved", "m.moved": "m.moved",
		"twice": "t.twice", "t.once": "t.twice", "t.twice": "t.twice",
		"split": "s.one+s.two", "s.two": "s.one+s.two",
		"kept": "k.more+kept", "k.more": "k.more+kept",
		"left": "j.joined", "right": "j.joined",
		"removed": "removed", "gone": "gone", "other": "other",
	} {
		if got := ids.current(id); got != want {
			t.Errorf("%s is now %q, want %q", id, got, want)
		}
	}
	if ids, err := readRenames(filepath.Join(t.TempDir(), "none")); err != nil || ids.current("a") != "a" {
		t.Errorf("a missing file: %v, %v", ids, err)
	}
	if _, err := readRenames(file(t, "one column")); err == nil || !strings.Contains(err.Error(), ":1: 1 columns") {
		t.Errorf("a row of one column: %v", err)
	}
}

// verdict is a line of a recording at 2025-06-18.
func verdict(name, id, verdict string) string {
	return `{"target":"` + name + `","id":"` + id +
		`","level":"MUST","revision":"2025-06-18","transport":"stdio","verdict":"` + verdict + `"}`
}

func spoken(name, verdict string) string {
	return `{"target":"` + name + `","id":"spoken","revision":"2025-06-18","verdict":"` + verdict + `"}`
}

func exit(name, code string) string {
	return `{"target":"` + name + `","id":"exit","verdict":"` + code + `"}`
}

// output compares two recordings with tables, and returns what is printed and
// how many changes count.
func output(t *testing.T, older, newer, renamed, allow []string) (string, int) {
	t.Helper()
	ids, err := readRenames(file(t, renamed...))
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := readAllowances(file(t, allow...), ids)
	if err != nil {
		t.Fatal(err)
	}
	before, err := read(file(t, older...), nil, ids)
	if err != nil {
		t.Fatal(err)
	}
	after, err := read(file(t, newer...), nil, ids)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	counted := printChanges(&b, compare(before, after, allowed))
	return b.String(), counted
}

// A changeCase is two recordings, and the changes that are printed.
type changeCase struct {
	name                         string
	older, newer, renamed, allow []string
	counted                      int
	want                         []string // lines that are printed
}

func changeCases() []changeCase {
	return []changeCase{
		{name: "no change", older: []string{verdict("a", "x.y", "pass")}, newer: []string{verdict("a", "x.y", "pass")},
			want: []string{"0 changes, and 0 that are allowed"}},
		{name: "equal changes are one", counted: 2,
			older: []string{verdict("a", "x.y", "pass"), verdict("b", "x.y", "pass")},
			newer: []string{verdict("a", "x.y", "fail"), verdict("b", "x.y", "fail")},
			want:  []string{"x.y: pass -> fail (2)", "  2025-06-18: a, b", "a: 1 changes", "b: 1 changes"}},
		{name: "changed level", counted: 1,
			older: []string{verdict("a", "x.y", "pass")},
			newer: []string{strings.Replace(verdict("a", "x.y", "pass"), "MUST", "SHOULD", 1)},
			want:  []string{"x.y: MUST -> SHOULD (1)"}},
		{name: "ids in one recording only", counted: 2,
			older: []string{verdict("a", "x.y", "pass")}, newer: []string{verdict("a", "x.z", "pass")},
			want: []string{"missing x.y: pass -> absent (1)", "new x.z: absent -> pass (1)"}},
		{name: "id of one target only", counted: 1,
			older: []string{verdict("a", "x.y", "pass"), verdict("b", "x.y", "pass")},
			newer: []string{verdict("a", "x.y", "pass"), exit("b", "0")},
			allow: []string{"exit\t*\tb\tr\tabsent 0"},
			want:  []string{"x.y: pass -> absent (1)"}},
		{name: "rename is no change", renamed: []string{"x.y\tz.y"},
			older: []string{verdict("a", "x.y", "pass")}, newer: []string{verdict("a", "z.y", "pass")}},
		{name: "most severe verdict of a split id counts", counted: 1, renamed: []string{"x.y\tx.a", "x.y\tx.b"},
			older: []string{verdict("a", "x.y", "fail"), verdict("b", "x.y", "pass")},
			newer: []string{
				verdict("a", "x.a", "pass"), verdict("a", "x.b", "fail"),
				verdict("b", "x.a", "fail"), verdict("b", "x.b", "pass"),
			},
			want: []string{"x.a+x.b: pass -> fail (1)", "  2025-06-18: b"}},
		{name: "revision no longer supported", counted: 1,
			older: []string{spoken("a", "yes"), verdict("a", "x.y", "pass")}, newer: []string{spoken("a", "no")},
			want: []string{"spoken: yes -> no (1)", "  2025-06-18: a"}},
		{name: "target in one recording only", counted: 2,
			older: []string{exit("a", "0"), spoken("a", "yes"), verdict("a", "x.y", "pass")},
			newer: []string{exit("b", "0")},
			allow: []string{"spoken\t*\ta\tr\tyes absent"},
			want:  []string{"exit: 0 -> absent (1)", "  a", "exit: absent -> 0 (1)", "  b"}},
		{name: "allowed pass -> not-observed", counted: 1, renamed: []string{"x.y\tz.y"},
			older: []string{verdict("a", "x.y", "pass"), verdict("b", "x.y", "pass")},
			newer: []string{verdict("a", "z.y", "not-observed"), verdict("b", "z.y", "not-observed")},
			allow: []string{"# id", "x.y\t*\ta\tthe evidence was none"},
			want: []string{
				"allowed: z.y: pass -> not-observed (1)", "  reason: the evidence was none",
				"z.y: pass -> not-observed (1)", "  2025-06-18: b", "1 changes, and 1 that are allowed",
			}},
		{name: "other changes are not allowed", counted: 1,
			older: []string{
				verdict("a", "x.y", "pass"), verdict("a", "x.z", "pass"), verdict("a", "x.w", "not-observed"),
			},
			newer: []string{verdict("a", "x.y", "fail"), verdict("a", "x.z", "fail"), verdict("a", "x.w", "pass")},
			allow: []string{"x.y\t2025-06-18\t*\tr", "x.z\t2025-*\t*\tr\tpass fail", "x.w\t*\t*\tr\tpass not-observed"},
			want:  []string{"x.y: pass -> fail (1)"}},
		{name: "allowed at another revision", counted: 1,
			older: []string{verdict("a", "x.y", "pass")}, newer: []string{verdict("a", "x.y", "not-observed")},
			allow: []string{"x.y\t2026-07-28\t*\tr"}},
	}
}

func TestEachKindOfChangeIsReported(t *testing.T) {
	for _, c := range changeCases() {
		t.Run(c.name, func(t *testing.T) {
			text, counted := output(t, c.older, c.newer, c.renamed, c.allow)
			if counted != c.counted {
				t.Errorf("%d changes count, want %d", counted, c.counted)
			}
			for _, want := range c.want {
				if !slices.Contains(strings.Split(text, "\n"), want) {
					t.Errorf("there is no line %q", want)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

func TestDetailsOfTheFirstChangeArePrinted(t *testing.T) {
	fail := strings.Replace(verdict("a", "x.y", "fail"), `"}`, `","detail":"no answer"}`, 1)
	text, _ := output(t, []string{fail}, []string{verdict("a", "x.y", "pass")}, nil, nil)
	if !strings.Contains(text, "\n  old: no answer\n") || strings.Contains(text, "new:") {
		t.Errorf("printed\n%s", text)
	}
}

func TestOnlyNamedTargetsAreCompared(t *testing.T) {
	path := file(t, verdict("a", "x.y", "pass"), verdict("b", "x.y", "pass"))
	got, err := read(path, []string{"b"}, nil)
	if err != nil || len(got) != 1 || len(got["b"]) != 1 {
		t.Errorf("read %v, %v", got, err)
	}
}

func TestComparisonOfFilesFailsForAChange(t *testing.T) {
	same := file(t, verdict("a", "x.y", "pass"))
	other := file(t, verdict("a", "x.y", "fail"))
	o := &options{compare: true, renamed: "none"}
	if err := run(o, []string{same, same}); err != nil {
		t.Errorf("equal recordings: %v", err)
	}
	if err := run(o, []string{same, other}); err == nil || err.Error() != "1 changes" {
		t.Errorf("different recordings: %v", err)
	}
	for _, args := range [][]string{{same}, {same, other, "nobody"}, {same, "missing"}} {
		if err := run(o, args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if err := run(&options{}, nil); err == nil || !strings.Contains(err.Error(), "-o FILE") {
		t.Errorf("no output: %v", err)
	}
}

// A stand-in for the protected reference server prints its configuration on
// stderr and its URLs on stdout.
func TestRunsProtectedServerWithItsConfiguration(t *testing.T) {
	binary := file(t, "#!/bin/sh", `echo 'put it in FILE: authorization: {issuer: "http://127.0.0.1:1"}' >&2`,
		"echo http://127.0.0.1:1/mcp http://127.0.0.1:1/sse", "exec sleep 60")
	if err := os.Chmod(binary, 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.yaml")
	flags, stop, err := serveProtected(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if want := []string{"--config", config, "http://127.0.0.1:1/mcp"}; !slices.Equal(flags, want) {
		t.Errorf("the flags are %q, want %q", flags, want)
	}
	const want = `authorization: {issuer: "http://127.0.0.1:1"}` + "\n"
	if text, err := os.ReadFile(config); err != nil || string(text) != want {
		t.Errorf("the configuration is %q, %v", text, err)
	}
	silent := file(t, "#!/bin/sh", "echo trouble >&2")
	if err := os.Chmod(silent, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := serveProtected(silent, config); err == nil {
		t.Error("a server that prints no configuration: no error")
	}
}

func TestAcceptsFlagsAfterArguments(t *testing.T) {
	set := flag.NewFlagSet("record", flag.ContinueOnError)
	compare, allow := set.Bool("compare", false, ""), set.String("allow", "", "")
	others := parse(set, []string{"-compare", "OLD", "NEW", "-allow", "FILE", "notes"})
	if !*compare || *allow != "FILE" || !slices.Equal(others, []string{"OLD", "NEW", "notes"}) {
		t.Errorf("compare %v, allow %q, others %q", *compare, *allow, others)
	}
}
