package server

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A client that is cut off has got all up to a place: nothing is left out before
// it.
func TestEndedStreamHasNoGap(t *testing.T) {
	for _, resumable := range []bool{true, false} {
		s := newStream()
		s.resumable = resumable
		reader := s.connect(0)
		var i int
		for range 3 {
			s.append(Frame{Raw: []byte("x")})
			i = s.state(reader, i).next
		}
		for n := range 2 * maxKeptEvents {
			s.append(Frame{Raw: []byte{byte(n)}})
		}
		l := s.state(reader, i)
		if !l.ended || len(l.events) != maxKeptEvents || l.next != i+maxKeptEvents {
			t.Fatalf("ended %v with %d events up to %d, from %d on", l.ended, len(l.events), l.next, i)
		}
		for n, e := range l.events {
			if e.Data[0] != byte(n) {
				t.Fatalf("event %d was left out", n)
			}
		}
	}
}

// Who comes back has what was missed in hand: it may be forgotten before the rest
// is read.
func TestResumingFullStreamKeepsItOpen(t *testing.T) {
	s := newStream()
	s.resumable = true
	for range maxKeptEvents {
		s.append(Frame{})
	}
	s.connect(s.state(0, 1).next)
	if !s.append(Frame{}) || s.isEnded() {
		t.Error("a client that had read all was cut off")
	}
}

// What is kept is bounded in bytes too.
func TestStreamBoundsBytes(t *testing.T) {
	part := make([]byte, 1<<20)
	unread, read := newStream(), newStream()
	unread.resumable = true
	reader := read.connect(0)
	for range 2 * maxKeptBytes / len(part) {
		if !unread.append(Frame{Raw: part}) {
			t.Fatal("a stream has ended that nobody reads")
		}
		read.append(Frame{Raw: part})
	}
	if n := unread.keptSize(); n != maxKeptBytes || len(unread.Events())*len(part) != n {
		t.Errorf("%d bytes are kept of %d events", n, len(unread.Events()))
	}
	if l := read.state(reader, 0); !l.ended || len(l.events)*len(part) != maxKeptBytes {
		t.Errorf("ended %v, with %d events", l.ended, len(l.events))
	}
	if read.keptSize() != 0 {
		t.Errorf("%d bytes are kept of what was read", read.keptSize())
	}
	large := newStream()
	if large.append(Frame{Raw: make([]byte, 2*maxKeptBytes)}); len(large.Events()) != 1 {
		t.Error("a large message is not kept at all")
	}
}

// placed is a session whose web is not served.
func unservedSession() *httpSession { return &httpSession{handler: &HTTPHandler{route: routeFrame}} }

func TestSessionBoundsBytes(t *testing.T) {
	s, part := unservedSession(), make([]byte, 1<<20)
	var last *Stream
	for range 2 * maxKeptStreamBytes / len(part) {
		last = newStream()
		last.resumable = true
		s.keepStream(last)
		s.send(Frame{Raw: part, exchange: &exchange{stream: last}})
		last.end()
		s.send(Frame{Raw: part})
	}
	if n := len(s.keptStreams); n != maxKeptStreamBytes/len(part) || s.keptStreams[n-1] != last {
		t.Errorf("%d streams are kept", n)
	}
	if n := len(s.backlog); n != maxBacklogBytes/len(part) {
		t.Errorf("%d messages wait", n)
	}
}

// A response belongs on the stream of its request, or on none
// (basic/transports#listening-for-messages-from-the-server).
func TestResponseStaysOnOwnStream(t *testing.T) {
	s, over, standing := unservedSession(), newStream(), newStream()
	over.end()
	for _, kind := range []wire.Kind{wire.Result, wire.Error, wire.Batch} {
		s.getStreams = nil
		s.send(Frame{Kind: kind, exchange: &exchange{stream: over}})
		s.getStreams = []*Stream{standing}
		s.send(Frame{Kind: kind, exchange: &exchange{stream: over}})
		if len(s.backlog) > 0 || len(standing.Events()) > 0 {
			t.Errorf(
				"kind %v: %d messages wait, %d stand on the GET stream", kind, len(s.backlog),
				len(standing.Events()),
			)
		}
	}
	if s.send(Frame{Kind: wire.Notification}); len(standing.Events()) != 1 {
		t.Error("a notification stands on no stream")
	}
}
