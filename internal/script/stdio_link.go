package script

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A stdioLink is a link over stdio.
type stdioLink struct {
	in  input
	out io.WriteCloser
}

// An input is what a server reads, and how it ended.
type input interface {
	io.ReadCloser
	// ending returns how the input ended and whether the client closed it. It is
	// valid once Read has returned an error.
	ending() (what string, closed bool)
}

func (l stdioLink) read(c *Conn) {
	reader := transport.NewLineReader(l.in, 0)
	for {
		line, err := reader.Next()
		if err != nil {
			c.endInput()
			return
		}
		f := wire.Frame{
			From: wire.Client, Raw: line.Bytes, Truncated: line.IsTruncated(), Unterminated: line.Unterminated,
		}
		if f.Truncated {
			f.Note = fmt.Sprintf("line of %d bytes, cut at %d", line.Length, len(line.Bytes))
		}
		if _, more := c.receive(f); !more {
			l.close()
			return
		}
	}
}

func (stdioLink) beforeHandling(*Conn, wire.Entry) bool { return true }
func (stdioLink) afterHandling(*Conn, wire.Entry)       {}

// send records a message and writes it as a line.
func (l stdioLink) send(c *Conn, raw []byte) (index int) {
	index, _ = c.Add(wire.Frame{From: wire.Server, Raw: raw})
	if d, ok := l.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(c.opts.AnswerTimeout))
	}
	_, _ = l.out.Write(slices.Concat(raw, []byte{'\n'})) // a client that does not read gets no answer
	return index
}

func (l stdioLink) ending() (string, bool) { return l.in.ending() }

func (l stdioLink) close() {
	l.out.Close()
	l.in.Close()
}
