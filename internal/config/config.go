// Package config reads the configuration file of a run: values that the user
// knows to be valid for a target.
//
//	tools:
//	  search:
//	    arguments:                # tried in this order, before generated ones
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
//	authorization:              # access to a protected target over HTTP
//	  second: ${OTHER_TOKEN}    # ${NAME} is an environment variable
//	  private: [file:///mine]   # resources that only the first user may read
//
// All keys are optional. An unknown key is an error, since a misspelt key would
// have no effect.
package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/mcpcheck/mcpcheck/internal/yamldoc"
)

// Values are the content of a configuration file. Objects are JSON.
type Values struct {
	Tools         map[string][]string // arguments, by tool
	Prompts       map[string][]string // arguments, by prompt
	Templates     map[string][]string // variables, by URI template
	Resources     []string            // URIs
	Authorization Authorization
}

// Authorization holds access tokens by kind, or names an authorization server of
// mcpcheck that issues them.
type Authorization struct {
	Tokens           map[string]string // by kind
	PrivateResources []string          // URIs of resources that only the first user may read
	Issuer           string            // URL of an authorization server of mcpcheck, "" for none
	Scopes           map[string]string // of the tokens that it issues, by kind
}

// Read reads a file. The error names the file, and the line and key at fault if
// the content is wrong.
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
	root, err := yamldoc.Parse(text, "a configuration is one")
	if err != nil {
		return nil, err
	}
	v := &Values{}
	if root == nil {
		return v, nil
	}
	var content any
	if err := yaml.Unmarshal(bytes.TrimPrefix(text, yamldoc.ByteOrderMark), &content); err != nil {
		return nil, yamldoc.OneLine(err)
	}
	r := &reader{}
	top := r.object(
		value{node: root, line: yamldoc.Line(root), content: content},
		"tools", "prompts", "templates", "resources", "authorization",
	)
	v.Tools = r.named(top["tools"], "arguments", acceptAny)
	v.Prompts = r.named(top["prompts"], "arguments", acceptString)
	v.Templates = r.named(top["templates"], "variables", acceptString)
	v.Resources = r.uris(top["resources"])
	v.Authorization = r.authorization(top["authorization"])
	if r.err != nil {
		return nil, r.err
	}
	return v, nil
}

// named reads {NAME: {member: [{…}, …]}}. accept checks each member of an object.
func (r *reader) named(a value, member string, accept func(*reader, value)) map[string][]string {
	if a.path == "" {
		return nil
	}
	out := map[string][]string{}
	entries := r.object(a)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry := entries[name]
		list, ok := r.object(entry, member)[member]
		if !ok {
			r.fail(entry, "has no %s", member)
			continue
		}
		for _, item := range r.list(list) {
			values := r.object(item)
			for _, key := range slices.Sorted(maps.Keys(values)) {
				accept(r, values[key])
			}
			raw, err := json.Marshal(item.content)
			if err != nil {
				r.fail(item, "has no form in JSON: %v", err)
			}
			out[name] = append(out[name], string(raw))
		}
	}
	return out
}

func acceptAny(*reader, value) {}

func acceptString(r *reader, a value) {
	if _, ok := a.content.(string); !ok {
		r.fail(a, "is %s, not a string (write it in quotes)", typeName(a.content))
	}
}

func (r *reader) uris(a value) []string {
	if a.path == "" {
		return nil
	}
	var out []string
	for _, item := range r.list(a) {
		s, ok := item.content.(string)
		if !ok {
			r.fail(item, "is %s, not a string", typeName(item.content))
			continue
		}
		if u, err := url.Parse(s); err != nil || u.Scheme == "" {
			r.fail(item, "is not a URI: %q", s)
		}
		out = append(out, s)
	}
	return out
}
