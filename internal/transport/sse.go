package transport

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// An Event is one block of an event stream as its sender wrote it (HTML, section
// 9.2, server-sent events). It also keeps what a reader of the format ignores, since
// mcpcheck checks malformed streams: comments, lines that are no field, a retry that
// is no number, an id with a NUL, and a block that the stream does not complete.
type Event struct {
	Type string // value of the event field; "" for none, which means message
	Data []byte // values of the data fields, joined by newlines; nil for none
	ID   string // value of the id field
	// Retry is the value of the retry field.
	Retry           string
	HasID, HasRetry bool
	Comments        []string
	IgnoredLines    []string // lines with an unknown field name or an ignored value
	// Unterminated reports that the stream ended before the empty line that completes
	// the block. A client must discard such a block.
	Unterminated bool
	Truncated    bool // a line, or the whole block, was longer than the limit
}

// IsDispatched reports whether a client handles the block as an event: it has data
// and is complete.
func (e Event) IsDispatched() bool { return e.Data != nil && !e.Unterminated }

// isMessage reports whether the data of the event is an MCP message: the event has
// data, and the default type.
func (e Event) isMessage() bool {
	return e.IsDispatched() && len(e.Data) > 0 && (e.Type == "" || e.Type == "message")
}

// isEmpty reports whether the block has no line.
func (e Event) isEmpty() bool {
	return e.Data == nil && e.Type == "" && !e.HasID && !e.HasRetry && e.Comments == nil && e.IgnoredLines == nil
}

// size returns the number of bytes that the block occupies.
func (e Event) size() int {
	n := len(e.Type) + len(e.Data) + len(e.ID) + len(e.Retry)
	for _, lines := range [][]string{e.Comments, e.IgnoredLines} {
		for _, line := range lines {
			n += lineOverhead + len(line)
		}
	}
	return n
}

// An EventReader reads an event stream strictly. A line ends with CR LF, LF or CR.
// A block is returned as soon as the line that completes it was read.
type EventReader struct {
	in            *bufio.Reader
	limit         int
	firstLineRead bool
	skipLF        bool // the last line ended with CR, and a following LF belongs to it
	err           error
}

// NewEventReader returns a reader that keeps at most limit bytes of a line and of a
// block; 0 means DefaultLineLimit. It reads and drops the rest.
func NewEventReader(r io.Reader, limit int) *EventReader {
	if limit <= 0 {
		limit = DefaultLineLimit
	}
	return &EventReader{in: bufio.NewReader(r), limit: limit}
}

// Next returns the next block that is not empty. After the last one it returns
// io.EOF, or the error that ended the stream.
func (r *EventReader) Next() (Event, error) {
	var e Event
	left := r.limit
	for r.err == nil {
		line, cut, err := r.readLine()
		if err != nil {
			r.err = err
			if len(line) > 0 {
				e.addLine(line, &left)
			}
			e.Truncated = e.Truncated || cut
			if e.isEmpty() {
				break
			}
			e.Unterminated = true
			return e, nil
		}
		if len(line) == 0 {
			if e.isEmpty() {
				continue
			}
			return e, nil
		}
		e.Truncated = e.Truncated || cut
		e.addLine(line, &left)
	}
	return Event{}, r.err
}

var byteOrderMark = []byte("\ufeff")

// readLine returns the next line without its end.
func (r *EventReader) readLine() (line []byte, cut bool, err error) {
	defer func() {
		if !r.firstLineRead {
			r.firstLineRead = true
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
	}()
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return line, cut, err
		}
		if r.skipLF {
			r.skipLF = false
			if b == '\n' {
				continue
			}
		}
		switch {
		case b == '\n':
			return line, cut, nil
		case b == '\r':
			r.skipLF = true
			return line, cut, nil
		case len(line) < r.limit:
			line = append(line, b)
		default:
			cut = true
		}
	}
}

// lineOverhead is the memory of a line that is kept, besides its text.
const lineOverhead = 16

// reserve takes n bytes of what the block may still occupy, and reports whether
// there were n left.
func (e *Event) reserve(left *int, n int) bool {
	if n > *left {
		*left, e.Truncated = 0, true
		return false
	}
	*left -= n
	return true
}

// addLine adds one line to the block, as far as the limit allows.
func (e *Event) addLine(line []byte, left *int) {
	name, value, colon := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	odd := !utf8.Valid(line) && string(name) != "data"
	switch text := string(value); {
	case colon && len(name) == 0:
		if e.reserve(left, len(text)+lineOverhead) {
			e.Comments = append(e.Comments, text)
		}
	case string(name) == "data":
		e.addData(value, left)
	case string(name) == "event":
		e.Type = text
	case string(name) == "id" && !strings.Contains(text, "\x00"):
		e.ID, e.HasID = text, true
	case string(name) == "retry" && isDigits(text):
		e.Retry, e.HasRetry = text, true
	default:
		odd = true
	}
	if odd {
		e.addIgnoredLine(line, left)
	}
}

func (e *Event) addIgnoredLine(line []byte, left *int) {
	if e.reserve(left, len(line)+lineOverhead) {
		e.IgnoredLines = append(e.IgnoredLines, string(line))
	}
}

func (e *Event) addData(value []byte, left *int) {
	if e.Data == nil {
		e.Data = []byte{}
	} else if e.reserve(left, 1) {
		e.Data = append(e.Data, '\n')
	}
	if free := *left; !e.reserve(left, len(value)) {
		value = value[:free]
	}
	e.Data = append(e.Data, value...)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
