package reports

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// httpText is what a frame was on HTTP, as it would stand in a trace: the line
// and the fields of a request or of the head of an answer, what an event had
// beside its data, why an exchange ended. It is "" on stdio.
func httpText(h *wire.HTTP) string {
	if h == nil {
		return ""
	}
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, visible(fmt.Sprintf(format, args...), "")) }
	switch {
	case h.Method != "":
		say("%s %s", h.Method, h.URL)
	case h.Status != 0:
		say("HTTP status %s", strings.TrimSpace(fmt.Sprintf("%d %s", h.Status, http.StatusText(h.Status))))
	}
	for _, key := range slices.Sorted(maps.Keys(h.Header)) {
		for _, value := range h.Header[key] {
			say("%s: %s", key, value)
		}
	}
	if e := h.Event; e != nil {
		for _, comment := range e.Comments {
			say(":%s", comment)
		}
		if e.Type != "" {
			say("event: %s", e.Type)
		}
		if e.ID != nil {
			say("id: %s", *e.ID)
		}
		if e.Retry != "" {
			say("retry: %s", e.Retry)
		}
		for _, odd := range e.Odd {
			say("%s   (no field of an event)", odd)
		}
		if e.Lost {
			say("(cut off by the end of the stream, so that a client passes it over)")
		}
	}
	if h.End != "" {
		say("(ended: %s)", h.End)
	}
	if h.Body != "" {
		lines = append(lines, "", visible(h.Body, "\n"))
	}
	return strings.Join(lines, "\n")
}
