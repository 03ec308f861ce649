package transport

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// An Event is one block of an event stream as its sender wrote it (HTML,
// section 9.2, server-sent events). What a reader of the format passes over
// stays with it as data, since malformed streams are a subject of ours:
// comments, lines that are no field, a retry that is no number, an id with a
// NUL, a block that the end of the stream cut off.
type Event struct {
	Type string // of the event field; "" where there is none, which means message
	Data []byte // of the data fields, joined by newlines; nil where there is none
	ID   string // of the id field, as it stands
	// Retry is the value of the retry field as it stands.
	Retry           string
	HasID, HasRetry bool
	Comments        []string
	Odd             []string // lines whose field name the format does not know, and fields with a value it ignores
	// Unterminated: the stream ended before the empty line that completes the
	// block; a client must throw it away.
	Unterminated bool
	Cut          bool // a line was longer than the limit, or the data together
}

// Dispatched tells whether a client takes the block as an event: it has data
// and was completed.
func (e Event) Dispatched() bool { return e.Data != nil && !e.Unterminated }

// carries tells whether the event is taken for a message: it has data, and the
// type of an event that has none given.
func (e Event) carries() bool {
	return e.Dispatched() && len(e.Data) > 0 && (e.Type == "" || e.Type == "message")
}

// empty tells whether nothing stands in the block.
func (e Event) empty() bool {
	return e.Data == nil && e.Type == "" && !e.HasID && !e.HasRetry && e.Comments == nil && e.Odd == nil
}

// An EventReader reads an event stream strictly. Lines end with CR LF, LF or
// CR; a block is returned as soon as the line that completes it was read.
type EventReader struct {
	in     *bufio.Reader
	limit  int
	begun  bool
	skipLF bool // the last line ended with CR: an LF behind it belongs to it
	failed error
}

// NewEventReader reads blocks from r whose lines and data have at most limit
// bytes; 0 means DefaultLineLimit. The rest is read and thrown away.
func NewEventReader(r io.Reader, limit int) *EventReader {
	if limit <= 0 {
		limit = DefaultLineLimit
	}
	return &EventReader{in: bufio.NewReader(r), limit: limit}
}

// Next returns the next block that holds anything. After the last one it
// returns io.EOF, or the error that ended the stream.
func (r *EventReader) Next() (Event, error) {
	var e Event
	for r.failed == nil {
		line, cut, err := r.line()
		if err != nil {
			r.failed = err
			if len(line) > 0 {
				e.take(line, r.limit)
			}
			e.Cut = e.Cut || cut
			if e.empty() {
				break
			}
			e.Unterminated = true
			return e, nil
		}
		if len(line) == 0 {
			if e.empty() {
				continue
			}
			return e, nil
		}
		e.Cut = e.Cut || cut
		e.take(line, r.limit)
	}
	return Event{}, r.failed
}

var bom = []byte("\ufeff")

// line returns the next line without its end.
func (r *EventReader) line() (line []byte, cut bool, err error) {
	defer func() {
		if !r.begun {
			r.begun = true
			line = bytes.TrimPrefix(line, bom)
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

// take takes one line into the block.
func (e *Event) take(line []byte, limit int) {
	name, value, colon := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch text := string(value); {
	case colon && len(name) == 0:
		e.Comments = append(e.Comments, text)
	case string(name) == "data":
		e.addData(value, limit)
	case string(name) == "event":
		e.Type = text
	case string(name) == "id" && !strings.Contains(text, "\x00"):
		e.ID, e.HasID = text, true
	case string(name) == "retry" && digits(text):
		e.Retry, e.HasRetry = text, true
	default:
		e.Odd = append(e.Odd, string(line))
	}
	if !utf8.Valid(line) && string(name) != "data" {
		e.Odd = append(e.Odd, string(line))
	}
}

func (e *Event) addData(value []byte, limit int) {
	if e.Data == nil {
		e.Data = []byte{}
	} else {
		e.Data = append(e.Data, '\n')
	}
	room := max(0, limit-len(e.Data))
	if len(value) > room {
		value, e.Cut = value[:room], true
	}
	e.Data = append(e.Data, value...)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
