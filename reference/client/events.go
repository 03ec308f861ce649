package client

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// An event is one event of a stream (HTML, server-sent events).
type event struct {
	kind, id, data string
	retry          time.Duration // 0: not set
}

// An eventReader reads a stream of events.
type eventReader struct{ lines *bufio.Scanner }

func newEventReader(r io.Reader) *eventReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, transport.DefaultLineLimit)
	return &eventReader{lines}
}

// next returns the next event, also one without data; io.EOF after the last one. An
// event that is not followed by an empty line is discarded.
func (r *eventReader) next() (event, error) {
	var e event
	var data []string
	hasField := false
	for r.lines.Scan() {
		line := r.lines.Text() // without a CR before the line feed
		if line == "" {
			if hasField {
				e.data = strings.Join(data, "\n")
				return e, nil
			}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			e.kind = value
		case "id":
			e.id = value
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		default:
			continue // a comment or an unknown field
		}
		hasField = true
	}
	if err := r.lines.Err(); err != nil {
		return event{}, err
	}
	return event{}, io.EOF
}
