package resources

import (
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// probesOfPaths returns the probe of the paths of file:// resources.
func probesOfPaths() []check.Check {
	return []check.Check{
		{
			ID:    "resources.read.path",
			Says:  "the server reads no file:// URI whose path leads out of the files that it offers",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "resources",
			Rules: []string{"resources-path-traversal"},
			Idle:  "the server refused no path that leads out of its files",
			Hint:  "refuse a file:// URI that leads out of the offered files with an error",
			// The body creates a file that no server offers, and requests it by paths that
			// begin in a folder of the server. A server that reads it by its plain URI
			// offers the whole disk.
			Probe: func(t *check.T) {
				folders := requireFileFolders(t)
				file, token, err := createFile()
				if err != nil {
					t.NotObserved("no file could be created: "+err.Error(),
						"let mcpcheck create a file in "+os.TempDir())
				}
				defer os.Remove(file)
				if r := usage.ReadResource(t, format.FileURI(file)); r.Err != nil || holds(r.Message, token) {
					t.NotObserved("the server reads any file, or did not answer",
						"refuse a file:// URI outside of the offered files with an error")
				}
				for _, folder := range folders {
					for _, uri := range traversals(folder, filepath.ToSlash(file)) {
						r := usage.ReadResource(t, uri)
						switch {
						case r.Err != nil:
							t.NotObserved("resources/read for "+wire.Clip(uri, 120)+" was not answered",
								"answer resources/read for such a URI with an error")
						case holds(r.Message, token):
							t.Mark(r.Entry)
							t.Fail("an error", r.Message.Summary(),
								"%s, which leads out of the files that the server offers, was read",
								wire.Clip(uri, 200))
						case r.Message.Kind == wire.Error:
							t.Saw()
						}
					}
				}
			},
		},
	}
}

// requireFileFolders returns folders of file:// resources as URIs that end in a slash.
// It ends the body unless the server is on this machine and lists such resources: the
// file that must not be read is one of this disk, and a server elsewhere has no such
// file.
func requireFileFolders(t *check.T) []string {
	if posting.OverHTTP(t) && !check.IsLoopback(t.HTTP().URL()) {
		t.NotObserved("the server may be on another machine, and the file that must not be read is on this one",
			"give a URL with localhost or 127.0.0.1")
	}
	const most = 2
	var out []string
	for _, r := range usage.Entries(t, offer.ResourcesList) {
		u, err := url.Parse(r.Get("uri").Str)
		if err != nil || u.Scheme != "file" || len(out) == most {
			continue
		}
		if _, err := os.Stat(filepath.FromSlash(u.Path)); err == nil {
			out = append(out, "file://"+(&url.URL{Path: path.Dir(u.Path)}).EscapedPath()+"/")
		}
	}
	if len(out) == 0 {
		t.NotObserved("the server lists no file:// resource that is on this disk",
			"list a file:// resource of a file on this machine")
	}
	return out
}

// createFile creates a file that holds a random token.
func createFile() (file, token string, err error) {
	f, err := os.CreateTemp("", "mcpcheck-")
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	token = rand.Text()
	_, err = f.WriteString(token)
	return f.Name(), token, err
}

// traversals returns URIs that lead from a folder to a file elsewhere. Their dots and
// slashes are plain or percent-encoded.
func traversals(folder, file string) []string {
	way := strings.Repeat("../", strings.Count(folder, "/")) + strings.TrimPrefix(file, "/")
	var out []string
	for _, dots := range []string{"..", "%2e%2e"} {
		dotted := strings.ReplaceAll(way, "..", dots)
		out = append(out, folder+dotted, folder+strings.ReplaceAll(dotted, "/", "%2f"))
	}
	return out
}

// holds reports whether the contents in a result hold a token.
func holds(m wire.Message, token string) bool {
	for _, item := range m.Result().Get("contents").Array() {
		text := item.Get("text")
		data, _ := base64.StdEncoding.DecodeString(item.Get("blob").String())
		if text.Type == gjson.String && strings.Contains(text.Str, token) || strings.Contains(string(data), token) {
			return true
		}
	}
	return false
}
