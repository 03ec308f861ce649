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

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// fileBases returns the folders of file:// resources that are on this disk, as
// URIs with a slash at the end.
func fileBases(t *check.T) []string {
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
	return out
}

// layCanary writes a token to a new file.
func layCanary() (file, token string, err error) {
	f, err := os.CreateTemp("", "mcpcheck-")
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	token = rand.Text()
	_, err = f.WriteString(token)
	return f.Name(), token, err
}

// astray returns URIs that lead from a folder to a file elsewhere, with the
// dots and the slashes of the way plain and escaped.
func astray(base, file string) []string {
	way := strings.Repeat("../", strings.Count(base, "/")) + strings.TrimPrefix(file, "/")
	var out []string
	for _, dots := range []string{"..", "%2e%2e"} {
		dotted := strings.ReplaceAll(way, "..", dots)
		out = append(out, base+dotted, base+strings.ReplaceAll(dotted, "/", "%2f"))
	}
	return out
}

// holds tells whether what was read has a token in it.
func holds(e wire.Entry, token string) bool {
	for _, item := range e.Message.Result().Get("contents").Array() {
		data, _ := base64.StdEncoding.DecodeString(item.Get("blob").String())
		if text := item.Get("text"); text.Type == gjson.String && strings.Contains(text.Str, token) || strings.Contains(string(data), token) {
			return true
		}
	}
	return false
}
