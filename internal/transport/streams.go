package transport

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A reading is how far an event stream was read, over all the connections that
// it took.
type reading struct {
	of    wire.Message  // whose answer it is; the zero message of a stream to listen
	owed  int           // responses that are still to come on it
	last  string        // id of the last event that had one
	wait  time.Duration // before it is taken up again
	until time.Time     // after which it is not any more
	short int           // connections in a row that were closed soon after they were opened
}

// listen opens the stream for what the server has to say on its own
// (basic/transports#listening-for-messages-from-the-server); a server without
// one answers 405. A server may send the head of that stream with its first
// event only: where one did so it is not waited for again.
func (s *Streamable) listen() {
	opened := make(chan struct{})
	s.work.Go(func() {
		s.get(reading{wait: reconnectAfter, until: time.Now().Add(s.Poll)}, sync.OnceFunc(func() { close(opened) }))
	})
	if s.Endpoint.lateHead.Load() {
		return
	}
	limit := time.NewTimer(s.Settle)
	defer limit.Stop()
	select {
	case <-opened:
	case <-limit.C:
		s.Endpoint.lateHead.Store(true)
	}
}

// get opens a stream by GET, to listen, or to take up the one on which the
// answer to a request was to come behind an event. opened is called once its
// head came, or will not come.
func (s *Streamable) get(rd reading, opened func()) {
	defer opened()
	r := HTTPRequest{Method: http.MethodGet, Header: s.header(wire.Message{})}
	r.Header.Set("Accept", "text/event-stream")
	if rd.last != "" {
		r.Header.Set("Last-Event-ID", rd.last)
	}
	n, _ := s.log.begin(s.Endpoint, r, nil)
	reply, err := s.Endpoint.Do(s.ctx, r)
	if err != nil {
		s.failed(n, err)
		return
	}
	if !reply.Streams() || reply.Status != http.StatusOK {
		body, _, _ := reply.All()
		s.log.whole(n, reply, body)
		return
	}
	s.log.head(n, reply)
	opened()
	s.stream(n, rd, reply)
}

// requests counts the requests in a message.
func requests(m wire.Message) (n int) {
	for _, part := range m.Elements() {
		if part.Kind == wire.Request {
			n++
		}
	}
	return n
}

// How long a stream is left alone before it is taken up again where the server
// asks for no time, and whatever time it asks for.
const (
	reconnectAfter   = 100 * time.Millisecond
	reconnectAtLeast = 10 * time.Millisecond
)

// A stream to listen that is closed sooner than shortLife, so many times in a
// row, is one that the server does not mean to keep open.
const (
	shortLife = time.Second
	shortMost = 4
)

// again tells whether a stream that ended is taken up again. One that owes a
// response is for a time, if the server gave an event an id. One that listens is
// also without: a server may close it at any time, and so may what stands between
// (basic/transports#listening-for-messages-from-the-server).
func (s *Streamable) again(rd reading) bool {
	switch {
	case s.Rev.Facts().Stateless || s.ctx.Err() != nil:
		return false
	case rd.last == "":
		return rd.listens() && rd.short < shortMost
	}
	return rd.listens() || rd.owed > 0 && !s.forgone(rd.of) && !time.Now().Add(rd.wait).After(rd.until)
}

// listens tells whether the stream was opened by a GET.
func (rd reading) listens() bool { return rd.of.Raw == nil }

// stream reads an event stream to its end, and takes it up again where it may
// (basic/transports#resumability-and-redelivery).
func (s *Streamable) stream(n int, rd reading, reply *Reply) {
	defer reply.Close()
	began := time.Now()
	for {
		e, err := reply.Next()
		if err != nil {
			if rd.short++; time.Since(began) >= shortLife {
				rd.short = 0
			}
			end := wire.EndedByPeer
			if !errors.Is(err, io.EOF) {
				end = plain(err).Error()
			}
			s.log.note(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, End: end, Last: !s.again(rd)}})
			break
		}
		f := wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, Event: eventOf(e)}, Cut: e.Cut}
		// An event without data primes a client to take the stream up again; one of
		// another type is no message to the clients that there are.
		if e.carries() {
			f.Raw = e.Data
			for _, part := range wire.Parse(e.Data).Elements() {
				if part.IsResponse() {
					rd.owed-- // whatever id it has
				}
			}
			s.learn(rd.of, e.Data)
		} else {
			f.HTTP.Body = text(e.Data)
		}
		s.log.note(f)
		if e.HasID && !e.Unterminated {
			rd.last = e.ID
		}
		if ms, err := strconv.Atoi(e.Retry); e.HasRetry && err == nil {
			rd.wait = max(time.Duration(ms)*time.Millisecond, reconnectAtLeast)
		}
	}
	if !s.again(rd) {
		return
	}
	if rd.listens() { // however short a server holds it
		rd.wait = max(rd.wait, reconnectAfter)
		if rd.last == "" {
			rd.wait = max(rd.wait, reconnectAfter<<rd.short)
		}
	}
	pause := time.NewTimer(rd.wait)
	defer pause.Stop()
	select {
	case <-pause.C:
		s.get(rd, func() {})
	case <-s.ctx.Done():
	}
}

func eventOf(e Event) *wire.Event {
	out := &wire.Event{Type: e.Type, Retry: e.Retry, Comments: e.Comments, Odd: e.Odd, Lost: e.Unterminated, NoData: e.Data == nil}
	if e.HasID {
		out.ID = &e.ID
	}
	return out
}
