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

// A peer is the other end of a Stream: a process group or a goroutine.
type peer interface {
	// done is closed once the peer has ended.
	done() <-chan struct{}
	// status returns how the peer ended, e.g. "exit status 1". It is valid after
	// done.
	status() string
	// terminate sends SIGTERM; kill sends SIGKILL to the peer and all of its
	// descendants. Both may be called at any time, also after the end.
	terminate()
	kill()
	// stderr returns the end of what the peer wrote to its standard error.
	stderr() string
}

// A Stream is the client end of a stdio connection to one started peer.
type Stream struct {
	in      *os.File // the peer reads its other end
	out     *LineReader
	pipe    *os.File // the peer writes its other end
	peer    peer
	writing sync.Mutex
	midLine bool               // the last write did not end with a newline
	partial *PartialWriteError // why nothing more can be written, or nil
	once    sync.Once
}

// PartialWriteError is the error of a write that the peer read only in part. The peer
// would read the next bytes as the rest of that line, so that every later write fails
// too.
type PartialWriteError struct{ Err error }

func (t *PartialWriteError) Error() string {
	return "a message was written only in part: " + t.Err.Error()
}
func (t *PartialWriteError) Unwrap() error { return t.Err }

// Write writes bytes to the peer unchanged. It returns once the pipe has taken all of
// them or the context has ended, so that a peer that does not read its input cannot
// block the caller. If a line was written only in part, the error of this and every
// later write is a PartialWriteError.
func (s *Stream) Write(ctx context.Context, b []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.partial != nil {
		return s.partial
	}
	deadline, _ := ctx.Deadline()
	if err := s.in.SetWriteDeadline(deadline); err != nil {
		return fmt.Errorf("write to server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { s.in.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	n, err := s.in.Write(b)
	if n > 0 {
		s.midLine = b[n-1] != '\n'
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("server does not read its input: %d of %d bytes taken: %w", n, len(b),
			context.DeadlineExceeded)
	default:
		err = fmt.Errorf("write to server after %d of %d bytes: %w", n, len(b), err)
	}
	if s.midLine {
		s.partial = &PartialWriteError{err}
		return s.partial
	}
	return err
}

// PartialWrite returns the error of a write that the peer read only in part; nil if
// there was none.
func (s *Stream) PartialWrite() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.partial == nil {
		return nil
	}
	return s.partial
}

// Drain waits until the peer has read everything that was written, at most the
// given time, and reports whether it has. It returns false on a system on which
// that cannot be known.
func (s *Stream) Drain(ctx context.Context, within time.Duration) bool {
	limit := time.Now().Add(within)
	for pause := 10 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		n, known := unreadBytes(s.in)
		if !known || n == 0 || ctx.Err() != nil || time.Now().After(limit) {
			return known && n == 0
		}
		time.Sleep(pause)
	}
}

// WriteLine writes one message and its newline.
func (s *Stream) WriteLine(ctx context.Context, b []byte) error { return s.Write(ctx, terminated(b)) }

// ReadLine returns the next line of the peer; io.EOF once the peer has closed its
// output. Only one goroutine may read at a time.
func (s *Stream) ReadLine() (Line, error) {
	l, err := s.out.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read from server: %w", err)
	}
	return l, err
}

// CopyOutput reads the output of the peer to its end and writes it to the tail.
func (s *Stream) CopyOutput(to *Tail) {
	for {
		line, err := s.ReadLine()
		if err != nil {
			return
		}
		_, _ = to.Write(terminated(line.Bytes)) // a tail accepts everything
	}
}

// CloseInput closes the input of the peer, which asks it to exit
// (basic/lifecycle#shutdown).
func (s *Stream) CloseInput() { s.once.Do(func() { s.in.Close() }) }

// Done returns a channel that is closed once the peer has ended.
func (s *Stream) Done() <-chan struct{} { return s.peer.done() }

// Status returns how the peer ended. It is valid after Done.
func (s *Stream) Status() string { return s.peer.status() }

// Stderr returns the end of what the peer wrote to its standard error.
func (s *Stream) Stderr() string { return s.peer.stderr() }

// Terminate sends SIGTERM to the process group of the peer.
func (s *Stream) Terminate() { s.peer.terminate() }

// Kill ends the peer and its descendants at once and releases the stream.
func (s *Stream) Kill() {
	s.CloseInput()
	s.peer.kill()
	<-s.peer.done()
	s.pipe.Close()
}

// pipes returns the ends of both directions of a connection.
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
