package transport

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"sync"
)

// DefaultLineLimit is the number of bytes that are kept of a line. The rest of a
// longer line is read and dropped, so that memory stays bounded.
const DefaultLineLimit = 10 << 20

// A Line is one line of a stdio stream.
type Line struct {
	Bytes        []byte // without the newline
	Length       int    // bytes on the wire; more than len(Bytes) if the line was cut
	Unterminated bool   // the stream ended before the newline
}

// IsTruncated reports whether the line was longer than the limit.
func (l Line) IsTruncated() bool { return l.Length > len(l.Bytes) }

// A LineReader splits a stream at newlines, which is the framing of stdio
// (basic/transports#stdio).
type LineReader struct {
	r     *bufio.Reader
	limit int
}

// NewLineReader returns a reader that keeps at most limit bytes of a line; 0 means
// DefaultLineLimit.
func NewLineReader(r io.Reader, limit int) *LineReader {
	if limit <= 0 {
		limit = DefaultLineLimit
	}
	return &LineReader{bufio.NewReaderSize(r, 64<<10), limit}
}

// Next returns the next line, and io.EOF after the last. It returns bytes without a
// newline at the end of the stream as an unterminated line.
func (l *LineReader) Next() (Line, error) {
	var line Line
	for {
		part, err := l.r.ReadSlice('\n')
		done := err == nil
		if done {
			part = part[:len(part)-1]
		}
		line.Length += len(part)
		if free := l.limit - len(line.Bytes); free > 0 {
			line.Bytes = append(line.Bytes, part[:min(free, len(part))]...)
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

// A LineWriter writes messages as lines. Concurrent writers do not mix their
// lines.
type LineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewLineWriter returns a writer of lines on w.
func NewLineWriter(w io.Writer) *LineWriter { return &LineWriter{w: w} }

// WriteLine writes the bytes and a newline in one write.
func (l *LineWriter) WriteLine(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(terminated(b))
	return err
}

// terminated returns the bytes with a newline.
func terminated(b []byte) []byte { return slices.Concat(b, []byte{'\n'}) }
