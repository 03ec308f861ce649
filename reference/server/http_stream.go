package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Stream is a sequence of messages to one client. It outlives the connections
// that carry it: a resumable one keeps its events, so that the client can resume it
// and receive what it missed (basic/transports#resumability-and-redelivery).
type Stream struct {
	Session   string // the id of its session, "" for none
	Label     string // unique among the streams of its session
	eventName string // of its events, "" for none

	resumable bool // its events have ids and are kept
	primed    bool // it begins with an event without data, which a client can resume from
	ofGet     bool // it is the stream of a GET, for messages of no POST

	mu             sync.Mutex
	kept           []Event // event i of the stream is kept[i-first]; the priming event is event 0
	first          int     // starts at 1
	size           int     // of the kept messages, in bytes
	ended          bool    // no more messages come
	closeRequested bool    // the connection is to be closed once all is written
	readerCount    int     // connections so far; only the last one reads
	hasReader      bool    // whether that one still reads
	readUpTo       int     // the number of the event that it reads next
	change         chan struct{}
}

// maxKeptEvents and maxKeptBytes bound what a stream keeps, and how far a client
// may fall behind. One message is kept even if it is larger.
const (
	maxKeptEvents = 4000
	maxKeptBytes  = 8 << 20
)

func newStream() *Stream { return &Stream{first: 1, change: make(chan struct{})} }

// notifyChange closes s.change, which is what waits for a change of the stream; s.mu
// is held.
func (s *Stream) notifyChange() {
	close(s.change)
	s.change = make(chan struct{})
}

// append adds a message, unless the stream has ended, and reports whether it did. If
// there is no room and the connected client has not yet read the oldest message, the
// stream ends: a client never sees a stream with a gap.
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

// id returns the id of event i. It holds the label of the stream, so that it is
// unique in the session, and the number of the event.
func (s *Stream) id(i int) string { return fmt.Sprintf("%s-%d", s.Label, i) }

// parseEventID splits an event id into the label of the stream and the number of
// the event.
func parseEventID(id string) (label string, i int, ok bool) {
	label, n, ok := strings.Cut(id, "-")
	i, err := strconv.Atoi(n)
	return label, i, ok && err == nil && i >= 0
}

// end ends the stream: no more messages come.
func (s *Stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.notifyChange()
	}
}

// requestClose makes the connection close once all is written.
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

// keptSize returns the size of the kept messages in bytes.
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

// A streamState is the state of a stream at one moment.
type streamState struct {
	events                []Event // from the requested one on
	next                  int     // the number of the event after them
	ended, closeRequested bool
	isLastReader          bool            // whether the caller is the last one that connected
	change                <-chan struct{} // closed when the stream changes
}

// state returns the state of the stream and its events from event i on, for a
// reader; reader 0 is no reader. The events of a stream that cannot be resumed are
// dropped once they are read.
func (s *Stream) state(reader, i int) streamState {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := streamState{
		ended: s.ended, closeRequested: s.closeRequested, isLastReader: s.readerCount == reader, change: s.change,
	}
	from := min(max(i-s.first, 0), len(s.kept))
	out.events = slices.Clone(s.kept[from:])
	out.next = s.first + len(s.kept)
	if reader > 0 && out.isLastReader {
		s.readUpTo = out.next
		if !s.resumable {
			s.kept, s.first, s.size = nil, out.next, 0
		}
	}
	return out
}

// connect makes the caller the reader, which already has the events before event i.
// An earlier reader stops.
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
