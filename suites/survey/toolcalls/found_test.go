package toolcalls

import (
	"fmt"
	"slices"
	"strings"
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
		{"no text that is a path of the call", `{"path":"b.txt"}`,
			`{"content":[{"text":"see /srv/b.txt and /srv/ab.txt"}]}`, aPath, []string{"/srv/ab.txt"}},
		{"nothing twice", `{}`, `{"content":[{"text":"/srv/a /srv/a"}]}`, aPath, []string{"/srv/a"}},
		{"nothing long", `{}`, `{"structuredContent":{"id":"` + strings.Repeat("x", maxFoundLength+1) + `"}}`, aName,
			nil},
		{"nothing empty", `{}`, `{"structuredContent":{"id":""}}`, aName, nil},
		{"no number", `{}`, `{"structuredContent":{"id":7}}`, aName, nil},
		{"a path in structured content", `{}`, `{"structuredContent":{"at":["/srv/a"]}}`, aPath, []string{"/srv/a"}},
		{"a URI in structured content", `{}`, `{"structuredContent":[{"at":"notes://a"}]}`, aURI,
			[]string{"notes://a"}},
		{"a path in a text of structured content", `{}`, `{"structuredContent":{"at":"see /srv/a"}}`, aPath,
			[]string{"/srv/a"}},
		{"no line of structured content", `{}`, `{"structuredContent":{"at":"Ada"}}`, aName, nil},
		{"what is in a folder of Windows", `{"path":"C:\\srv"}`, `{"content":[{"text":"a.txt"}]}`, aPath,
			[]string{`C:\srv\a.txt`}},
		{"what is in folders", `{"paths":["/a/","/b"]}`, `{"content":[{"text":"- c"}]}`, aPath,
			[]string{"/a/c", "/b/c"}},
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

func TestFindingIsBounded(t *testing.T) {
	f := finding{}
	for i := range maxFoundOfKind + 2 {
		f.addValue(aName, fmt.Sprint("n", i), nil)
	}
	if len(f[aName]) != maxFoundOfKind {
		t.Errorf("%d values are kept, want %d", len(f[aName]), maxFoundOfKind)
	}
}

// A tool is called with its required arguments of a kind; without any, with all of a kind.
func TestArgumentsOfKinds(t *testing.T) {
	const properties = `"properties":{"path":{"type":"string"},"uris":{"type":"array","items":{"type":"string"}},` +
		`"id":{"type":"integer"},"what":{"type":"string"}}`
	for input, want := range map[string]string{
		`{` + properties + `}`:                     "map[path:path uris:uri]",
		`{` + properties + `,"required":["what"]}`: "map[path:path uris:uri]",
		`{` + properties + `,"required":["uris"]}`: "map[uris:uri]",
		`{}`: "map[]",
	} {
		if got := fmt.Sprint(argumentsOfKinds(gjson.Parse(`{"inputSchema":` + input + `}`))); got != want {
			t.Errorf("%s: %s, want %s", input, got, want)
		}
	}
}

func TestExtensionsOfCalls(t *testing.T) {
	called := []string{`{"n":1,"path":"/a.txt"}`, `{"paths":["/b.txt","/c.md"]}`, `{"path":"/d.md"}`, `{}`}
	for extension, want := range map[string]bool{".txt": true, ".md": false, "": false, ".go": false} {
		if got := hasMany(called, extension); got != want {
			t.Errorf("many calls have %q: %v", extension, got)
		}
	}
}
