package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Stream is a sequence of messages to one client. It outlives the
// connections that carry it: a resumable one keeps its events, so that the
// client can come back for what it missed
// (basic/transports#resumability-and-redelivery).
type Stream struct {
	Session   string // the id of its session, "" for none
	Label     string // names it among the streams of its session
	eventName string // of its events, "" for none

	resumable bool // its events have ids and are kept
	primed    bool // it begins with an event without data, to come back to
	ofGet     bool // it is of a GET, for what belongs to no POST

	mu             sync.Mutex
	kept           []Event       // event i of the stream is log[i-first]; the priming one is event 0
	first          int           // starts at 1
	size           int           // of the messages in the log, in bytes
	ended          bool          // nothing more comes
	closeRequested bool          // the connection is to be closed once all is written
	readerCount    int           // connections so far; only the last one reads
	hasReader      bool          // whether that one still does
	readUpTo       int           // the place that it has come to
	change         chan struct{} // closed when any of these changes
}

// keptEvents and keptBytes bound what a stream keeps, and how far a client may
// fall behind. One message is kept whatever its size.
const (
	maxKeptEvents = 4000
	maxKeptBytes  = 8 << 20
)

func newStream() *Stream { return &Stream{first: 1, change: make(chan struct{})} }

// changed wakes who waits; s.mu is held.
func (s *Stream) notifyChange() {
	close(s.change)
	s.change = make(chan struct{})
}

// put adds a message. It tells whether the stream still took it. Who has yet to
// read what there is no more room for is cut off, rather than to go on with a gap.
func (s *Stream) append(f Frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	for len(s.kept) >= maxKeptEvents || len(s.kept) > 0 && s.size+len(f.Raw) > maxKeptBytes {
		if s.hasReader && s.readUpTo <= s.first {
			s.ended = true
			s.notifyChange()
			return false
		}
		s.size -= len(s.kept[0].Data)
		s.kept = slices.Delete(s.kept, 0, 1)
		s.first++
	}
	e := Event{Stream: s, Name: s.eventName, Data: f.Raw, Frame: &f}
	if s.resumable {
		e.ID = s.id(s.first + len(s.kept))
	}
	s.kept = append(s.kept, e)
	s.size += len(f.Raw)
	s.notifyChange()
	return true
}

// id is the id of event i: it names the stream, and so is unique in the
// session, and the place in it.
func (s *Stream) id(i int) string { return fmt.Sprintf("%s-%d", s.Label, i) }

// eventPlace takes an event id apart.
func parseEventID(id string) (label string, i int, ok bool) {
	label, n, ok := strings.Cut(id, "-")
	i, err := strconv.Atoi(n)
	return label, i, ok && err == nil && i >= 0
}

// end tells that nothing more comes.
func (s *Stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.notifyChange()
	}
}

// hang has the connection closed once all was written.
func (s *Stream) requestClose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeRequested = true
	s.notifyChange()
}

func (s *Stream) isEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// held is how many bytes of messages the stream keeps.
func (s *Stream) keptSize() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// Events returns the events that the stream keeps.
func (s *Stream) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
}

// A look is the state of a stream at one moment.
type streamState struct {
	events                []Event // from the place asked for
	next                  int     // the place behind them
	ended, closeRequested bool
	isLastReader          bool // whether the reader is the last one
	change                <-chan struct{}
}

// look returns what there is from event i on, for a reader. Events of a stream
// that nobody can resume are forgotten once they were looked at.
func (s *Stream) state(reader, i int) streamState {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := streamState{ended: s.ended, closeRequested: s.closeRequested, isLastReader: s.readerCount == reader, change: s.change}
	from := min(max(i-s.first, 0), len(s.kept))
	l.events = slices.Clone(s.kept[from:])
	l.next = s.first + len(s.kept)
	if reader > 0 && l.isLastReader {
		s.readUpTo = l.next
		if !s.resumable {
			s.kept, s.first, s.size = nil, l.next, 0
		}
	}
	return l
}

// connect makes the caller the reader, who has what comes before event i; one
// before it stops reading.
func (s *Stream) connect(i int) (reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerCount++
	s.hasReader, s.readUpTo = true, max(i, s.first)
	s.notifyChange()
	return s.readerCount
}

func (s *Stream) disconnect(reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readerCount == reader {
		s.hasReader, s.closeRequested = false, false
		s.notifyChange()
	}
}

// A carrier writes a stream to one connection.
type streamWriter struct {
	w           http.ResponseWriter
	clientGone  <-chan struct{} // the client left
	serverDone  <-chan struct{} // the server or the session ends
	encodeEvent Eventer
	keepAlive   time.Duration
	retry       time.Duration // that a client which is told to poll shall wait
	writeLimit  time.Duration // how long the client may take to read
	pollAfter   time.Duration // how long the connection is held; 0: for ever
}

// carry writes the stream from event i on, after the events missed, until it
// ends, the client leaves, another connection takes it over or this one is to
// be closed.
func (c streamWriter) writeStream(s *Stream, reader, i int, missed []Event) {
	defer s.disconnect(reader)
	head := c.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache, no-transform")
	head.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	if i == 0 && s.primed {
		c.writeEvent(Event{Stream: s, ID: s.id(0)})
	}
	for _, e := range missed {
		c.writeEvent(e)
	}
	c.flush()
	quiet := time.NewTicker(c.keepAlive)
	defer quiet.Stop()
	var held <-chan time.Time
	if c.pollAfter > 0 {
		t := time.NewTimer(c.pollAfter)
		defer t.Stop()
		held = t.C
	}
	for last := false; ; {
		l := s.state(reader, i)
		if !l.isLastReader {
			return
		}
		i = l.next
		for _, e := range l.events {
			c.writeEvent(e)
		}
		if len(l.events) > 0 {
			c.flush()
		}
		switch {
		case l.ended, last:
			return
		case l.closeRequested:
			// basic/transports#sending-messages-to-the-server of 2025-11-25: say
			// when to come back before the connection is closed.
			if s.primed {
				c.writeEvent(Event{Stream: s, Retry: c.retry})
				c.flush()
			}
			return
		}
		select {
		case <-l.change:
		case <-held:
			s.requestClose()
		case <-quiet.C:
			c.writeEvent(Event{Stream: s, Comment: true})
			c.flush()
		case <-c.clientGone:
			return
		case <-c.serverDone:
			last = true
		}
	}
}

// write writes one event. Who cannot be written to has left, which the
// connection tells.
func (c streamWriter) writeEvent(e Event) {
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(c.writeLimit))
	_, _ = c.w.Write(c.encodeEvent(e))
}

func (c streamWriter) flush() {
	control := http.NewResponseController(c.w)
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{})
}
