package format

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// IsBase64 tells whether a text decodes as base64 (RFC 4648, section 4). Line
// breaks and missing padding, which decoders pass over, are let pass; the
// alphabet of section 5 is another encoding.
func IsBase64(text string) (padded, ok bool) {
	text = strings.NewReplacer("\r", "", "\n", "", " ", "", "\t", "").Replace(text)
	if _, err := base64.StdEncoding.DecodeString(text); err == nil {
		return true, true
	}
	_, err := base64.RawStdEncoding.DecodeString(text)
	return false, err == nil
}

// uriSyntax is a URI by RFC 3986, appendix A: a scheme, and behind it only the
// characters of URIs, with complete percent escapes. Brackets, which belong to
// addresses of IPv6, are let pass wherever they stand.
var uriSyntax = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:(` + uriChar + `)*(#(` + uriChar + `)*)?$`)

// uriChar is a character of a URI, or a percent escape.
const uriChar = `[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2}`

var UriScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// URIProblem tells why a text is no URI, or "".
func URIProblem(text string) string {
	switch {
	case uriSyntax.MatchString(text):
		return ""
	case !UriScheme.MatchString(text):
		return "has no scheme"
	}
	for _, r := range text {
		if r > '~' || r <= ' ' || strings.ContainsRune("\"<>\\^`{|}", r) {
			return fmt.Sprintf("holds the character %q, which has to be escaped", r)
		}
	}
	return "is no URI by RFC 3986"
}

// TemplateSyntax is a URI template by RFC 6570, section 2, with the quote that
// its erratum 6937 adds to the literals, and operators that are reserved.
var TemplateSyntax = regexp.MustCompile("^(" +
	"[^\\x00-\\x20\"%<>\\\\^`{|}\\x7f]|%[0-9A-Fa-f]{2}|" +
	`\{[+#./;?&=,!@|]?` + variable + `(,` + variable + `)*\}` +
	")*$")

const (
	varChar  = `([A-Za-z0-9_]|%[0-9A-Fa-f]{2})`
	variable = varChar + `(\.?` + varChar + `)*(\*|:[1-9][0-9]{0,3})?`
)

// MediaType is a media type by RFC 6838, section 4.2, with any parameters.
var MediaType = regexp.MustCompile(`^` + restrictedName + `/` + restrictedName + `[ \t]*(;.*)?$`)

// restrictedName is a restricted-name of RFC 6838, section 4.2.
const restrictedName = `[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}`

// MediaTypeOf returns a media type without its parameters, in lower case.
func MediaTypeOf(mime string) string {
	kind, _, _ := strings.Cut(mime, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// FileURI returns the file URI of a path.
func FileURI(file string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()
}
