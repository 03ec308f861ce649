package server

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// accepts reports whether the client accepts all of the types. Without the header it
// accepts any (RFC 9110 section 12.5.1).
func accepts(r *http.Request, types ...string) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true
	}
	acceptable := map[string]bool{}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q, err := strconv.ParseFloat(parameters["q"], 64)
		acceptable[name] = err != nil || q > 0
	}
	for _, name := range types {
		kind, _, _ := strings.Cut(name, "/")
		accepted := false
		for _, pattern := range []string{"*/*", kind + "/*", name} { // the most specific one decides
			if v, ok := acceptable[pattern]; ok {
				accepted = v
			}
		}
		if !accepted {
			return false
		}
	}
	return true
}

// isJSON reports whether the declared type of the body is JSON in UTF-8.
func isJSON(r *http.Request) bool {
	name, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, given := parameters["charset"]
	return err == nil && name == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}
