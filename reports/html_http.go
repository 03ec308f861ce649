package reports

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// httpText returns the HTTP part of a frame as lines: the request line or the
// status with the header fields, the fields of an event other than its data, and
// why an exchange ended. It is "" on stdio.
func httpText(h *wire.HTTP) string {
	if h == nil {
		return ""
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, escape(fmt.Sprintf(format, args...), "")) }
	switch {
	case h.Method != "":
		add("%s %s", h.Method, h.URL)
	case h.Status != 0:
		add("HTTP status %s", strings.TrimSpace(fmt.Sprintf("%d %s", h.Status, http.StatusText(h.Status))))
	}
	for _, key := range slices.Sorted(maps.Keys(h.Header)) {
		for _, value := range h.Header[key] {
			add("%s: %s", key, value)
		}
	}
	if e := h.Event; e != nil {
		for _, comment := range e.Comments {
			add(":%s", comment)
		}
		if e.Type != "" {
			add("event: %s", e.Type)
		}
		if e.ID != nil {
			add("id: %s", *e.ID)
		}
		if e.Retry != "" {
			add("retry: %s", e.Retry)
		}
		for _, line := range e.IgnoredLines {
			add("%s   (not a field of an event)", line)
		}
		if e.Unterminated {
			add("(incomplete at the end of the stream: a client discards it)")
		}
	}
	if h.EndReason != "" {
		add("(ended: %s)", h.EndReason)
	}
	if h.Body != "" {
		lines = append(lines, "", escape(h.Body, "\n"))
	}
	return strings.Join(lines, "\n")
}
