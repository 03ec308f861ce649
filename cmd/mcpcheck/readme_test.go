package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are the pages that show commands to users.
var documents = []string{"README.md", "CONTRIBUTING.md", "docs/adding-a-check.md", "docs/architecture.md",
	"docs/verdicts.md", "docs/glossary.md"}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The commands in the documents exist, and have the flags that they are shown with.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	inBlock := regexp.MustCompile(`(?m)^(?:\$ |- run: )?(?:go run \./cmd/)?mcpcheck ([a-z].*)$`)
	inline := regexp.MustCompile("`(?:go run \\./cmd/)?mcpcheck ([a-z][^`\n]*)`")
	block := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")
	found := 0
	for _, document := range documents {
		text := readDocument(t, document)
		lines := inline.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1)
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			lines = append(lines, inBlock.FindAllStringSubmatch(b[2], -1)...)
		}
		for _, line := range lines {
			found++
			requireCommand(t, document, line[1])
		}
	}
	if found < 20 {
		t.Errorf("only %d commands were found in the documents", found)
	}
}

// requireCommand requires that a verb exists and has the flags that a line shows, up to
// the command of the target.
func requireCommand(t *testing.T, document, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " -- ")
	line, _, _ = strings.Cut(line, " #")
	root := rootCommand()
	verb, rest, err := root.Find(strings.Fields(line))
	if err != nil || verb == root {
		t.Errorf("%s: mcpcheck %s: there is no such command", document, line)
		return
	}
	for _, word := range rest {
		name, ok := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if name = strings.Trim(name, "',;:."); !ok || name == "" {
			continue
		}
		if verb.Flags().Lookup(name) == nil {
			t.Errorf("%s: mcpcheck %s: %s has no flag --%s", document, line, verb.Name(), name)
		}
	}
}

// Each flag that the documents name is a flag of some command.
func TestDocumentedFlagsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"reverse": true, "short": true} // of git
	for _, verb := range rootCommand().Commands() {
		for _, c := range append(verb.Commands(), verb) {
			flags := regexp.MustCompile(`--([a-z][a-z-]+)`)
			for _, name := range flags.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
				known[name[1]] = true
			}
		}
	}
	for _, document := range documents {
		text := regexp.MustCompile("(?ms)^```(diff|go)\n.*?^```").ReplaceAllString(readDocument(t, document), "")
		for _, name := range regexp.MustCompile("[ `]--([a-z][a-z-]+)").FindAllStringSubmatch(text, -1) {
			if !known[name[1]] {
				t.Errorf("%s: no command has the flag --%s", document, name[1])
			}
		}
	}
}

// The Go example of the README compiles.
func TestExampleOfREADMECompiles(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(readDocument(t, "README.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("the README has no Go example")
	}
	for _, block := range blocks {
		file := tempFile(t, "example_test.go", block[1])
		if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
