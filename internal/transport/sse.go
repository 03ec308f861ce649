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
	Cut          bool // a line was longer than the limit, or the lines together
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

// size returns how many bytes of the block are kept.
func (e Event) size() int {
	n := len(e.Type) + len(e.Data) + len(e.ID) + len(e.Retry)
	for _, lines := range [][]string{e.Comments, e.Odd} {
		for _, line := range lines {
			n += perLine + len(line)
		}
	}
	return n
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

// NewEventReader reads blocks from r that have at most limit bytes, in each line
// and in all that is kept of them together; 0 means DefaultLineLimit. The rest is
// read and thrown away.
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
	left := r.limit
	for r.failed == nil {
		line, cut, err := r.line()
		if err != nil {
			r.failed = err
			if len(line) > 0 {
				e.take(line, &left)
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
		e.take(line, &left)
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

// perLine is what a line costs that is kept for itself, beside its text.
const perLine = 16

// spend takes so many bytes off what is left for the block, and tells whether
// there were as many.
func (e *Event) spend(left *int, n int) bool {
	if n > *left {
		*left, e.Cut = 0, true
		return false
	}
	*left -= n
	return true
}

// take takes one line into the block, as far as there is room left for it.
func (e *Event) take(line []byte, left *int) {
	name, value, colon := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch text := string(value); {
	case colon && len(name) == 0:
		if e.spend(left, len(text)+perLine) {
			e.Comments = append(e.Comments, text)
		}
	case string(name) == "data":
		e.addData(value, left)
	case string(name) == "event":
		e.Type = text
	case string(name) == "id" && !strings.Contains(text, "\x00"):
		e.ID, e.HasID = text, true
	case string(name) == "retry" && digits(text):
		e.Retry, e.HasRetry = text, true
	default:
		e.addOdd(line, left)
	}
	if !utf8.Valid(line) && string(name) != "data" {
		e.addOdd(line, left)
	}
}

func (e *Event) addOdd(line []byte, left *int) {
	if e.spend(left, len(line)+perLine) {
		e.Odd = append(e.Odd, string(line))
	}
}

func (e *Event) addData(value []byte, left *int) {
	if e.Data == nil {
		e.Data = []byte{}
	} else if e.spend(left, 1) {
		e.Data = append(e.Data, '\n')
	}
	if room := *left; !e.spend(left, len(value)) {
		value = value[:room]
	}
	e.Data = append(e.Data, value...)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
