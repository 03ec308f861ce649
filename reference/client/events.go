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
	retry          time.Duration // 0: none was asked for
}

// events reads a stream of events.
type events struct{ lines *bufio.Scanner }

func newEvents(r io.Reader) *events {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, transport.DefaultLineLimit)
	return &events{lines}
}

// next returns the next event, one without data too; io.EOF after the last one.
// What the stream ends in without an empty line is thrown away.
func (s *events) next() (event, error) {
	var e event
	var data []string
	some := false
	for s.lines.Scan() {
		line := s.lines.Text() // without a CR before the line feed
		if line == "" {
			if some {
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
			continue // a comment, or what nobody knows
		}
		some = true
	}
	if err := s.lines.Err(); err != nil {
		return event{}, err
	}
	return event{}, io.EOF
}
