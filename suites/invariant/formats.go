package invariant

import (
	"fmt"
	"regexp"
	"strings"
)

// uriSyntax is a URI by RFC 3986, appendix A: a scheme, and behind it only the
// characters of URIs, with complete percent escapes. Brackets, which belong to
// addresses of IPv6, are let pass wherever they stand.
var uriSyntax = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(#([A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?$`)

var uriScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// notURI tells why a text is no URI, or "".
func notURI(text string) string {
	switch {
	case uriSyntax.MatchString(text):
		return ""
	case !uriScheme.MatchString(text):
		return "has no scheme"
	}
	for _, r := range text {
		if r > '~' || r <= ' ' || strings.ContainsRune("\"<>\\^`{|}", r) {
			return fmt.Sprintf("holds the character %q, which has to be escaped", r)
		}
	}
	return "is no URI by RFC 3986"
}

// templateSyntax is a URI template by RFC 6570, section 2, with the quote that
// its erratum 6937 adds to the literals, and operators that are reserved.
var templateSyntax = regexp.MustCompile("^(" +
	"[^\\x00-\\x20\"%<>\\\\^`{|}\\x7f]|%[0-9A-Fa-f]{2}|" +
	`\{[+#./;?&=,!@|]?` + variable + `(,` + variable + `)*\}` +
	")*$")

const (
	varChar  = `([A-Za-z0-9_]|%[0-9A-Fa-f]{2})`
	variable = varChar + `(\.?` + varChar + `)*(\*|:[1-9][0-9]{0,3})?`
)

// mediaType is a media type by RFC 6838, section 4.2, with any parameters.
var mediaType = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}[ \t]*(;.*)?$`)

// essence returns a media type without its parameters, in lower case.
func essence(mime string) string {
	kind, _, _ := strings.Cut(mime, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
