// Package config reads the configuration file of a run: values that the user
// knows to be good for a target.
//
//	tools:
//	  search:
//	    arguments:                # tried in this order, before any that are made
//	      - {query: harbour, limit: 3}
//	prompts:
//	  greet:
//	    arguments:
//	      - {name: Ada}           # arguments of prompts are strings
//	templates:
//	  "file:///{path}":
//	    variables:
//	      - {path: notes.txt}
//	resources:
//	  - file:///notes.txt
//	authorization:              # who may use a protected target over HTTP
//	  second: ${OTHER_TOKEN}    # ${NAME} is read from the environment
//	  private: [file:///mine]   # what nobody but the first user may read
//
// All keys are optional. What the package does not know is an error, since a
// key that is misspelt would silently do nothing.
package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/mcpcheck/mcpcheck/internal/yamldoc"
)

// Values are what a file says. Objects are JSON.
type Values struct {
	Tools     map[string][]string // arguments, by tool
	Prompts   map[string][]string // arguments, by prompt
	Templates map[string][]string // variables, by URI template
	Resources []string            // URIs
	// Authorization is what the file says of who may use the target.
	Authorization Authorization
}

// Authorization names access tokens by what is particular about them, or an
// authorization server of ours that mints them.
type Authorization struct {
	Tokens  map[string]string // by kind
	Private []string          // URIs of resources that nobody but the first user may read
	Issuer  string            // of an authorization server of ours, "" for none
	Scopes  map[string]string // of the tokens that it mints, by kind
}

// Read reads a file. The error names the file and, where it is about the
// content, line and key.
func Read(path string) (*Values, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	v, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return v, nil
}

func parse(text []byte) (*Values, error) {
	text = bytes.TrimPrefix(text, yamldoc.ByteOrderMark)
	root, err := yamldoc.Parse(text, "a configuration is one")
	if err != nil {
		return nil, err
	}
	v := &Values{}
	if root == nil {
		return v, nil
	}
	var content any
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, yamldoc.Plain(err)
	}
	r := &reader{}
	top := r.object(at{node: root, line: yamldoc.Line(root), value: content}, "tools", "prompts", "templates", "resources", "authorization")
	v.Tools = r.named(top["tools"], "arguments", anyValue)
	v.Prompts = r.named(top["prompts"], "arguments", stringValue)
	v.Templates = r.named(top["templates"], "variables", stringValue)
	v.Resources = r.uris(top["resources"])
	v.Authorization = r.authorization(top["authorization"])
	return v, r.err
}

// An at is a value with where it stands.
type at struct {
	key   string   // path of keys from the top
	line  int      // of its key
	node  ast.Node // the value as it was written
	value any      // with aliases and merges resolved
}

// A reader keeps the first error.
type reader struct{ err error }

func (r *reader) fail(a at, format string, args ...any) {
	if r.err != nil {
		return
	}
	where := a.key
	if where == "" {
		where = "the configuration"
	}
	r.err = fmt.Errorf("line %d: %s %s", a.line, where, fmt.Sprintf(format, args...))
}

// object returns the members of an object; where keys are known, no others.
func (r *reader) object(a at, known ...string) map[string]at {
	members, ok := a.value.(map[string]any)
	if !ok {
		r.fail(a, "is %s, not a mapping", kind(a.value))
		return nil
	}
	out := map[string]at{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		sub := a.member(name)
		sub.value = members[name]
		if len(known) > 0 && !slices.Contains(known, name) {
			r.fail(sub, "is not known (known here: %s)", strings.Join(known, ", "))
		}
		out[name] = sub
	}
	return out
}

// list returns the items of a list that is not empty.
func (r *reader) list(a at) []at {
	items, ok := a.value.([]any)
	switch {
	case !ok:
		r.fail(a, "is %s, not a list", kind(a.value))
		return nil
	case len(items) == 0:
		r.fail(a, "is empty")
	}
	out := make([]at, len(items))
	for i, v := range items {
		out[i] = a.item(i)
		out[i].value = v
	}
	return out
}

// named reads {NAME: {key: [{…}, …]}}.
func (r *reader) named(a at, key string, allowed func(*reader, at)) map[string][]string {
	if a.key == "" {
		return nil
	}
	out := map[string][]string{}
	entries := r.object(a)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry := entries[name]
		members := r.object(entry, key)
		if _, ok := members[key]; !ok {
			r.fail(entry, "gives no %s", key)
			continue
		}
		for _, one := range r.list(members[key]) {
			values := r.object(one)
			for _, key := range slices.Sorted(maps.Keys(values)) {
				allowed(r, values[key])
			}
			raw, err := json.Marshal(one.value)
			if err != nil {
				r.fail(one, "is no JSON: %v", err)
			}
			out[name] = append(out[name], string(raw))
		}
	}
	return out
}

func anyValue(*reader, at) {}

func stringValue(r *reader, a at) {
	if _, ok := a.value.(string); !ok {
		r.fail(a, "is %s, not a string (write it in quotes)", kind(a.value))
	}
}

func (r *reader) uris(a at) []string {
	if a.key == "" {
		return nil
	}
	var out []string
	for _, one := range r.list(a) {
		s, ok := one.value.(string)
		if !ok {
			r.fail(one, "is %s, not a string", kind(one.value))
			continue
		}
		if u, err := url.Parse(s); err != nil || u.Scheme == "" {
			r.fail(one, "is no URI: %q", s)
		}
		out = append(out, s)
	}
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "empty"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
}

// member returns where a member stands; of one that was merged in, where the
// object does.
func (a at) member(name string) at {
	sub := at{key: join(a.key, name), line: a.line}
	if m, ok := bare(a.node).(ast.MapNode); ok {
		for i := m.MapRange(); i.Next(); {
			if text(i.Key()) == name {
				sub.line, sub.node = yamldoc.Line(i.Key()), i.Value()
			}
		}
	}
	return sub
}

func (a at) item(i int) at {
	sub := at{key: fmt.Sprintf("%s[%d]", a.key, i), line: a.line}
	if s, ok := bare(a.node).(*ast.SequenceNode); ok && i < len(s.Values) {
		sub.line, sub.node = yamldoc.Line(s.Values[i]), s.Values[i]
	}
	return sub
}

// bare returns a value without its anchor or tag.
func bare(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		default:
			return node
		}
	}
}

func text(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return key.String()
}
