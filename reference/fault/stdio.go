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

// stdioFaults are the faults of basic/transports#stdio.
func stdioFaults() []Fault {
	return []Fault{
		{
			Name: "banner", Does: "writes a line of text to standard output before the first message",
			Breaks:   []string{"stdio-stdout-only-mcp"},
			CaughtBy: []string{"stdio.stdout.pure"},
			Apply: func(o *server.Options) {
				o.Output = func(w io.Writer) io.Writer {
					io.WriteString(w, "Harbour Street Library is open\n")
					return w
				}
			},
		},
		{
			Name: "log-over-lines", Does: "writes a log message over several lines",
			Breaks:   []string{"stdio-no-embedded-newlines"},
			CaughtBy: []string{"stdio.stdout.pure"},
			Apply: afterLine(isMessage(wire.Request, "tools/list"), func(_ wire.Message, out server.FrameSink) {
				out(frameOf("{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"notifications/message\",\n" +
					"  \"params\": {\"level\": \"info\", \"data\": 1}\n}"))
			}),
		},
		{
			Name: "split-message-lost", Does: "loses a message that does not come whole in one read",
			CaughtBy: []string{"stdio.framing", "stdio.framing.advised"},
			Also:     map[string]string{"jsonrpc.message.large": "a long message does not come in one read"},
			Apply: func(o *server.Options) {
				o.Input = func(_ context.Context, r io.Reader) io.Reader { return &wholeLineReader{r: r} }
			},
		},
		{
			Name:     "ids-crossed",
			Does:     "answers server/discover and a request that comes at the same time under each other's id",
			CaughtBy: []string{"stdio.concurrent"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return (&idCrosser{next: next}).receive
			}),
		},
		{
			Name: "silent-after-invalid-json", Does: "answers a line that is not JSON, and nothing after it",
			CaughtBy: []string{"stdio.invalid-line.survived"},
			Also: map[string]string{
				"jsonrpc.utf8.survived":     "bytes that are no UTF-8 are not JSON",
				"stdio.line.blank.survived": "a blank line is not JSON",
			},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				silent := false
				return func(line []byte) error {
					if silent {
						return nil
					}
					silent = wire.Parse(line).SyntaxError != nil
					return next(line)
				}
			}),
		},
		newFault("ends-at-blank-line", "ends at a line of white space", "stdio.line.blank.survived",
			exitOn(func(m wire.Message) bool {
				return len(m.Raw) > 0 && len(bytes.TrimSpace(m.Raw)) == 0
			}, "a line is blank")),
		newFault("carriage-return-ignored", "ignores messages that end with a carriage return", "stdio.line.crlf",
			ignoreLines(func(m wire.Message) bool { return len(m.Raw) > 1 && bytes.HasSuffix(m.Raw, []byte("\r")) })),
		newFault("ends-at-trailing-text", "ends at text behind a message", "stdio.line.trailing.survived",
			exitOn(func(m wire.Message) bool {
				return bytes.HasSuffix(m.Raw, []byte("} mcpcheck"))
			}, "a line has two texts")),
	}
}

// A wholeLineReader loses a line that does not come whole in one read.
type wholeLineReader struct {
	r     io.Reader
	rest  []byte
	split bool // the last read ended within a line
}

func (w *wholeLineReader) Read(b []byte) (int, error) {
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

// An idCrosser holds each request back for a moment. If one of another method
// comes in that time, the two are served under each other's id.
type idCrosser struct {
	mu   sync.Mutex
	next server.Receiver
	held []byte
}

func (c *idCrosser) receive(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := wire.Parse(line)
	if m.Kind != wire.Request || m.FormatError() != nil {
		return c.next(line)
	}
	if c.held == nil {
		c.hold(line)
		return nil
	}
	held := c.held
	c.held = nil
	first := wire.Parse(held)
	if first.Method() != m.Method() && (first.Method() == "server/discover" || m.Method() == "server/discover") {
		held, line = withID(held, m.ID()), withID(line, first.ID())
	}
	if err := c.next(held); err != nil {
		return err
	}
	return c.next(line)
}

// hold keeps a request until another one comes, but no longer than 10 milliseconds.
func (c *idCrosser) hold(line []byte) {
	c.held = line
	time.AfterFunc(10*time.Millisecond, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if held := c.held; held != nil && bytes.Equal(held, line) {
			c.held = nil
			_ = c.next(held)
		}
	})
}

// withID returns the message under another id.
func withID(line []byte, id wire.ID) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return line
	}
	members["id"] = json.RawMessage(id.Raw)
	return wire.Encode(members)
}

// stdioClientFaults are the faults of the client in basic/transports#stdio.
func stdioClientFaults() []ClientFault {
	return []ClientFault{
		{
			Name: "client-logs-to-stdin", Does: "writes a line of log to the server",
			Breaks:   []string{"stdio-stdin-only-mcp"},
			CaughtBy: []string{"stdio.client.stdin.pure"},
			Apply:    clientSendsBefore("tools/list", "listing tools"),
		},
		{
			Name: "client-pretty-json", Does: "writes a message over several lines",
			Breaks:   []string{"stdio-no-embedded-newlines"},
			CaughtBy: []string{"stdio.client.stdin.pure"},
			Apply: clientSendsBefore("tools/list",
				"{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"notifications/cancelled\",\n"+
					"  \"params\": {\n    \"requestId\": \"none\"\n  }\n}"),
		},
	}
}
