package session

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// unopened returns a session over stdio to which nothing was sent.
func unopened(t *testing.T, serve func(ctx context.Context, in io.Reader, out io.Writer) error) *Session {
	t.Helper()
	o := DefaultOptions()
	o.Timeout, o.Grace = 100*time.Millisecond, 50*time.Millisecond
	l := NewLauncher(transport.InProcess{Name: "test", Serve: serve}, o)
	t.Cleanup(l.Close)
	s, err := NewPool(l, spec.V2025_11_25).Unopened(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// neverExits is a server that exits only by a signal.
func neverExits(ctx context.Context, in io.Reader, _ io.Writer) error {
	io.Copy(io.Discard, in)
	<-ctx.Done()
	return nil
}

// An ending distinguishes a peer that exits by itself, one that does not exit in time, and
// one that is killed at once.
func TestEndingRecordsHowPeerExits(t *testing.T) {
	exits := unopened(t, func(_ context.Context, in io.Reader, _ io.Writer) error {
		_, err := io.Copy(io.Discard, in)
		return err
	})
	exits.Close()
	if e := exits.Ending(); !e.Graceful || e.WaitedBeforeSignal != 0 {
		t.Errorf("a peer that exits: %+v", *e)
	}
	stays := unopened(t, neverExits)
	stays.Close()
	if e := stays.Ending(); e.Graceful || e.WaitedBeforeSignal < 50*time.Millisecond {
		t.Errorf("a peer that does not exit: %+v", *e)
	}
	killed := unopened(t, neverExits)
	killed.Kill()
	if e := killed.Ending(); e.Graceful || e.WaitedBeforeSignal != 0 {
		t.Errorf("a killed peer: %+v", *e)
	}
}

// A peer may need more than the grace on a busy machine. All instances have the same
// time, also after one that did not exit.
func TestSlowExitIsAwaitedUpToTheTimeout(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	o.Timeout, o.Grace = 2*time.Second, 20*time.Millisecond
	instances := 0
	serve := func(ctx context.Context, in io.Reader, _ io.Writer) error {
		instances++
		stays := instances == 1
		io.Copy(io.Discard, in)
		if stays {
			<-ctx.Done()
		} else {
			time.Sleep(4 * o.Grace)
		}
		return nil
	}
	l := NewLauncher(transport.InProcess{Name: "test", Serve: serve}, o)
	defer l.Close()
	for n := range 2 {
		s, err := NewPool(l, spec.V2025_11_25).Unopened(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if e := s.Ending(); e.Graceful != (n == 1) || n == 0 && e.WaitedBeforeSignal < o.Timeout {
			t.Errorf("instance %d: graceful is %v, it was signalled after %s", n, e.Graceful, e.WaitedBeforeSignal)
		}
	}
}

func TestFirstAnswerHasALongerTimeout(t *testing.T) {
	t.Parallel()
	s := unopened(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		io.WriteString(out, "\n")
		_, err := io.Copy(io.Discard, in)
		return err
	})
	if _, err := s.AwaitMessage(t.Context(), 0, 300*time.Millisecond, func(wire.Message) bool {
		return false
	}); err == nil {
		t.Fatal("an empty line was taken for an answer")
	}
	if got := s.AnswerTimeout(); got != 100*time.Millisecond {
		t.Errorf("the timeout after the first line is %s", got)
	}
	if got := unopened(t, neverExits).AnswerTimeout(); got != DefaultOptions().StartTimeout {
		t.Errorf("the timeout before the first line is %s", got)
	}
}

func TestFirstAnswerTimeoutIsBounded(t *testing.T) {
	o := Options{Timeout: 10 * time.Second, StartTimeout: time.Minute}
	for took, want := range map[time.Duration]time.Duration{
		time.Millisecond: 30 * time.Second,
		10 * time.Second: 40 * time.Second,
		50 * time.Second: time.Minute,
	} {
		if got := o.FirstAnswerTimeout(took); got != want {
			t.Errorf("after an answer that took %s the timeout is %s, want %s", took, got, want)
		}
	}
	o.StartTimeout = time.Second
	if got := o.FirstAnswerTimeout(0); got != o.Timeout {
		t.Errorf("the timeout is %s, shorter than that of other answers, %s", got, o.Timeout)
	}
}

func TestSlowStartExtendsTheGrace(t *testing.T) {
	s := unopened(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		time.Sleep(25 * time.Millisecond)
		io.WriteString(out, "\n")
		_, err := io.Copy(io.Discard, in)
		return err
	})
	if got := s.exitGrace(); got != 50*time.Millisecond {
		t.Errorf("the grace before the first message is %s", got)
	}
	if _, err := s.Send(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AwaitMessage(t.Context(), 0, time.Second, func(wire.Message) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got := s.exitGrace(); got <= 50*time.Millisecond || got > maxPatience*100*time.Millisecond {
		t.Errorf("the grace after a start of more than 20 ms is %s", got)
	}
}

// What a peer writes after the end of its input is part of the session.
func TestReadsOutputAfterEndOfInput(t *testing.T) {
	const lines = 500
	s := unopened(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		io.Copy(io.Discard, in)
		for range lines {
			io.WriteString(out, "{}\n")
		}
		return nil
	})
	s.Close()
	if n := s.Len(); n != lines {
		t.Errorf("%d of %d lines were read", n, lines)
	}
}

// An open subscription does not count as an unanswered request.
func TestOpenSubscriptionIsNotUnanswered(t *testing.T) {
	s := unopened(t, neverExits)
	for _, method := range []string{"subscriptions/listen", "tools/list"} {
		if _, err := s.Send(t.Context(), wire.EncodeCall(wire.IntID(1), method, nil)); err != nil {
			t.Fatal(err)
		}
		if got := s.hasUnanswered(); got != (method == "tools/list") {
			t.Errorf("unanswered after %s: %t", method, got)
		}
	}
}

// A peer that took longer than the time for an answer to start, on a busy machine, may
// take as long to exit.
func TestExitGraceFollowsStartup(t *testing.T) {
	for _, c := range []struct{ startup, want time.Duration }{
		{100 * time.Millisecond, 2 * time.Second},
		{2 * time.Second, 6 * time.Second},
		{10 * time.Second, 30 * time.Second},
		{time.Minute, 40 * time.Second},
	} {
		conn := &Conn{opts: Options{Grace: 2 * time.Second, Timeout: 10 * time.Second}}
		conn.startupTime.Store(int64(c.startup))
		if got := conn.exitGrace(); got != c.want {
			t.Errorf("after a start of %v the grace is %v, want %v", c.startup, got, c.want)
		}
	}
}
