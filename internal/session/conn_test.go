package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A peer without open requests that does not exit gets the whole grace. A peer that has
// not answered a request gets only a part of it.
func TestPeerWithOpenRequestGetsShortGrace(t *testing.T) {
	t.Parallel()
	target := transport.InProcess{Name: "stays", Serve: func(ctx context.Context, in io.Reader, _ io.Writer) error {
		_, _ = io.Copy(io.Discard, in)
		<-ctx.Done()
		return nil
	}}
	o := DefaultOptions()
	o.Grace, o.Timeout = 400*time.Millisecond, 400*time.Millisecond
	for _, busy := range []bool{false, true} {
		c, err := connect(t.Context(), target, o, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := c.newSession(spec.V2025_06_18, nil)
		if busy {
			if _, err := s.Start(t.Context(), "ping", nil); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		s.Close()
		if took := time.Since(began); busy != (took < o.Grace) {
			t.Errorf("busy %v: Close took %s of a grace of %s", busy, took, o.Grace)
		}
	}
}

// The order of the frames is the order of the writes, also for concurrent writers:
// checks conclude from it what the server has read.
func TestFramesAreRecordedInTheOrderOfWriting(t *testing.T) {
	var read [][]byte
	echo := transport.InProcess{Name: "reads", Serve: func(_ context.Context, in io.Reader, _ io.Writer) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			read = append(read, bytes.Clone(lines.Bytes()))
		}
		return lines.Err()
	}}
	c, err := connect(t.Context(), echo, DefaultOptions(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 200 {
				if _, err := c.Send(t.Context(), fmt.Appendf(nil, "%d of %d", i, w)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	c.Close()
	if len(read) != 8*200 || c.Len() != len(read) {
		t.Fatalf("%d frames were recorded, %d read", c.Len(), len(read))
	}
	for i, f := range c.Frames(0) {
		if !bytes.Equal(f.Raw, read[i]) {
			t.Fatalf("frame %d is recorded as %q and was written as %q", i, f.Raw, read[i])
		}
	}
}

// After the end of the context nothing is written or recorded.
func TestSendsNothingAfterContextEnds(t *testing.T) {
	silent := transport.InProcess{Name: "silent", Serve: func(_ context.Context, in io.Reader, _ io.Writer) error {
		n, err := io.Copy(io.Discard, in)
		if n > 0 {
			t.Errorf("%d bytes were written", n)
		}
		return err
	}}
	c, err := connect(t.Context(), silent, DefaultOptions(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := c.Send(ended, []byte("{}")); err == nil {
		t.Error("a frame was sent")
	}
	if _, err := c.SendChunks(ended, []byte("{"), []byte("}\n")); err == nil {
		t.Error("chunks were sent")
	}
	c.Close()
	if c.Len() != 0 {
		t.Errorf("%d frames were recorded", c.Len())
	}
}

// A message that was written only in part ends the session. The server would read a
// further message as its rest.
func TestPartialWriteEndsTheSession(t *testing.T) {
	read := make(chan struct{})
	rest := make(chan []byte, 1)
	s := unopened(t, func(ctx context.Context, in io.Reader, _ io.Writer) error {
		select {
		case <-read:
		case <-ctx.Done():
		}
		all, err := io.ReadAll(in)
		rest <- all
		return err
	})
	_, err := s.Start(t.Context(), "ping", Params{"long": strings.Repeat("x", 1<<20)})
	var unsent *NotSentError
	if !errors.As(err, &unsent) || !strings.Contains(err.Error(), "only in part: server does not read") {
		t.Errorf("%v", err)
	}
	sent := s.Len()
	if live := s.CheckLiveness(t.Context()); live != Dead || s.ConnectionError() == nil {
		t.Errorf("the server is %s: %v", live, s.ConnectionError())
	}
	if _, err := s.Notify(t.Context(), "notifications/x", nil); err == nil || s.Len() != sent {
		t.Errorf("%v, and %d frames are recorded", err, s.Len()-sent)
	}
	close(read)
	s.Close()
	if got := <-rest; bytes.Count(got, []byte("jsonrpc")) != 1 {
		t.Errorf("the server read %d bytes with %d messages", len(got), bytes.Count(got, []byte("jsonrpc")))
	}
}
