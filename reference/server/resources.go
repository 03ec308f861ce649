package server

import "net/url"

func loansURI(reader string) string { return "library://loans/" + url.PathEscape(reader) }
