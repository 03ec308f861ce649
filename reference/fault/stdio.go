package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// stdio are the faults of basic/transports#stdio.
func stdio() []Fault {
	return []Fault{
		{
			Name: "banner", Does: "greets on standard output before the first message",
			Breaks:   []string{"stdio-stdout-only-mcp"},
			CaughtBy: []string{"stdio.stdout.pure"},
			Apply:    banner("Harbour Street Library is open\n"),
		},
		{
			Name: "log-over-lines", Does: "writes a log message over several lines",
			Breaks:   []string{"stdio-no-embedded-newlines"},
			CaughtBy: []string{"stdio.stdout.pure"},
			Apply: afterLine(wire.Request, "tools/list", func(_ wire.Message, out server.FrameSink) {
				out(raw("{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"notifications/message\",\n  \"params\": {\"level\": \"info\", \"data\": 1}\n}"))
			}),
		},
		{
			Name: "split-message-lost", Does: "loses a message that does not come whole in one read",
			CaughtBy: []string{"stdio.framing", "stdio.framing.advised"},
			Apply: func(o *server.Options) {
				o.Input = func(_ context.Context, r io.Reader) io.Reader { return &wholeLines{r: r} }
			},
		},
		{
			Name: "ids-crossed", Does: "answers server/discover and a request that comes at once under each other's id",
			CaughtBy: []string{"stdio.concurrent"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				c := &crossing{next: next}
				return c.take
			}),
		},
		{
			Name: "deaf-after-garbage", Does: "answers a line that is not JSON, and then nothing more",
			CaughtBy: []string{"stdio.bad-line.survived"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				deaf := false
				return func(line []byte) error {
					if deaf {
						return nil
					}
					deaf = wire.Parse(line).Fault != nil
					return next(line)
				}
			}),
		},
	}
}

// wholeLines loses a line that does not come whole in one read.
type wholeLines struct {
	r     io.Reader
	rest  []byte
	split bool // the last read ended within a line
}

func (w *wholeLines) Read(b []byte) (int, error) {
	for len(w.rest) == 0 {
		buffer := make([]byte, 1<<20)
		n, err := w.r.Read(buffer)
		got := buffer[:n]
		end := bytes.LastIndexByte(got, '\n') + 1
		w.rest = got[:end]
		if w.split && end > 0 {
			w.rest = w.rest[bytes.IndexByte(w.rest, '\n')+1:]
		}
		w.split = end < n || w.split && end == 0
		if err != nil && len(w.rest) == 0 {
			return 0, err
		}
	}
	n := copy(b, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// A crossing holds back each request for a moment. If one of another method comes in that
// time, the two are served under each other's id.
type crossing struct {
	mu   sync.Mutex
	next server.Receiver
	held []byte
}

func (c *crossing) take(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := wire.Parse(line)
	if m.Kind != wire.Request || m.Flaw() != nil {
		return c.next(line)
	}
	if c.held == nil {
		c.held = line
		time.AfterFunc(10*time.Millisecond, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if held := c.held; held != nil && bytes.Equal(held, line) {
				c.held = nil
				_ = c.next(held)
			}
		})
		return nil
	}
	first, held := wire.Parse(c.held), c.held
	c.held = nil
	if first.Method() == m.Method() || first.Method() != "server/discover" && m.Method() != "server/discover" {
		if err := c.next(held); err != nil {
			return err
		}
		return c.next(line)
	}
	if err := c.next(withID(held, m.ID())); err != nil {
		return err
	}
	return c.next(withID(line, first.ID()))
}

// withID returns the message under another id.
func withID(line []byte, id wire.ID) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return line
	}
	members["id"] = json.RawMessage(id.Raw)
	return encode(members)
}
