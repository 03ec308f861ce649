package server

import "net/url"

// libraryCardURI returns the URI of the library card of a reader, which no other
// user may read.
func libraryCardURI(reader string) string {
	return "library://readers/" + url.PathEscape(reader) + "/card"
}

// libraryCard returns the library card of the user of a request; nil if the server
// does not distinguish users.
func (r *Request) libraryCard() *Resource {
	reader := r.user()
	if reader == "" {
		return nil
	}
	return &Resource{
		URI: libraryCardURI(reader), Name: "library-card", Title: "Library card",
		Description: "Your own library card", MIME: "text/plain",
		Read: func(rd *ResourceRead) []Object {
			return []Object{textContents(rd.URI, "text/plain", "This card belongs to "+reader+".")}
		},
	}
}
