package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const search = `{"date":"2025-06-18","deep":true,"limit":3,"list":[1,{"a":"2"}],` +
		`"none":null,"query":"harbour","score":1.5}`
	for text, want := range map[string]Values{
		"":                 {},
		"# nothing yet\n":  {},
		"resources: [a:b]": {Resources: []string{"a:b"}},
		`
tools:
  search: &search
    arguments:
      - {query: harbour, limit: 3, deep: true, score: 1.5, none: null, list: [1, {a: "2"}], date: 2025-06-18}
      - {}
  again: *search
  "a.b c":
    arguments: [{x: 12345678901234567890}]
prompts:
  greet:
    arguments:
      - name: Ada
        "1": "2"
templates:
  "file:///{path}": {variables: [{path: notes.txt}]}
resources:
  - file:///notes.txt
  - library://desk/hours
`: {
			Tools: map[string][]string{
				"search": {search, `{}`},
				"again":  {search, `{}`},
				"a.b c":  {`{"x":12345678901234567890}`},
			},
			Prompts:   map[string][]string{"greet": {`{"1":"2","name":"Ada"}`}},
			Templates: map[string][]string{"file:///{path}": {`{"path":"notes.txt"}`}},
			Resources: []string{"file:///notes.txt", "library://desk/hours"},
		},
	} {
		got, err := parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s\n got %v\nwant %v", text, *got, want)
		}
	}
}

func TestErrorsNameLineAndKey(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"tools: {\"a\\nb\": {x: 1}}", `line 1: tools."a\nb".x is not known (known here: arguments)`},
		{"tool: {}", `line 1: tool is not known (known here: tools, prompts, templates, resources, authorization)`},
		{"tools:\n  a:\n    argument: []", `line 3: tools.a.argument is not known (known here: arguments)`},
		{
			"prompts:\n  a:\n    arguments:\n    - n: 5",
			`line 4: prompts.a.arguments[0].n is a number, not a string (write it in quotes)`,
		},
		{
			"authorization: {third: x}",
			`line 1: authorization.third is not known (known here: first, second, expired, audience, foreign, ` +
				`narrow, broad, upper, private, issuer, scopes)`,
		},
		{"authorization: {second: 5}", `line 1: authorization.second is a number, not a string`},
		{
			"authorization: {second: \"${MCPCHECK_NOT_SET}\"}",
			`line 1: authorization.second names the environment variable MCPCHECK_NOT_SET, which is not set`,
		},
		{
			"authorization: {second: \"hush hush\"}",
			`line 1: authorization.second is not an access token: a header field cannot hold it`,
		},
		{"authorization: {issuer: here}", `line 1: authorization.issuer is no URL of http or https`},
		{"tools: [a]", `line 1: tools is a list, not a mapping`},
		{"tools:", `line 1: tools is empty, not a mapping`},
		{"tools:\n  a:\n    arguments: {q: x}", `line 3: tools.a.arguments is a mapping, not a list`},
		{"tools:\n  a:\n    arguments:\n      - x\n", `line 4: tools.a.arguments[0] is a string, not a mapping`},
		{"tools:\n\n  a: {arguments: []}", `line 3: tools.a.arguments is empty`},
		{"tools:\n  a: {}", `line 2: tools.a has no arguments`},
		{"tools:\n  a: {arguments: [{}]}\n  a: {}", `line 3: `},
		{"tools:\n  a: {arguments: [{q: .nan}]}", `line 2: tools.a.arguments[0] has no form in JSON`},
		{"resources: {a: b}", `line 1: resources is a mapping, not a list`},
		{"resources:\n- file:///a\n- notes.txt", `line 3: resources[1] is not a URI: "notes.txt"`},
		{"resources:\n- 5", `line 2: resources[0] is a number, not a string`},
		{
			"templates: {\"x:{a}\": {variables: [{a: [1]}]}}",
			`line 1: templates.x:{a}.variables[0].a is a list, not a string`,
		},
		{"- tools", `line 1: the configuration is a list, not a mapping`},
		{"tools: {\n", `line 1: `},
		{"tools: {}\n---\ntools: {}", `line 3: a second document`},
		{"tools: *nowhere", `nowhere`},
	} {
		v, err := parse([]byte(c.text))
		if err == nil {
			t.Errorf("%q: accepted as %v", c.text, v)
			continue
		}
		isRight := strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "nowhere")
		if !isRight || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want %s", c.text, err, c.want)
		}
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte("x: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(t.TempDir(), "none.yaml")} {
		if _, err := Read(p); err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestParseAuthorization(t *testing.T) {
	t.Setenv("MCPCHECK_TEST_TOKEN", "abc.def")
	got, err := parse([]byte(`
authorization:
  second: ${MCPCHECK_TEST_TOKEN}
  expired: xyz
  private: ["a:b"]
  issuer: http://127.0.0.1:9000
  scopes: {narrow: read}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Authorization{
		Tokens: map[string]string{"second": "abc.def", "expired": "xyz"}, PrivateResources: []string{"a:b"},
		Issuer: "http://127.0.0.1:9000", Scopes: map[string]string{"narrow": "read"},
	}
	if !reflect.DeepEqual(got.Authorization, want) {
		t.Errorf("got %+v, want %+v", got.Authorization, want)
	}
}
