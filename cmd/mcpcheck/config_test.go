package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/reports"
)

const testConfig = `
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

// runTapped runs checks against the reference server. It returns all that
// mcpcheck sent to the server.
func runTapped(t *testing.T, flags string) (sent string, report *reports.Run) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "sent")
	r := run(t, argv("server --json - --spec 2025-11-25 "+
		"--only tools.result.content,tools.call.arguments.validated "+flags,
		shellScript("tee -a "+log+" | "+binary+" reference server --stdio"))...)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, r.out, r.errors)
	}
	return string(text), parseReport(t, r.out)
}

// The values of a configuration reach the target, and only those. The report notes values
// that no check uses.
func TestConfigurationReachesTheTarget(t *testing.T) {
	t.Parallel()
	file := tempFile(t, "mcpcheck.yaml", testConfig)
	with, report := runTapped(t, "--config "+file)
	without, _ := runTapped(t, "")
	for _, part := range []string{
		`"arguments":{"book":"b7","reader":"Configured Reader"}`, `"arguments":{"author":"Configured Author"}`,
		`"library://loans/Configured%20Reader"`, `"library://books/b3?configured"`,
	} {
		if !strings.Contains(with, part) {
			t.Errorf("the target did not get %s", part)
		}
		if strings.Contains(without, part) {
			t.Errorf("without a configuration the target got %s", part)
		}
	}
	if strings.Contains(without, `"borrow_book"`) {
		t.Error("a tool was called that is neither read-only nor allowed")
	}
	calls := strings.Count(with, `"name":"borrow_book"`)
	if calls != strings.Count(with, `"reader":"Configured Reader"`) {
		t.Errorf("borrow_book was called %d times, also with other arguments than those given", calls)
	}
	notes := strings.Join(report.Notes, "\n")
	if !strings.Contains(notes, `"no_such_tool", which the server does not list`) ||
		strings.Contains(notes, "borrow_book") {
		t.Errorf("the notes are %q", notes)
	}
	if report.Options["config"] != file {
		t.Errorf("the options of the report are %v", report.Options)
	}
}

// The examples of the help and of the README are valid configurations.
func TestDocumentedConfigurationsAreValid(t *testing.T) {
	var help strings.Builder
	for line := range strings.Lines(run(t, "help", "server").out) {
		for _, key := range argv("tools: prompts: templates: resources:") {
			if strings.HasPrefix(strings.TrimSpace(line), key) {
				help.WriteString(strings.TrimPrefix(line, "  "))
			}
		}
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	// example returns the YAML example of the README that begins with a key.
	example := func(key string) string {
		_, rest, _ := strings.Cut(string(text), "```yaml\n"+key)
		body, _, _ := strings.Cut(rest, "```")
		return key + body
	}
	for _, text := range []string{help.String(), example("tools:")} {
		v, err := config.Read(tempFile(t, "mcpcheck.yaml", text))
		if err != nil || len(v.Tools) == 0 || len(v.Prompts) == 0 || len(v.Templates) == 0 || len(v.Resources) == 0 {
			t.Errorf("%v, %v of\n%s", v, err, text)
		}
	}
	t.Setenv("TOKEN", "first")
	for _, name := range argv("OTHER_USER OLD_TOKEN ELSEWHERE READ_ONLY ADMIN") {
		t.Setenv(name, "token-of-"+name)
	}
	v, err := config.Read(tempFile(t, "mcpcheck.yaml", example("authorization:")))
	a := v.Authorization
	if err != nil || len(a.Tokens) != 6 || len(a.PrivateResources) != 1 || a.Tokens["second"] != "token-of-OTHER_USER" {
		t.Errorf("%+v, %v", v, err)
	}
}
