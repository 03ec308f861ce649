package client

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A streamPosition is how far the client has read a stream, and how long it waits
// before it resumes the stream.
type streamPosition struct {
	lastEventID string // "" if the server sets no ids
	wait        time.Duration
}

// receiveStream receives the messages on the stream of a request. If the stream
// ends before the response, it is resumed if the server set ids
// (basic/transports#resumability-and-redelivery).
func (l *httpLink) receiveStream(m wire.Message, response *http.Response) error {
	until := time.Now().Add(l.c.options.Timeout)
	position := streamPosition{wait: 100 * time.Millisecond}
	for {
		answered := l.receiveUntilResponse(m, response, &position)
		response.Body.Close()
		if answered {
			return nil
		}
		if position.lastEventID == "" || time.Now().Add(position.wait).After(until) {
			return errors.New("the stream ended before it")
		}
		var err error
		if response, err = l.resume(position); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			response.Body.Close()
			return fmt.Errorf("the stream ended before it, and was not resumed: HTTP status %s", response.Status)
		}
	}
}

// receiveUntilResponse receives messages until the stream ends or the response to a
// request has come; it reports whether it has.
func (l *httpLink) receiveUntilResponse(m wire.Message, response *http.Response, position *streamPosition) bool {
	events := newEventReader(response.Body)
	for {
		e, err := events.next()
		if err != nil {
			return false
		}
		if e.id != "" {
			position.lastEventID = e.id
		}
		if e.retry > 0 {
			position.wait = e.retry
		}
		parsed := wire.Parse([]byte(e.data))
		answered := parsed.IsResponse() && parsed.ID().Equal(m.ID()) || parsed.Kind == wire.Batch
		if answered {
			l.learnHeaderParams(m, parsed)
		}
		l.receiveEvent(e)
		if answered {
			return true
		}
	}
}

// resume waits for the reconnection time and resumes a stream.
func (l *httpLink) resume(position streamPosition) (*http.Response, error) {
	pause := time.NewTimer(position.wait)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-l.ctx.Done():
		return nil, l.ctx.Err()
	}
	header := l.header(wire.Message{})
	header.Set("Accept", "text/event-stream")
	header.Set("Last-Event-ID", position.lastEventID)
	return l.do(l.ctx, http.MethodGet, l.endpoint, header, nil)
}

// listen opens the stream for messages that belong to no request; a server without
// one answers 405 (basic/transports#listening-for-messages-from-the-server).
func (l *httpLink) listen() {
	header := l.header(wire.Message{})
	header.Set("Accept", "text/event-stream")
	l.work.Go(func() {
		response, err := l.do(l.ctx, http.MethodGet, l.endpoint, header, nil)
		if err != nil {
			return
		}
		defer response.Body.Close()
		events := newEventReader(response.Body)
		for response.StatusCode == http.StatusOK {
			e, err := events.next()
			if err != nil {
				return
			}
			l.receiveEvent(e)
		}
	})
}
