package authorization

import (
	"net/http"
	"strings"
)

// A challenge is one of the challenges of WWW-Authenticate (RFC 9110 section
// 11.6.1), with its scheme and the names of its parameters in lower case.
type challenge struct {
	scheme string
	params map[string]string
}

// challenges returns the challenges of WWW-Authenticate, up to what is not
// well-formed.
func challenges(h http.Header) []challenge {
	var out []challenge
	for _, line := range h.Values("WWW-Authenticate") {
		for rest := strings.TrimLeft(line, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
			word, after := cutToken(rest)
			if word == "" {
				break
			}
			value, next, isParam := cutParamValue(after)
			switch {
			case isParam && len(out) > 0:
				out[len(out)-1].params[strings.ToLower(word)] = value
				rest = next
			case isParam, strings.HasPrefix(strings.TrimLeft(after, " \t"), "="):
				return out // a parameter without a challenge, or without an end
			default:
				out = append(out, challenge{strings.ToLower(word), map[string]string{}})
				rest = skipToken68(after)
			}
		}
	}
	return out
}

// skipToken68 skips the single value that a challenge may have in place of
// parameters, such as that of Negotiate, with the characters that pad it.
func skipToken68(after string) string {
	rest := strings.TrimLeft(after, " \t")
	word, next := cutToken(rest)
	if _, _, isParam := cutParamValue(next); isParam || word == "" {
		return rest
	}
	if next = strings.TrimLeft(strings.TrimLeft(next, "="), " \t"); next == "" || next[0] == ',' {
		return next
	}
	return rest
}

// cutParamValue cuts "= value" of a parameter from the beginning.
func cutParamValue(s string) (value, rest string, ok bool) {
	s, ok = strings.CutPrefix(strings.TrimLeft(s, " \t"), "=")
	if !ok || strings.HasPrefix(s, "=") {
		return "", "", false
	}
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, `"`) {
		value, rest = cutToken(s)
		return value, rest, value != ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// cutToken cuts the token at the beginning (RFC 9110 section 5.6.2). It also takes
// other characters that servers leave unquoted, such as those of a URL.
func cutToken(s string) (token, rest string) {
	i := strings.IndexAny(s, " \t,=\"")
	if i < 0 {
		i = len(s)
	}
	return s[:i], s[i:]
}

// bearerChallenge returns the challenge of the scheme Bearer, nil for none.
func bearerChallenge(h http.Header) *challenge {
	for _, c := range challenges(h) {
		if c.scheme == "bearer" {
			return &c
		}
	}
	return nil
}
