package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A life is what stands behind a stream: a process group or a goroutine.
type life interface {
	// done is closed once it has ended by itself or was made to.
	done() <-chan struct{}
	// status tells how it ended, e.g. "exit status 1"; valid after done.
	status() string
	// terminate asks it to end (SIGTERM), kill ends it (SIGKILL) with all of
	// its descendants. Both may be called at any time, also after the end.
	terminate()
	kill()
	// stderr returns the last of what it wrote to its standard error.
	stderr() string
}

// A Stream is the client end of a stdio connection to one started peer.
type Stream struct {
	in    *os.File // what the peer reads
	out   *LineReader
	pipe  *os.File // what the peer writes
	peer  life
	write sync.Mutex
	begun bool  // a line was begun and its newline not written
	torn  *Torn // why nothing more can be written, or nil
	once  sync.Once
}

// A Torn tells that a write ended in a line, so that whatever is written next
// would be read as its rest: nothing is any more.
type Torn struct{ Err error }

func (t *Torn) Error() string { return "a message was taken only in part: " + t.Err.Error() }
func (t *Torn) Unwrap() error { return t.Err }

// Write writes bytes to the peer as they are. It returns when all were taken,
// or with an error when the context ended first: a peer that does not read
// its input cannot hold the caller. Where that tore a line the error is a Torn,
// and so is that of every later write.
func (s *Stream) Write(ctx context.Context, b []byte) error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.torn != nil {
		return s.torn
	}
	deadline, _ := ctx.Deadline()
	if err := s.in.SetWriteDeadline(deadline); err != nil {
		return fmt.Errorf("write to server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { s.in.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	n, err := s.in.Write(b)
	if n > 0 {
		s.begun = b[n-1] != '\n'
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("server does not read its input: %d of %d bytes taken: %w", n, len(b), context.DeadlineExceeded)
	default:
		err = fmt.Errorf("write to server after %d of %d bytes: %w", n, len(b), err)
	}
	if s.begun {
		s.torn = &Torn{err}
		return s.torn
	}
	return err
}

// Torn returns why nothing more can be written; nil while it can.
func (s *Stream) Torn() error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.torn == nil {
		return nil
	}
	return s.torn
}

// Drain waits until the peer has taken what was written, at most so long. It
// tells whether it did; false too where the system cannot tell.
func (s *Stream) Drain(ctx context.Context, within time.Duration) bool {
	limit := time.Now().Add(within)
	for pause := 10 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		n, known := unread(s.in)
		if !known || n == 0 || ctx.Err() != nil || time.Now().After(limit) {
			return known && n == 0
		}
		time.Sleep(pause)
	}
}

// WriteLine writes one message and its newline.
func (s *Stream) WriteLine(ctx context.Context, b []byte) error {
	return s.Write(ctx, append(append(make([]byte, 0, len(b)+1), b...), '\n'))
}

// ReadLine returns the next line of the peer; io.EOF once it closed its
// output. One goroutine may read at a time.
func (s *Stream) ReadLine() (Line, error) {
	l, err := s.out.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read from server: %w", err)
	}
	return l, err
}

// CloseInput closes what the peer reads, which asks it to exit
// (basic/lifecycle#shutdown).
func (s *Stream) CloseInput() { s.once.Do(func() { s.in.Close() }) }

// Done is closed once the peer has ended.
func (s *Stream) Done() <-chan struct{} { return s.peer.done() }

// Status tells how the peer ended; valid after Done.
func (s *Stream) Status() string { return s.peer.status() }

// Stderr returns the last bytes that the peer wrote to its standard error.
func (s *Stream) Stderr() string { return s.peer.stderr() }

// Terminate asks the peer to end by SIGTERM to its process group.
func (s *Stream) Terminate() { s.peer.terminate() }

// Kill ends the peer and its descendants at once and frees the stream.
func (s *Stream) Kill() {
	s.CloseInput()
	s.peer.kill()
	<-s.peer.done()
	s.pipe.Close()
}

// pipes returns both directions of a connection: the ends of the peer first.
func pipes() (peerIn, ours, peerOut, oursOut *os.File, err error) {
	if peerIn, ours, err = os.Pipe(); err != nil {
		return
	}
	if oursOut, peerOut, err = os.Pipe(); err != nil {
		peerIn.Close()
		ours.Close()
	}
	return
}
