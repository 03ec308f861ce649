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
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// pathsSanitized lays out a file of its own that nobody offers, and asks for
// it by paths that begin where the server's files are. A server that reads it
// by its plain URI offers the whole disk, and one whose files are not on this
// disk would refuse it in any case: neither tells anything.
func pathsSanitized(t *check.T) {
	if posting.OverHTTP(t) && !t.OnLoopback() {
		t.NotObserved("the server is not spoken to over the loopback interface: the file that must not be read is one of this machine", "give a URL with localhost or 127.0.0.1")
	}
	bases := fileBases(t)
	if len(bases) == 0 {
		t.NotObserved("the server lists no file:// resource that is on this disk", "")
	}
	canary, token, err := layCanary()
	if err != nil {
		t.NotObserved("no file could be laid out: "+err.Error(), "")
	}
	defer os.Remove(canary)
	if e, err := usage.ReadResource(t, format.FileURI(canary)); err != nil || holds(e, token) {
		t.NotObserved("the server reads any file, or did not answer", "")
	}
	refused := false
	for _, base := range bases {
		for _, uri := range astray(base, filepath.ToSlash(canary)) {
			e, err := usage.ReadResource(t, uri)
			switch {
			case err != nil:
				t.NotObserved("reading "+wire.Clip(uri, 120)+" was not answered", "")
			case holds(e, token):
				t.Mark(e)
				t.Fail("an error", e.Message.Summary(), "%s, which leads out of what is offered, was read", wire.Clip(uri, 200))
			}
			refused = refused || e.Message.Kind == wire.Error
		}
	}
	if !refused {
		t.NotObserved("no path was refused", "")
	}
}

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
