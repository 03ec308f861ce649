package server

import "net/url"

// cardURI names the library card of a reader, which nobody else may read.
func libraryCardURI(reader string) string {
	return "library://readers/" + url.PathEscape(reader) + "/card"
}

// card is the library card of who sent a request; nil where nobody is told
// apart.
func (r *Request) libraryCard() *Resource {
	reader := r.user()
	if reader == "" {
		return nil
	}
	return &Resource{
		URI: libraryCardURI(reader), Name: "library-card", Title: "Library card", Description: "Your own library card", MIME: "text/plain",
		Read: func(rd *Reading) []Object {
			return []Object{{"uri": rd.URI, "mimeType": "text/plain", "text": "This card belongs to " + reader + "."}}
		},
	}
}

// hinted is what a result says of being kept: what a list shows to one reader
// alone is private (server/utilities/caching#security-considerations).
func (m method) cacheHintFor(r *Request) *cacheHint {
	if m.name == "resources/list" && r.user() != "" {
		return &cacheHint{m.hint.ttlMs, "private"}
	}
	return m.hint
}
