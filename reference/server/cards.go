package server

import "net/url"

// cardURI names the library card of a reader, which nobody else may read.
func cardURI(reader string) string { return "library://readers/" + url.PathEscape(reader) + "/card" }

// card is the library card of who sent a request; nil where nobody is told
// apart.
func (r *Request) card() *Resource {
	reader := r.principal()
	if reader == "" {
		return nil
	}
	return &Resource{
		URI: cardURI(reader), Name: "library-card", Title: "Library card", Description: "Your own library card", MIME: "text/plain",
		Read: func(rd *Reading) []Object {
			return []Object{{"uri": rd.URI, "mimeType": "text/plain", "text": "This card belongs to " + reader + "."}}
		},
	}
}

// hinted is what a result says of being kept: what a list shows to one reader
// alone is private (server/utilities/caching#security-considerations).
func (m method) hinted(r *Request) *cacheHint {
	if m.name == "resources/list" && r.principal() != "" {
		return &cacheHint{m.hint.ttlMs, "private"}
	}
	return m.hint
}
