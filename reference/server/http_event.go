package server

import (
	"bytes"
	"fmt"
	"time"
)

// An Event is one event of a stream, or a comment
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
type Event struct {
	Stream  *Stream
	ID      string        // "" for none
	Name    string        // "" for none, which means message
	Data    []byte        // the bytes of a message; empty in an event that only sets ID or Retry
	Retry   time.Duration // 0 for none
	Comment bool          // a comment, which keeps the connection alive; no other member is set
	Frame   *Frame        // the message, or nil
}

// encodeEvent is the conforming EventEncoder. A message is one line of data, since JSON
// text needs no newline; data that holds newlines is one line of data for each.
func encodeEvent(e Event) []byte {
	if e.Comment {
		return []byte(":\n\n")
	}
	var b bytes.Buffer
	if e.Name != "" {
		fmt.Fprintf(&b, "event: %s\n", e.Name)
	}
	if e.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", e.ID)
	}
	if e.Retry > 0 {
		fmt.Fprintf(&b, "retry: %d\n", e.Retry.Milliseconds())
	}
	for line := range bytes.SplitSeq(e.Data, []byte("\n")) {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteByte('\n')
	return b.Bytes()
}
