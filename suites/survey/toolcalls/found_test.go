package toolcalls

import (
	"slices"
	"testing"

	"github.com/tidwall/gjson"
)

func TestFindsValuesInResults(t *testing.T) {
	for _, c := range []struct {
		says, args, result string
		of                 kind
		want               []string
	}{
		{"a path in a text", `{}`, `{"content":[{"text":"Allowed directories:\n/srv/notes\n"}]}`, aPath,
			[]string{"/srv/notes"}},
		{"what is in a folder", `{"path":"/srv"}`,
			`{"content":[{"text":"[FILE] a.bin\n[DIR] old\n[FILE] b.txt   12 KB\n"}]}`, aPath,
			[]string{"/srv/a.bin", "/srv/old", "/srv/b.txt"}},
		{"no text of a failure", `{"path":"/srv"}`, `{"isError":true,"content":[{"text":"Denied\n"}]}`, aPath, nil},
		{"a path in a failure", `{"path":"x"}`, `{"isError":true,"content":[{"text":"/home/x is not in /srv."}]}`,
			aPath, []string{"/srv"}},
		{"a URI", `{}`, `{"content":[{"type":"resource_link","uri":"notes://plan"}]}`, aURI, []string{"notes://plan"}},
		{"no web address", `{}`, `{"content":[{"text":"see https://example.com/x and WS://x.example"}]}`, aURI, nil},
		{"a name in structured content", `{}`, `{"structuredContent":{"all":[{"name":"Ada","born":"1815"}]}}`, aName,
			[]string{"Ada"}},
		{"an id in JSON text", `{}`, `{"content":[{"text":"[{\"noteId\":\"n7\"}]"}]}`, aName, []string{"n7"}},
		{"no echo", `{"name":"x"}`, `{"structuredContent":{"name":"x"}}`, aName, nil},
	} {
		f := finding{}
		f.add(gjson.Parse(c.result), c.args)
		if !slices.Equal(f[c.of], c.want) {
			t.Errorf("%s: found %q, want %q", c.says, f[c.of], c.want)
		}
	}
}

func TestKindsOfArguments(t *testing.T) {
	for _, c := range []struct {
		name, description string
		want              kind
	}{
		{"path", "", aPath}, {"repo_path", "", aPath}, {"filePath", "", aPath}, {"uri", "", aURI},
		{"noteId", "", aName},
		{"target", "The directory to list", aPath}, {"valid", "", ""}, {"pattern", "What to look for", ""},
	} {
		if got := kindOf(c.name, c.description); got != c.want {
			t.Errorf("%s: the kind is %q, want %q", c.name, got, c.want)
		}
	}
}
