package resources

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why the judges of contents are not observed, and what helps.
const (
	noContents    = "the server returned no contents of a resource"
	offerReadable = "offer a resource that can be read"
)

// judgesOfContents returns the judges of #reading-resources and #resource-contents.
// Blobs in other results are judged by schema.content.resource.
func judgesOfContents() []check.Check {
	return []check.Check{
		{
			ID:    "resources.read.array",
			Says:  "the result of resources/read has an array contents",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-read-result"},
			Idle:  noContents,
			Hint:  offerReadable,
			Judge: func(j *check.J) {
				check.Each(j, transcript.Results(j, "resources/read"), func(r transcript.Answered) bool {
					if list := r.Result.Get("contents"); !list.IsArray() {
						j.Fail(r.Answer, "contents is %s, not an array", wire.TypeName(list))
					}
					return true
				})
			},
		},
		{
			ID:    "resources.contents.fields",
			Says:  "every item of contents is an object with a string uri and, if present, a string mimeType",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-contents-fields"},
			Idle:  noContents,
			Hint:  offerReadable,
			Judge: func(j *check.J) {
				check.Each(j, contentsItems(j), func(c contentsItem) bool {
					uri, mime := c.Get("uri"), c.Get("mimeType")
					switch {
					case !c.IsObject():
						j.Fail(c.answer, "%s is %s, not an object", c.pointer, wire.TypeName(c.Result))
					case uri.Type != gjson.String:
						j.Fail(c.answer, "%s/uri is %s, not a string", c.pointer, wire.TypeName(uri))
					case mime.Exists() && mime.Type != gjson.String:
						j.Fail(c.answer, "%s/mimeType is %s, not a string", c.pointer, wire.TypeName(mime))
					}
					return true
				})
			},
		},
		{
			ID:    "resources.contents.either",
			Says:  "every item of contents has a string text or a string blob",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-contents-text-or-blob"},
			Idle:  noContents,
			Hint:  offerReadable,
			Judge: func(j *check.J) {
				check.Each(j, contentsItems(j), func(c contentsItem) bool {
					text, blob := c.Get("text"), c.Get("blob")
					switch {
					case !c.IsObject():
						return false
					case text.Type == gjson.String || blob.Type == gjson.String:
					case text.Exists() || blob.Exists():
						j.Fail(c.answer, "in %s text is %s and blob is %s, neither of them a string",
							c.pointer, wire.TypeName(text), wire.TypeName(blob))
					default:
						j.Fail(c.answer, "%s has neither text nor blob", c.pointer)
					}
					return true
				})
			},
		},
		{
			ID:    "resources.contents.text",
			Says:  "the server sends no content as text that text cannot represent",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-text-only-if-text"},
			Idle:  "no contents have a media type that decides whether they are text",
			Hint:  "offer a resource with the mimeType text/plain",
			// An empty text loses no bytes.
			Judge: func(j *check.J) {
				check.Each(j, contentsItems(j), func(c contentsItem) bool {
					text, mime := c.Get("text"), c.Get("mimeType")
					if mime.Type != gjson.String || text.Exists() && (text.Type != gjson.String || text.Str == "") {
						return false
					}
					kind := format.MediaTypeOf(mime.Str)
					binary := binaryTypes.MatchString(kind)
					if binary && text.Exists() {
						j.Fail(c.answer, "%s is %s and was sent as text: %q", c.pointer, kind, wire.Clip(text.Str, 40))
					}
					return binary || strings.HasPrefix(kind, "text/")
				})
			},
		},
		{
			ID:    "resources.contents.base64",
			Says:  "the blob of a resource is valid base64",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-blob-base64"},
			Idle:  "the server returned no blob",
			Hint:  "offer a resource with a blob",
			Judge: func(j *check.J) {
				check.Each(j, contentsItems(j), func(c contentsItem) bool {
					blob := c.Get("blob")
					if blob.Type != gjson.String {
						return false
					}
					padded, ok := format.IsBase64(blob.Str)
					switch {
					case !ok:
						j.Fail(c.answer, "%s/blob is not base64: %q", c.pointer, wire.Clip(blob.Str, 40))
					case !padded:
						j.Note("%s/blob has no padding", c.pointer)
					}
					return true
				})
			},
		},
		{
			ID:    "resources.contents.bytes",
			Says:  "a blob decodes to bytes of its media type, neither encoded twice nor converted as text before",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-binary-encoded"},
			Idle:  "the server returned no blob of a media type whose first bytes are known",
			Hint:  "offer a resource with a blob and the mimeType image/png",
			// Only bytes that show how they were changed break the rule. Other bytes may
			// be a variant of the media type.
			Judge: func(j *check.J) {
				check.Each(j, contentsItems(j), func(c contentsItem) bool {
					kind := format.MediaTypeOf(c.Get("mimeType").String())
					first, blob := firstBytes[kind], c.Get("blob")
					if first == nil || blob.Type != gjson.String {
						return false
					}
					data, ok := decodeBase64(blob.Str)
					switch {
					case !ok:
						return false
					case bytes.HasPrefix(data, first):
						return true
					case isEncodedTwice(data, first):
						j.Fail(c.answer, "%s/blob decodes to the base64 of %s", c.pointer, kind)
						return true
					case isConvertedText(data, first):
						j.Fail(c.answer, "%s/blob decodes to %s that was converted like a text: it begins with %q",
							c.pointer, kind, data[:min(len(data), 16)])
						return true
					}
					return false
				})
			},
		},
	}
}

// A contentsItem is one item of the contents of a result of resources/read.
type contentsItem struct {
	answer  wire.Entry
	pointer string // JSON pointer from the result
	gjson.Result
}

// contentsItems returns the items of the contents of all results of resources/read.
func contentsItems(j *check.J) []contentsItem {
	var out []contentsItem
	for _, r := range transcript.Results(j, "resources/read") {
		list := r.Result.Get("contents")
		if !list.IsArray() {
			continue
		}
		for i, item := range list.Array() {
			out = append(out, contentsItem{r.Answer, fmt.Sprintf("/contents/%d", i), item})
		}
	}
	return out
}

// binaryTypes matches media types whose every instance holds bytes that no encoding
// of text has.
var binaryTypes = regexp.MustCompile(`^(` +
	`image/(png|jpeg|gif|webp|bmp|tiff|avif|heic)|` +
	`audio/(mpeg|wav|x-wav|ogg|flac|aac|mp4|webm)|` +
	`video/(mp4|mpeg|ogg|webm|quicktime)|` +
	`application/(zip|gzip|x-tar|x-7z-compressed))$`)

// firstBytes are the first bytes of every instance of a media type.
var firstBytes = map[string][]byte{
	"image/png":        []byte("\x89PNG\r\n\x1a\n"),
	"image/jpeg":       []byte("\xff\xd8\xff"),
	"image/gif":        []byte("GIF8"),
	"application/pdf":  []byte("%PDF-"),
	"application/zip":  []byte("PK\x03\x04"),
	"application/gzip": []byte("\x1f\x8b\x08"),
}

// decodeBase64 decodes base64 with or without padding and line breaks.
func decodeBase64(text string) ([]byte, bool) {
	text = strings.TrimRight(strings.NewReplacer("\r", "", "\n", "", " ", "", "\t", "").Replace(text), "=")
	data, err := base64.RawStdEncoding.DecodeString(text)
	return data, err == nil
}

// isEncodedTwice reports whether data is base64, or a data: URI, of bytes that begin
// with the first bytes of a media type.
func isEncodedTwice(data, first []byte) bool {
	text := string(data)
	if strings.HasPrefix(text, "data:") {
		_, text, _ = strings.Cut(text, ",")
	}
	inner, ok := decodeBase64(text)
	return ok && bytes.HasPrefix(inner, first)
}

// isConvertedText reports whether data begins as the first bytes of a media type do
// after they were read as text, of UTF-8 or of Latin-1, and written as UTF-8.
func isConvertedText(data, first []byte) bool {
	return bytes.HasPrefix(data, []byte(strings.ToValidUTF8(string(first), "\uFFFD"))) ||
		bytes.HasPrefix(data, replaceNonASCII(first)) || bytes.HasPrefix(data, latin1ToUTF8(first))
}

// replaceNonASCII replaces each byte that is not ASCII by the replacement character,
// as a decoder of UTF-8 may that reads byte by byte.
func replaceNonASCII(data []byte) []byte {
	var out []rune
	for _, b := range data {
		if b >= 0x80 {
			out = append(out, '\uFFFD')
		} else {
			out = append(out, rune(b))
		}
	}
	return []byte(string(out))
}

// latin1ToUTF8 reads bytes as Latin-1 and writes them as UTF-8.
func latin1ToUTF8(data []byte) []byte {
	var out []rune
	for _, b := range data {
		out = append(out, rune(b))
	}
	return []byte(string(out))
}
