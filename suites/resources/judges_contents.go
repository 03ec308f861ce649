package resources

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// resourcesRead are the judges of #reading-resources and #resource-contents. A
// result that asks for input (since 2026-07-28) is none of theirs.
func resourcesRead() []check.Check {
	return []check.Check{
		{
			ID:    "resources.read.array",
			Says:  "the result of resources/read has an array contents",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-read-result"},
			Judge: func(j *check.J) {
				transcript.EachResult(j, "resources/read", func(e wire.Entry, _ wire.Message, result gjson.Result) {
					if list := result.Get("contents"); !list.IsArray() {
						j.Fail(e, "contents is %s, not an array", wire.TypeName(list))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "resources.contents.fields",
			Says:  "every item of contents is an object with a string uri; its mimeType is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-contents-fields"},
			Judge: func(j *check.J) {
				eachContents(j, func(e wire.Entry, at string, item gjson.Result) {
					uri, mime := item.Get("uri"), item.Get("mimeType")
					switch {
					case !item.IsObject():
						j.Fail(e, "%s is %s, not an object", at, wire.TypeName(item))
					case uri.Type != gjson.String:
						j.Fail(e, "%s/uri is %s, not a string", at, wire.TypeName(uri))
					case mime.Exists() && mime.Type != gjson.String:
						j.Fail(e, "%s/mimeType is %s, not a string", at, wire.TypeName(mime))
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "resources.contents.either",
			Says:  "every item of contents has a string text or a string blob",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-contents-text-or-blob"},
			Judge: func(j *check.J) {
				eachContents(j, func(e wire.Entry, at string, item gjson.Result) {
					text, blob := item.Get("text"), item.Get("blob")
					switch {
					case !item.IsObject():
					case text.Type == gjson.String || blob.Type == gjson.String:
						j.Saw()
					case text.Exists() || blob.Exists():
						j.Fail(e, "%s has the text %s and the blob %s, neither of them a string", at, wire.TypeName(text), wire.TypeName(blob))
					default:
						j.Fail(e, "%s has neither text nor blob", at)
					}
				})
			},
		},
		{
			ID:    "resources.contents.text",
			Says:  "what cannot be represented as text is not sent as text",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-text-only-if-text"},
			// contentsText has a subject only where the media type decides. An item without
			// anything in it is let pass.
			Judge: func(j *check.J) {
				eachContents(j, func(e wire.Entry, at string, item gjson.Result) {
					text := item.Get("text")
					if item.Get("mimeType").Type != gjson.String || text.Exists() && (text.Type != gjson.String || text.Str == "") {
						return
					}
					kind := format.MediaTypeOf(item.Get("mimeType").Str)
					switch binary := neverText.MatchString(kind); {
					case binary && text.Exists():
						j.Fail(e, "%s is %s, and came as text: %q", at, kind, wire.Clip(text.Str, 40))
					case binary || strings.HasPrefix(kind, "text/"):
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "resources.contents.base64",
			Says:  "a blob is base64",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-blob-base64"},
			// contentsBase64 leaves blobs inside of other results to schema.content.resource.
			Judge: func(j *check.J) {
				eachContents(j, func(e wire.Entry, at string, item gjson.Result) {
					blob := item.Get("blob")
					if blob.Type != gjson.String {
						return
					}
					padded, ok := format.IsBase64(blob.Str)
					if !ok {
						j.Fail(e, "%s/blob is not base64: %q", at, wire.Clip(blob.Str, 40))
						return
					}
					if !padded {
						j.Note("%s/blob lacks the padding of base64", at)
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "resources.contents.bytes",
			Says:  "what a blob decodes to are the bytes of its type, neither encoded twice nor taken for text before",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-binary-encoded"},
			// contentsBytes takes for broken only what shows how it was broken: the bytes
			// are there, under a second encoding. Other bytes may be another variant.
			Judge: func(j *check.J) {
				eachContents(j, func(e wire.Entry, at string, item gjson.Result) {
					kind := format.MediaTypeOf(item.Get("mimeType").String())
					lead, blob := leadingBytes[kind], item.Get("blob")
					if lead == nil || blob.Type != gjson.String {
						return
					}
					data, ok := decode64(blob.Str)
					switch {
					case !ok:
					case startsWith(data, lead):
						j.Saw()
					case encodedAgain(data, lead):
						j.Fail(e, "%s/blob decodes to base64 once more, of %s", at, kind)
					case startsWith(data, []byte(strings.ToValidUTF8(string(lead), "\uFFFD"))), startsWith(data, replaced(lead)), startsWith(data, fromLatin1(lead)):
						j.Fail(e, "%s/blob decodes to %s that was taken for text: it begins with %q", at, kind, data[:min(len(data), 16)])
					}
				})
			},
		},
	}
}

// eachContents gives the items of what is read.
func eachContents(j *check.J, look func(e wire.Entry, at string, item gjson.Result)) {
	transcript.EachResult(j, "resources/read", func(e wire.Entry, _ wire.Message, result gjson.Result) {
		if !result.Get("contents").IsArray() {
			return
		}
		for i, item := range result.Get("contents").Array() {
			look(e, fmt.Sprintf("/contents/%d", i), item)
		}
	})
}

// neverText are the media types whose every instance holds bytes that no
// encoding of text has.
var neverText = regexp.MustCompile(`^(image/(png|jpeg|gif|webp|bmp|tiff|avif|heic)|audio/(mpeg|wav|x-wav|ogg|flac|aac|mp4|webm)|video/(mp4|mpeg|ogg|webm|quicktime)|application/(zip|gzip|x-tar|x-7z-compressed))$`)

// leadingBytes are what every instance of a media type begins with.
var leadingBytes = map[string][]byte{
	"image/png":        []byte("\x89PNG\r\n\x1a\n"),
	"image/jpeg":       []byte("\xff\xd8\xff"),
	"image/gif":        []byte("GIF8"),
	"application/pdf":  []byte("%PDF-"),
	"application/zip":  []byte("PK\x03\x04"),
	"application/gzip": []byte("\x1f\x8b\x08"),
}

func startsWith(data, lead []byte) bool {
	return len(data) >= len(lead) && slices.Equal(data[:len(lead)], lead)
}

func decode64(text string) ([]byte, bool) {
	text = strings.TrimRight(strings.NewReplacer("\r", "", "\n", "", " ", "", "\t", "").Replace(text), "=")
	data, err := base64.RawStdEncoding.DecodeString(text)
	return data, err == nil
}

// encodedAgain tells whether data is base64, or a data: URI, of bytes with that
// lead.
func encodedAgain(data, lead []byte) bool {
	text := string(data)
	if strings.HasPrefix(text, "data:") {
		_, text, _ = strings.Cut(text, ",")
	}
	inner, ok := decode64(text)
	return ok && startsWith(inner, lead)
}

// replaced is what becomes of bytes that are read as UTF-8 one by one: each
// that is none is replaced.
func replaced(lead []byte) []byte {
	var out []rune
	for _, b := range lead {
		if r := rune(b); b < 0x80 {
			out = append(out, r)
		} else {
			out = append(out, '\uFFFD')
		}
	}
	return []byte(string(out))
}

// fromLatin1 is what becomes of bytes that are read as Latin-1.
func fromLatin1(lead []byte) []byte {
	var out []rune
	for _, b := range lead {
		out = append(out, rune(b))
	}
	return []byte(string(out))
}
