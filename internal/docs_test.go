package internal

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/skip"
)

// The diff blocks of a document are changes that the code contains, so that the document
// is up to date.
func TestDiffsOfDocumentsMatchCode(t *testing.T) {
	git := skip.WithoutProgram(t, "git")
	found := 0
	for path, text := range documents(t) {
		for _, block := range diffs(text) {
			found++
			cmd := exec.Command(git, "apply", "--reverse", "--check", "--whitespace=nowarn")
			cmd.Dir, cmd.Stdin = "..", strings.NewReader(block)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("a diff of %s is no longer in the code: write into the page what git diff shows for the "+
					"change now (%v):\n%s%s", path, err, out, block)
			}
		}
	}
	if found == 0 {
		t.Error("no document has a diff block")
	}
}

// diffs returns the contents of the diff blocks of a document.
func diffs(text string) (out []string) {
	for _, match := range regexp.MustCompile("(?ms)^```diff\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		out = append(out, match[1])
	}
	return out
}

func TestRelativeLinksOfDocumentsResolve(t *testing.T) {
	for path, text := range documents(t) {
		anchors := anchorsOf(text)
		for _, link := range links(text) {
			file, anchor, _ := strings.Cut(link, "#")
			if file != "" {
				target := filepath.Join("..", filepath.Dir(path), file)
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s links to %s, which does not exist", path, link)
					continue
				}
				if anchor == "" || !strings.HasSuffix(file, ".md") {
					continue
				}
				other, err := os.ReadFile(target)
				if err != nil {
					t.Fatal(err)
				}
				if anchorsOf(string(other))[anchor] {
					continue
				}
			} else if anchors[anchor] {
				continue
			}
			t.Errorf("%s links to %s, which has no such heading", path, link)
		}
	}
}

// links returns the targets of the links of a document that are files or anchors.
func links(text string) (out []string) {
	prose := regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`\\]\\(|`[^`\n]*`").ReplaceAllStringFunc(text,
		func(code string) string {
			if strings.HasSuffix(code, "](") {
				return "[code]("
			}
			return ""
		})
	for _, match := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(prose, -1) {
		if !strings.Contains(match[1], "://") && !strings.HasPrefix(match[1], "mailto:") {
			out = append(out, match[1])
		}
	}
	return out
}

// anchorsOf returns the anchors that the headings of a document have on GitHub.
func anchorsOf(text string) map[string]bool {
	out := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchor := strings.ReplaceAll(strings.ToLower(match[1]), " ", "-")
		out[regexp.MustCompile(`[^\pL\pN_-]`).ReplaceAllString(anchor, "")] = true
	}
	return out
}

func TestDetectsLinksAndDiffs(t *testing.T) {
	const text = "# One `two` heading\nA [file](docs/x.md#a) and [`code`](b.go), `no](link)`, [web](https://x.y).\n" +
		"```diff\n+[no](link)\n```\n[here](#one-two-heading)\n"
	if got, want := strings.Join(links(text), " "), "docs/x.md#a b.go #one-two-heading"; got != want {
		t.Errorf("the links are %q, want %q", got, want)
	}
	if got := diffs(text); len(got) != 1 || got[0] != "+[no](link)\n" {
		t.Errorf("the diffs are %q", got)
	}
	if !anchorsOf(text)["one-two-heading"] {
		t.Errorf("the anchors are %v", anchorsOf(text))
	}
}

// documents returns the Markdown files of the module by their paths from its root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "build" || d.Name() == "target" ||
			d.Name() != ".." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		out[filepath.ToSlash(strings.TrimPrefix(path, "../"))] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
