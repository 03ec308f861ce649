package transport

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A block is an event that is being read.
type block struct {
	event     wire.Event
	data      []byte // values of the data fields, joined by newlines; nil for none
	truncated bool   // a line, or the whole block, was longer than the limit
	left      int    // bytes that the block may still occupy
}

// isEmpty reports whether the block has no line.
func (b *block) isEmpty() bool {
	e := b.event
	return b.data == nil && e.Type == "" && e.ID == nil && e.Retry == "" && e.Comments == nil && e.IgnoredLines == nil
}

// frame returns the block as a frame.
func (b *block) frame() wire.Frame {
	b.event.NoData = b.data == nil
	return wire.Frame{From: wire.Server, Raw: b.data, Truncated: b.truncated, HTTP: &wire.HTTP{Event: &b.event}}
}

// An EventReader reads an event stream strictly. A line ends with CR LF, LF or CR.
// A block is returned as soon as the line that completes it was read.
type EventReader struct {
	in            *bufio.Reader
	limit         int
	line          []byte // the memory of the line that is being read
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

// Next returns the next block that is not empty as a frame, whose Raw is the data of
// the event. After the last one it returns io.EOF, or the error that ended the stream.
func (r *EventReader) Next() (wire.Frame, error) {
	b := block{left: r.limit}
	for r.err == nil {
		line, cut, err := r.readLine()
		b.truncated = b.truncated || cut
		if err != nil {
			r.err = err
			if len(line) > 0 {
				b.addLine(line)
			}
			if b.isEmpty() {
				break
			}
			b.event.Unterminated = true
			return b.frame(), nil
		}
		if len(line) > 0 {
			b.addLine(line)
		} else if !b.isEmpty() {
			return b.frame(), nil
		}
	}
	return wire.Frame{}, r.err
}

var byteOrderMark = []byte("\ufeff")

// readLine returns the next line without its end. It is valid until the next call.
func (r *EventReader) readLine() (line []byte, cut bool, err error) {
	line = r.line[:0]
	defer func() {
		r.line = line
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

// reserve takes n bytes of what the block may still occupy, and reports whether
// there were n left.
func (b *block) reserve(n int) bool {
	if n > b.left {
		b.left, b.truncated = 0, true
		return false
	}
	b.left -= n
	return true
}

// addLine adds one line to the block, as far as the limit allows.
func (b *block) addLine(line []byte) {
	name, value, colon := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	odd := !utf8.Valid(line) && string(name) != "data"
	switch text := string(value); {
	case colon && len(name) == 0:
		if b.reserve(len(text) + wire.LineOverhead) {
			b.event.Comments = append(b.event.Comments, text)
		}
	case string(name) == "data":
		b.addData(value)
	case string(name) == "event":
		b.event.Type = text
	case string(name) == "id" && !strings.Contains(text, "\x00"):
		b.event.ID = &text
	case string(name) == "retry" && isDigits(text):
		b.event.Retry = text
	default:
		odd = true
	}
	if odd {
		b.addIgnoredLine(line)
	}
}

func (b *block) addIgnoredLine(line []byte) {
	if b.reserve(len(line) + wire.LineOverhead) {
		b.event.IgnoredLines = append(b.event.IgnoredLines, string(line))
	}
}

func (b *block) addData(value []byte) {
	if b.data == nil {
		b.data = []byte{}
	} else if b.reserve(1) {
		b.data = append(b.data, '\n')
	}
	if free := b.left; !b.reserve(len(value)) {
		value = value[:free]
	}
	b.data = append(b.data, value...)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
