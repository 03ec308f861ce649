package authorization

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// FuzzChallenges reads arbitrary values of WWW-Authenticate. Names come in
// lower case and without separators.
func FuzzChallenges(f *testing.F) {
	for _, v := range []string{
		`Bearer realm="x", resource_metadata="https://a/b?c=d"`, `Basic realm="a\"b", Bearer error=invalid_token`,
		`Negotiate eA==`, `Negotiate eA==, Bearer scope="a b"`,
		`, ,Bearer`, `Bearer`, `bearer error = "x" , scope=y`, `=x`, `a=b`, `Bearer realm="`,
		`Digest a=b, c="d", Bearer`,
		`Bearer resource_metadata=https://a/b`, `"`, `Bearer a==`, "Bearer\ta=b",
	} {
		f.Add(v, "")
		f.Add(v, `DPoP algs="ES256"`)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		h := http.Header{}
		for _, v := range []string{first, second} {
			h.Add("WWW-Authenticate", v)
		}
		for _, c := range challenges(h) {
			if c.scheme == "" || c.scheme != strings.ToLower(c.scheme) || strings.ContainsAny(c.scheme, " \t,=\"") {
				t.Errorf("the scheme %q is read of %q", c.scheme, h)
			}
			for name := range c.params {
				if name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, " \t,=\"") {
					t.Errorf("the parameter %q is read of %q", name, h)
				}
			}
		}
	})
}

// FuzzChallengeRoundTrip writes a challenge as RFC 9110 section 11.6.1 has it,
// alone and after another one, and reads it back.
func FuzzChallengeRoundTrip(f *testing.F) {
	f.Add("Bearer", "resource_metadata", `https://a/b?c="d"\e`, "error", "invalid_token")
	f.Add("Basic", "realm", "", "a", "b")
	f.Fuzz(func(t *testing.T, scheme, name, quoted, other, plain string) {
		for _, token := range []string{scheme, name, other, plain} {
			if !transport.IsToken(token) || strings.EqualFold(name, other) {
				return
			}
		}
		escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(quoted)
		value := scheme + " " + name + `="` + escaped + `", ` + other + "=" + plain
		for _, field := range []string{
			value, `Negotiate eA==, ` + value, `Other a="b",` + value, value + ", Last", " ,\t" + value,
		} {
			params := map[string]string{strings.ToLower(name): quoted, strings.ToLower(other): plain}
			want := challenge{strings.ToLower(scheme), params}
			got := challenges(http.Header{"Www-Authenticate": {field}})
			if !slices.ContainsFunc(got, func(c challenge) bool { return reflect.DeepEqual(c, want) }) {
				t.Errorf("%q is read as %q", field, got)
			}
		}
	})
}
