package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/reports"
)

// What a configuration gives reaches the target, where without it nothing of
// the kind is sent, and the report tells what was given in vain.
func TestAConfigurationReachesTheTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mcpcheck.yaml")
	text := `
tools:
  borrow_book:
    arguments:
      - {book: b7, reader: Configured Reader}
  no_such_tool:
    arguments: [{}]
prompts:
  find_title:
    arguments:
      - {author: Configured Author}
templates:
  "library://loans/{reader}":
    variables:
      - {reader: Configured Reader}
resources:
  - library://books/b3?configured
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	heard := func(args ...string) (string, *reports.Run) {
		log := filepath.Join(dir, "heard")
		_ = os.Remove(log)
		args = append(append([]string{"server", "--json", "-", "--spec", "2025-11-25", "--only", "tools.result.content,tools.call.arguments.validated"}, args...),
			"--", "sh", "-c", "tee -a "+log+" | "+binary+" reference server --stdio")
		r := run(t, args...)
		report, err := reports.ReadJSON(strings.NewReader(r.out))
		if err != nil {
			t.Fatalf("%v\n%s%s", err, r.out, r.errors)
		}
		sent, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(sent), report
	}
	with, report := heard("--config", file)
	without, _ := heard()
	for _, part := range []string{
		`"arguments":{"book":"b7","reader":"Configured Reader"}`, `"arguments":{"author":"Configured Author"}`,
		`"library://loans/Configured%20Reader"`, `"library://books/b3?configured"`,
	} {
		if !strings.Contains(with, part) {
			t.Errorf("the target never got %s", part)
		}
		if strings.Contains(without, part) {
			t.Errorf("without a configuration the target got %s", part)
		}
	}
	if strings.Contains(without, `"borrow_book"`) {
		t.Error("a tool that is not read-only was called without leave")
	}
	if n := strings.Count(with, `"name":"borrow_book"`); n != strings.Count(with, `"reader":"Configured Reader"`) {
		t.Errorf("borrow_book was called %d times, also with other arguments than those given", n)
	}
	if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, `"no_such_tool", which the server does not list`) || strings.Contains(notes, "borrow_book") {
		t.Errorf("the notes are %q", notes)
	}
	if report.Options["config"] != file {
		t.Errorf("the options of the report are %v", report.Options)
	}
}

// The examples of the help and of the README are configurations.
func TestConfigurationsOfTheDocumentsAreRead(t *testing.T) {
	var help strings.Builder
	for line := range strings.Lines(run(t, "help", "server").out) {
		for _, key := range []string{"tools:", "prompts:", "templates:", "resources:"} {
			if strings.HasPrefix(strings.TrimSpace(line), key) {
				help.WriteString(strings.TrimPrefix(line, "  "))
			}
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(readme), "```yaml\ntools:")
	example, _, _ = strings.Cut(example, "```")
	t.Setenv("TOKEN", "first")
	for _, name := range []string{"OTHER_USER", "OLD_TOKEN", "ELSEWHERE", "READ_ONLY", "ADMIN"} {
		t.Setenv(name, "token-of-"+name)
	}
	_, guarded, _ := strings.Cut(string(readme), "```yaml\nauthorization:")
	guarded, _, _ = strings.Cut(guarded, "```")
	file := filepath.Join(t.TempDir(), "mcpcheck.yaml")
	if err := os.WriteFile(file, []byte("authorization:"+guarded), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, err := config.Read(file); err != nil || len(v.Authorization.Tokens) != 6 || len(v.Authorization.Private) != 1 || v.Authorization.Tokens["second"] != "token-of-OTHER_USER" {
		t.Errorf("%+v, %v of\n%s", v, err, guarded)
	}
	for _, text := range []string{help.String(), "tools:" + example} {
		file := filepath.Join(t.TempDir(), "mcpcheck.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := config.Read(file)
		if err != nil || len(v.Tools) == 0 || len(v.Prompts) == 0 || len(v.Templates) == 0 || len(v.Resources) == 0 {
			t.Errorf("%v, %v of\n%s", v, err, text)
		}
	}
}
