package config

import (
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
)

// tokens are what can be particular about an access token; that of the first
// user is the good one, if no header gives it.
var tokens = []string{"first", "second", "expired", "audience", "foreign", "narrow", "broad", "upper"}

// authorization reads who may use the target. What it says of a bad value leaves
// the value out, which may be a secret.
func (r *reader) authorization(a at) (out Authorization) {
	if a.key == "" {
		return out
	}
	members := r.object(a, append(slices.Clone(tokens), "private", "issuer", "scopes")...)
	for _, kind := range slices.Sorted(maps.Keys(members)) {
		one := members[kind]
		switch kind {
		case "private":
			out.Private = r.uris(one)
		case "issuer":
			out.Issuer = r.text(one)
			if u, err := url.Parse(out.Issuer); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				r.fail(one, "is no URL of http or https")
			}
		case "scopes":
			out.Scopes = map[string]string{}
			for kind, scope := range r.object(one, tokens...) {
				out.Scopes[kind] = r.text(scope)
			}
		default:
			if out.Tokens == nil {
				out.Tokens = map[string]string{}
			}
			out.Tokens[kind] = r.text(one)
			if strings.ContainsFunc(out.Tokens[kind], func(c rune) bool { return c <= ' ' || c > '~' }) {
				r.fail(one, "is no access token: it holds what a header field cannot")
			}
		}
	}
	return out
}

// text reads a string that is not empty; ${NAME} is what the environment has
// under that name.
func (r *reader) text(a at) string {
	s, ok := a.value.(string)
	if !ok {
		r.fail(a, "is %s, not a string", kind(a.value))
		return ""
	}
	if name, ok := strings.CutPrefix(s, "${"); ok && strings.HasSuffix(name, "}") {
		name = strings.TrimSuffix(name, "}")
		if s = os.Getenv(name); s == "" {
			r.fail(a, "is that of the environment, where %s is not set", name)
		}
	}
	if s == "" {
		r.fail(a, "is empty")
	}
	return s
}
