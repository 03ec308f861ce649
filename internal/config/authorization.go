package config

import (
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
)

// tokenKinds are the kinds of access tokens. The first one is valid; a header
// field may give it instead.
var tokenKinds = []string{"first", "second", "expired", "audience", "foreign", "narrow", "broad", "upper"}

// authorization reads the access to the target. Its errors do not quote a value,
// which may be secret.
func (r *reader) authorization(a value) (out Authorization) {
	if a.path == "" {
		return out
	}
	members := r.object(a, append(slices.Clone(tokenKinds), "private", "issuer", "scopes")...)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member := members[name]
		switch name {
		case "private":
			out.PrivateResources = r.uris(member)
		case "issuer":
			out.Issuer = r.text(member)
			if u, err := url.Parse(out.Issuer); err != nil || u.Scheme != "http" && u.Scheme != "https" ||
				u.Host == "" {
				r.fail(member, "is no URL of http or https")
			}
		case "scopes":
			out.Scopes = map[string]string{}
			for kind, scope := range r.object(member, tokenKinds...) {
				out.Scopes[kind] = r.text(scope)
			}
		default:
			token := r.text(member)
			if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
				r.fail(member, "is not an access token: a header field cannot hold it")
			}
			if out.Tokens == nil {
				out.Tokens = map[string]string{}
			}
			out.Tokens[name] = token
		}
	}
	return out
}

// text reads a string that is not empty. ${NAME} stands for an environment
// variable.
func (r *reader) text(a value) string {
	s, ok := a.content.(string)
	if !ok {
		r.fail(a, "is %s, not a string", typeName(a.content))
		return ""
	}
	if name, ok := strings.CutPrefix(s, "${"); ok && strings.HasSuffix(name, "}") {
		name = strings.TrimSuffix(name, "}")
		if s = os.Getenv(name); s == "" {
			r.fail(a, "names the environment variable %s, which is not set", name)
		}
	}
	if s == "" {
		r.fail(a, "is empty")
	}
	return s
}
