package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// The secrets of a user, in the encodings in which the server repeats them.
const (
	headerSecret = "hdr/7Qx<zz>81kLmw"
	envSecret    = "env-9Yq2hhTbWc"
	urlSecret    = "pw5Rr8uGnm3v"
	querySecret  = "qt6Tt1sFbn4x"
)

func secretTexts(secrets ...string) (all []string) {
	for _, s := range secrets {
		all = append(all, s, url.QueryEscape(s), hex.EncodeToString([]byte(s)),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.StdEncoding.EncodeToString([]byte("user:"+s)))
	}
	return all
}

// No output of any verb holds a value of --header or --env, or a password or token of the
// URL, though the server repeats them. The command of a rerun refers to the environment.
func TestOutputsHoldNoSecret(t *testing.T) {
	t.Parallel()
	sent := secretTexts(headerSecret, urlSecret, querySecret)
	repeat := func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "ping" || r.Method == "prompts/list" {
				return nil, &server.Error{Code: 1, Message: strings.Join(sent, " ") + "\n1\n2\n3"}
			}
			return next(ctx, r)
		}
	}
	site := httptest.NewServer(server.NewHTTPHandler(server.Options{Handler: repeat}))
	t.Cleanup(site.Close)
	target := strings.Replace(site.URL, "http://", "http://user:"+urlSecret+"@", 1) + "/mcp?token=" + querySecret
	flags := []string{"--spec", "2025-11-25", "--header", "X-Key: " + headerSecret}
	dir := t.TempDir()
	report := func(name string) string { return filepath.Join(dir, name) }
	texts := map[string]string{}
	for verb, args := range map[string][]string{
		"server": {"server", "--only", "ping,prompts", "--json", report("r.json"), "--junit", report("r.xml"),
			"--html", report("r.html")},
		"fuzz": {"fuzz", "--runs", "40", "--out", report("cases"), "--json", report("f.json")},
	} {
		got := run(t, append(append(args, flags...), target)...)
		texts[verb] = got.out + got.errors
		if got.code != exitFails && verb == "server" {
			t.Errorf("%s: exit %d\n%s%s", verb, got.code, got.out, got.errors)
		}
	}
	if !strings.Contains(texts["server"], `--header "X-Key: $X_KEY"`) {
		t.Errorf("no command refers to the environment:\n%s", texts["server"])
	}
	stdio := run(t, append([]string{"server", "--spec", "2025-11-25", "--only", "ping", "--env", "KEY=" + envSecret},
		append([]string{"--", "sh", "-c", "echo $KEY >&2; echo \"$KEY\"; exec \"$@\"", "sh"},
			referenceProcess("ping-refuses-params")[1:]...)...)...)
	texts["stdio"] = stdio.out + stdio.errors
	if !strings.Contains(texts["stdio"], `--env KEY="$KEY"`) {
		t.Errorf("no command refers to the variable:\n%s", texts["stdio"])
	}
	readFiles(t, dir, texts)
	if len(texts) < 7 {
		t.Errorf("only %d outputs", len(texts))
	}
	for name, text := range texts {
		for _, s := range append(sent, envSecret) {
			if at := strings.Index(text, s); at >= 0 {
				t.Errorf("%s holds %s: …%.100s", name, s, text[max(0, at-60):])
			}
		}
	}
}

// readFiles adds the text of each file below a directory.
func readFiles(t *testing.T, dir string, texts map[string]string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		texts[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
