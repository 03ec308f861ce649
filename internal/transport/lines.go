package transport

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// DefaultLineLimit is the longest line kept, in bytes. The rest of a longer
// line is read and thrown away, so that memory stays bounded.
const DefaultLineLimit = 10 << 20

// A Line is one line of a stdio stream.
type Line struct {
	Bytes        []byte // without the newline
	Length       int    // bytes on the wire; more than len(Bytes) if it was cut
	Unterminated bool   // the stream ended before a newline came
}

// Cut tells whether the line was longer than the limit.
func (l Line) Cut() bool { return l.Length > len(l.Bytes) }

// A LineReader splits a stream at newlines, which is the framing of stdio
// (basic/transports#stdio).
type LineReader struct {
	r     *bufio.Reader
	limit int
}

// NewLineReader reads lines of at most limit bytes from r; 0 means
// DefaultLineLimit.
func NewLineReader(r io.Reader, limit int) *LineReader {
	if limit <= 0 {
		limit = DefaultLineLimit
	}
	return &LineReader{bufio.NewReaderSize(r, 64<<10), limit}
}

// Next returns the next line; io.EOF after the last one. A trailing rest
// without newline is returned as an unterminated line.
func (l *LineReader) Next() (Line, error) {
	var line Line
	for {
		part, err := l.r.ReadSlice('\n')
		done := err == nil
		if done {
			part = part[:len(part)-1]
		}
		line.Length += len(part)
		if room := l.limit - len(line.Bytes); room > 0 {
			line.Bytes = append(line.Bytes, part[:min(room, len(part))]...)
		}
		switch {
		case done:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case line.Length > 0:
			line.Unterminated = true
			return line, nil
		default:
			return Line{}, err
		}
	}
}

// A LineWriter writes messages as lines; whole lines never mix, whoever
// writes them.
type LineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewLineWriter returns a writer of lines on w.
func NewLineWriter(w io.Writer) *LineWriter { return &LineWriter{w: w} }

// WriteLine writes the bytes and a newline in one write.
func (l *LineWriter) WriteLine(b []byte) error {
	return l.WriteBytes(append(append(make([]byte, 0, len(b)+1), b...), '\n'))
}

// WriteBytes writes the bytes as they are in one write.
func (l *LineWriter) WriteBytes(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(b)
	return err
}
