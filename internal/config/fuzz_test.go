package config

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// FuzzParse reads arbitrary text as a configuration. An error is one line. An
// accepted configuration consists of JSON objects and URIs, and is the same when it is
// written as YAML and read again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "# nothing\n", "resources: [a:b]", "tools: {a: {arguments: [{q: x, n: 1.5, l: [1, null, true]}, {}]}}",
		"prompts:\n  greet:\n    arguments:\n      - name: Ada\n        \"1\": \"2\"\n",
		"templates: {\"file:///{path}\": {variables: [{path: notes.txt}]}}",
		"tools:\n  a: &x\n    arguments:\n      - <<: {b: 1}\n        date: 2025-06-18\n  c: *x\n", "tools: *nowhere",
		"tools: {\n", "- tools", "tools: {}\n---\ntools: {}",
		"authorization:\n  second: ${HOME}\n  private: [\"a:b\"]\n  issuer: http://127.0.0.1:9000\n" +
			"  scopes: {narrow: read}",
		"tools: {a: {arguments: [{q: .nan}]}}",
		"tools:\n  a: {arguments: [{1: 2, ~: 3, true: 4}]}\n", "tools: !!str x", "tools: !custom {a: 1}",
		"\ufeffresources: [a:b]", "tools: {a: {arguments: [{x: 0x1F, y: 0o17, z: 1_000}]}}",
		"a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "tools: |\n  text\n", "? [a]\n: b\n",
		"\"0\\nb\": x\n", "tools: {\"a\\rb\": {x: 1}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || err.Error() == "" {
				t.Errorf("the error is %q", err)
			}
			return
		}
		assertUsable(t, v)
		written, ok := write(t, v)
		if !ok {
			return
		}
		again, err := parse(written)
		if err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%s\nis read as %+v, %v; want %+v", written, again, err, v)
		}
	})
}

// namedValues returns the members of a configuration that are by name.
func namedValues(v *Values) map[string]map[string][]string {
	return map[string]map[string][]string{"tools": v.Tools, "prompts": v.Prompts, "templates": v.Templates}
}

// assertUsable asserts that the values are such as a probe can send.
func assertUsable(t *testing.T, v *Values) {
	t.Helper()
	for key, named := range namedValues(v) {
		for name, objects := range named {
			for _, raw := range objects {
				var members map[string]any
				if err := json.Unmarshal([]byte(raw), &members); err != nil || members == nil {
					t.Errorf("%s.%s is %s: %v", key, name, raw, err)
				}
				for member, value := range members {
					if _, ok := value.(string); !ok && key != "tools" {
						t.Errorf("%s.%s.%s is %v, not a string", key, name, member, value)
					}
				}
			}
		}
	}
	for _, uri := range append(v.Resources, v.Authorization.PrivateResources...) {
		if u, err := url.Parse(uri); err != nil || u.Scheme == "" {
			t.Errorf("%q is no URI: %v", uri, err)
		}
	}
	for kind, token := range v.Authorization.Tokens {
		if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
			t.Errorf("the token of %s is %q", kind, token)
		}
	}
}

// write writes values as a configuration file that holds JSON only, which YAML
// includes. ok is false if a value came from the environment and would be read
// from there again.
func write(t *testing.T, v *Values) (text []byte, ok bool) {
	t.Helper()
	top := map[string]any{}
	for key, named := range namedValues(v) {
		list := "arguments"
		if key == "templates" {
			list = "variables"
		}
		entries := map[string]any{}
		for name, objects := range named {
			var all []json.RawMessage
			for _, raw := range objects {
				all = append(all, json.RawMessage(raw))
			}
			entries[name] = map[string]any{list: all}
		}
		if named != nil {
			top[key] = entries
		}
	}
	if v.Resources != nil {
		top["resources"] = v.Resources
	}
	if !reflect.ValueOf(v.Authorization).IsZero() {
		top["authorization"] = authorizationOf(v.Authorization)
	}
	text, err := json.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	return text, !strings.Contains(string(text), `"${`)
}

func authorizationOf(a Authorization) map[string]any {
	out := map[string]any{}
	for kind, token := range a.Tokens {
		out[kind] = token
	}
	if a.PrivateResources != nil {
		out["private"] = a.PrivateResources
	}
	if a.Issuer != "" {
		out["issuer"] = a.Issuer
	}
	if a.Scopes != nil {
		out["scopes"] = a.Scopes
	}
	return out
}
