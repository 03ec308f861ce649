package server

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

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
			t.Fatalf("ended: %v, with %d events up to %d, from %d on", l.ended, len(l.events), l.next, i)
		}
		for n, e := range l.events {
			if e.Data[0] != byte(n) {
				t.Fatalf("event %d is missing", n)
			}
		}
	}
}

// A client that resumes a stream already has the missed events: they may be dropped
// before it reads on.
func TestResumingFullStreamKeepsItOpen(t *testing.T) {
	s := newStream()
	s.resumable = true
	for range maxKeptEvents {
		s.append(Frame{})
	}
	s.connect(s.state(0, 1).next)
	if !s.append(Frame{}) || s.isEnded() {
		t.Error("the stream of a client that had read all ended")
	}
}

func TestStreamBoundsBytes(t *testing.T) {
	part := make([]byte, 1<<20)
	unread, read := newStream(), newStream()
	unread.resumable = true
	reader := read.connect(0)
	for range 2 * maxKeptBytes / len(part) {
		if !unread.append(Frame{Raw: part}) {
			t.Fatal("a stream without reader ended")
		}
		read.append(Frame{Raw: part})
	}
	if n := unread.keptSize(); n != maxKeptBytes || len(unread.Events())*len(part) != n {
		t.Errorf("%d bytes are kept of %d events", n, len(unread.Events()))
	}
	if l := read.state(reader, 0); !l.ended || len(l.events)*len(part) != maxKeptBytes {
		t.Errorf("ended: %v, with %d events", l.ended, len(l.events))
	}
	if read.keptSize() != 0 {
		t.Errorf("%d bytes are kept although they were read", read.keptSize())
	}
	large := newStream()
	if large.append(Frame{Raw: make([]byte, 2*maxKeptBytes)}); len(large.Events()) != 1 {
		t.Error("a large message is not kept at all")
	}
}

// unservedSession returns a session whose handler is not served.
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
	s, ended, getStream := unservedSession(), newStream(), newStream()
	ended.end()
	for _, kind := range []wire.Kind{wire.Result, wire.Error, wire.Batch} {
		response := Frame{Kind: kind, exchange: &exchange{stream: ended}}
		s.getStreams = nil
		s.send(response)
		s.getStreams = []*Stream{getStream}
		s.send(response)
		if waiting, carried := len(s.backlog), len(getStream.Events()); waiting > 0 || carried > 0 {
			t.Errorf("kind %v: %d messages wait, %d are on the GET stream", kind, waiting, carried)
		}
	}
	if s.send(Frame{Kind: wire.Notification}); len(getStream.Events()) != 1 {
		t.Error("the GET stream does not carry a notification")
	}
}
