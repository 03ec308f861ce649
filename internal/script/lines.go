package script

import (
	"fmt"
	"io"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// lines are a link over stdio.
type lines struct {
	in  inlet
	out io.WriteCloser
}

// An inlet is what a server reads, and how that came to its end.
type inlet interface {
	io.ReadCloser
	// ended tells how the input ended and whether the client closed it; valid
	// once Read returned an error.
	ended() (what string, closed bool)
}

func (l lines) read(c *Conn) {
	reader := transport.NewLineReader(l.in, 0)
	for {
		line, err := reader.Next()
		if err != nil {
			c.finish()
			return
		}
		f := wire.Frame{From: wire.Client, Raw: line.Bytes, Cut: line.Cut(), Unterminated: line.Unterminated}
		if f.Cut {
			f.Note = fmt.Sprintf("line of %d bytes, cut at %d", line.Length, len(line.Bytes))
		}
		if _, more := c.hear(f); !more {
			l.hang()
			return
		}
	}
}

func (lines) taking(*Conn, wire.Entry) bool { return true }
func (lines) taken(*Conn, wire.Entry)       {}

// send writes one line.
func (l lines) send(c *Conn, raw []byte) (index int) {
	index, _ = c.Add(wire.Frame{From: wire.Server, Raw: raw})
	if d, ok := l.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(c.opts.Due))
	}
	_, _ = l.out.Write(append(append(make([]byte, 0, len(raw)+1), raw...), '\n'))
	return index
}

func (l lines) ended() (string, bool) { return l.in.ended() }

func (l lines) hang() {
	l.out.Close()
	l.in.Close()
}
