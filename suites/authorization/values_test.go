package authorization

import (
	"net/url"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A resource is the server if the server's URL is within it.
func TestResourceIdentifiesTheServer(t *testing.T) {
	const server = "http://127.0.0.1:80/a/mcp"
	for resource, want := range map[string]bool{
		server: true, server + "/": true, "http://127.0.0.1:80/a": true, "http://127.0.0.1:80/a/": true,
		"http://127.0.0.1:80": true, "http://127.0.0.1:80/": true, "HTTP://127.0.0.1:80/a/mcp": true,
		"http://localhost:80/a/mcp": true, "http://[::1]:80/a": true,
		"http://localhost:81/a/mcp": false, "http://h.example:80/a/mcp": false, "https://127.0.0.1:80/a/mcp": false,
		"http://127.0.0.1:80/b": false, "http://127.0.0.1:80/a/m": false, server + "/x": false,
	} {
		if got := identifies(parsed(t, resource), parsed(t, server)); got != want {
			t.Errorf("%s identifies %s: %v", resource, server, got)
		}
	}
	for resource, want := range map[string]bool{
		"https://H.example/a": true, "https://127.0.0.1/a": false, "https://h.example:443/a": false,
	} {
		if got := identifies(parsed(t, resource), parsed(t, "https://h.example/a")); got != want {
			t.Errorf("%s identifies a server of another host: %v", resource, got)
		}
	}
}

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestURLArgumentIsATextByFormatOrName(t *testing.T) {
	for properties, want := range map[string]string{
		`{}`: "", `{"page":{"type":"string","format":"uri"}}`: "page", `{"URL":{"type":"string"}}`: "URL",
		`{"a":{"type":"string"},"link":{"type":"string"},"href":{"type":"string"}}`: "link",
		`{"url":{"type":"array"}}`: "", `{"a":{"type":"string","format":"date"}}`: "",
		`{"a":{"type":"number","format":"uri"},"uri":{"type":"string"}}`: "uri", `{"url":{}}`: "",
	} {
		tool := gjson.Parse(`{"name":"t","inputSchema":{"type":"object","properties":` + properties + `}}`)
		if got := urlArgument(tool); got != want {
			t.Errorf("%s: %q, want %q", properties, got, want)
		}
	}
}

func TestElicitedPageIsThatOfAURL(t *testing.T) {
	const url, form = `{"mode":"url","url":"http://p"}`, `{"mode":"form","url":"http://f"}`
	result := func(kind, requests string) string {
		return `"result":{"resultType":"` + kind + `","inputRequests":` + requests + `}`
	}
	for members, want := range map[string]string{
		`"id":1,"method":"elicitation/create","params":` + url:                              "http://p",
		`"id":1,"method":"elicitation/create","params":` + form:                             "",
		`"id":1,"method":"sampling/createMessage","params":` + url:                          "",
		`"id":1,"error":{"code":-32042,"data":{"elicitations":[` + form + `,` + url + `]}}`: "http://p",
		`"id":1,"error":{"code":-32042,"data":{"elicitations":[` + form + `]}}`:             "",
		`"id":1,"error":{"code":-32041,"data":{"elicitations":[` + url + `]}}`:              "",
		`"id":1,` + result("input_required", `{"a":{"params":`+url+`}}`):                    "http://p",
		`"id":1,` + result("complete", `{"a":{"params":`+url+`}}`):                          "",
		`"id":1,"result":{}`: "",
	} {
		if got := elicitedPage(wire.Parse([]byte(`{"jsonrpc":"2.0",` + members + `}`))); got != want {
			t.Errorf("%s: %q, want %q", members, got, want)
		}
	}
}

func TestResultIsPublicIfAllScopesAre(t *testing.T) {
	for want, all := range map[bool][][]string{
		true:  {{"public"}, {"public", "public"}},
		false: {nil, {"private"}, {"public", "private"}, {"private", "public"}, {""}},
	} {
		for _, scopes := range all {
			if got := (userResult{scopes: scopes}).isPublic(); got != want {
				t.Errorf("%q is public: %v", scopes, got)
			}
		}
	}
}
